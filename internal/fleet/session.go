package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Session is a controller's connection to the agent of one host: what is written to it are
// JSON-RPC messages, one a line, and what is read are the answers.
type Session struct {
	l    *Link
	id   string
	host string
	name string

	// Of the opening; fixed before anything else is asked.
	agent  string
	nonce  string
	offset time.Duration // the host's clock less ours
	first  opened
	grant  json.RawMessage

	opening string     // id of the request that opens it
	begun   chan error // gets the outcome of the opening
	inbox   *inbox
	out     *io.PipeReader
	pipe    *io.PipeWriter
	done    chan struct{}

	mu    sync.Mutex
	since time.Time // when the first agent answered
	tried time.Time // when it was last asked to open, by the controller's clock
	line  []byte    // what was written, up to the end of a line
	asked map[string]*asking
	twins []string
	heard time.Time
	said  time.Time
	how   error
	over  bool
	got   pushes
	away  time.Time // since when there is no broker; zero: there is one
}

// asking is a request without an answer.
type asking struct {
	rpc    json.RawMessage // the id that JSON-RPC gave it
	method string
	ro     bool
	body   []byte
	sent   time.Time
	wait   time.Duration
	parts  [][]byte
	have   int
}

func newSession(l *Link, host, name string) *Session {
	s := &Session{l: l, id: random(15), host: host, name: name, opening: random(15), asked: map[string]*asking{}, begun: make(chan error, 1), inbox: newInbox(&l.held), done: make(chan struct{})}
	s.out, s.pipe = io.Pipe()
	return s
}

// open asks who is there. Whether a second agent answers is seen while the session goes on.
func (s *Session) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openTime, fmt.Errorf("no agent answered within %s: it does not run, it is cut off, or its enrolment was revoked", openTime))
	defer cancel()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		s.mu.Lock()
		s.tried = s.l.now()
		s.mu.Unlock()
		if err := s.l.send(s, s.opening, methodOpen, true, nil); err != nil {
			return err
		}
		select {
		case err := <-s.begun:
			return err
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// listen proves and takes what the host says, one message after the other.
func (s *Session) listen() {
	for {
		select {
		case <-s.done:
			s.inbox.take()
			return
		case <-s.inbox.more:
		}
		for _, m := range s.inbox.take() {
			var err error
			s.l.proving(func() { err = m.head.prove(m.frame, s.host) })
			if err == nil { // else it is nobody's answer
				s.hear(m.head, m.body)
			}
		}
	}
}

// begin takes the first answer: the session is with that agent, and no other.
func (s *Session) begin(head said, body []byte) error {
	if head.Refused {
		return errors.New(printable(string(body)))
	}
	if err := json.Unmarshal(body, &s.first); err != nil || s.first.Nonce == "" {
		return errors.New("its answer cannot be read")
	}
	now := s.l.now()
	s.agent, s.nonce, s.grant = head.Agent, s.first.Nonce, head.Grant
	s.offset = s.first.Clock.Sub(s.tried.Add(now.Sub(s.tried) / 2))
	s.since = time.Now()
	s.heard, s.said = s.since, s.since
	return nil
}

// Clock is how far the host's clock is ahead of ours.
func (s *Session) Clock() time.Duration { return s.offset }

// Grant is what the site calls this host.
func (s *Session) Grant() (Grant, error) { return openGrant(s.grant, s.l.c.Root, s.l.c.Site) }

// hear takes what the host says within the session.
func (s *Session) hear(head said, body []byte) {
	s.mu.Lock()
	first := s.agent
	switch {
	case first == "" && head.Answers == s.opening:
		err := s.begin(head, body)
		s.mu.Unlock()
		select {
		case s.begun <- err:
		default: // it was told
		}
		return
	case first == "":
		s.mu.Unlock()
		return
	case head.Agent != first:
		var o opened
		_ = json.Unmarshal(body, &o) // who it is can be missing
		if len(s.twins) == 0 {
			s.twins = []string{describe(first, s.first), describe(head.Agent, o)}
		}
		s.mu.Unlock()
		return
	}
	s.heard = time.Now()
	s.mu.Unlock()
	switch {
	case head.Over:
		s.end(fmt.Errorf("the agent of %s has ended this session: it was started anew, or heard nothing for %s", s.name, idleTime))
	case head.Push > 0:
		s.pushed(head, body)
	case head.Answers == "":
		s.deliver(body)
	default:
		s.answer(head, body)
	}
}

func describe(agent string, o opened) string {
	return fmt.Sprintf("%s, boot %s", printable(agent), printable(o.Boot))
}

// answer delivers what was asked for, once all parts of it are there, and once only.
func (s *Session) answer(head said, body []byte) {
	s.mu.Lock()
	a := s.asked[head.Answers]
	if a == nil {
		s.mu.Unlock()
		return // it was answered before
	}
	n := max(1, head.Parts)
	if n > 64 || head.Part < 0 || head.Part >= n {
		s.mu.Unlock()
		return
	}
	if len(a.parts) != n {
		a.parts, a.have = make([][]byte, n), 0
	}
	if a.parts[head.Part] == nil {
		a.parts[head.Part], a.have = bytes.Clone(body), a.have+1
		if a.parts[head.Part] == nil {
			a.parts[head.Part] = []byte{}
		}
	}
	if a.have < n {
		s.mu.Unlock()
		return
	}
	delete(s.asked, head.Answers)
	s.mu.Unlock()
	switch {
	case a.rpc == nil: // a ping
	case head.Refused:
		s.deliver(errorAnswer(a.rpc, printable(string(body))))
	default:
		s.deliver(withID(bytes.Join(a.parts, nil), head.Answers, a.rpc))
	}
}

// withID puts the id back that JSON-RPC gave the request; rid is what the answer has in its place.
func withID(answer []byte, rid string, id json.RawMessage) []byte {
	// As agents write it; what else comes is taken apart.
	const before, after = `{"jsonrpc":"2.0","id":"`, `",`
	if rest, ok := bytes.CutPrefix(answer, []byte(before+rid+after)); ok && !bytes.Contains(rest, []byte("\n")) {
		return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(","), rest)
	}
	var r struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   json.RawMessage `json:"error,omitempty"`
	}
	if err := strict(answer, &r); err != nil {
		return errorAnswer(id, "its answer cannot be read: "+printable(err.Error()))
	}
	r.ID = id
	b, err := json.Marshal(r)
	if err != nil {
		return errorAnswer(id, printable(err.Error()))
	}
	return b
}

func (s *Session) deliver(line []byte) {
	_, _ = s.pipe.Write(append(bytes.Clone(line), '\n')) // an error: nobody reads any more
}

// Read implements io.Reader: the host's answers.
func (s *Session) Read(b []byte) (int, error) { return s.out.Read(b) }

// Write implements io.Writer: requests.
func (s *Session) Write(b []byte) (int, error) {
	s.mu.Lock()
	s.line = append(s.line, b...)
	var whole [][]byte
	for {
		i := bytes.IndexByte(s.line, '\n')
		if i < 0 {
			break
		}
		whole = append(whole, bytes.Clone(s.line[:i]))
		s.line = s.line[i+1:]
	}
	if len(s.line) == 0 {
		s.line = nil // what was written is not kept for what will be
	}
	over := s.over
	s.mu.Unlock()
	if over {
		return 0, io.ErrClosedPipe
	}
	for _, line := range whole {
		if err := s.ask(line); err != nil {
			return len(b), err
		}
	}
	return len(b), nil
}

// ask sends one request; what must not be sent is answered here.
func (s *Session) ask(line []byte) error {
	var c call
	if err := strict(line, &c); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	ro, known := s.l.reads(c.Method)
	why := ""
	switch {
	case !known:
		why = "no method " + c.Method
	case len(line) > maxPart:
		why = fmt.Sprintf("%s: %d bytes, and a broker takes %d", c.Method, len(line), maxPart)
	case !ro && s.l.grant.Role == Reader:
		why = fmt.Sprintf("%s may read in site %s, and %s changes the host or puts load on it", s.l.grant.Name, s.l.c.Site, c.Method)
	}
	a := &asking{rpc: c.ID, method: c.Method, ro: ro, body: line}
	switch {
	case why != "":
		go s.deliver(errorAnswer(c.ID, why)) // who writes may be who reads
	case ro:
		s.put(a)
	default:
		s.change(a)
	}
	return nil
}

// change sends a request that changes the host, once a second agent would have answered. It waits
// with all that is written, so that requests keep their order.
func (s *Session) change(a *asking) {
	s.mu.Lock()
	wait := twinTime - time.Since(s.since)
	s.mu.Unlock()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-s.done:
			return
		}
	}
	s.mu.Lock()
	twins := s.twins
	s.mu.Unlock()
	if len(twins) > 0 {
		go s.deliver(errorAnswer(a.rpc, (&TwinsError{s.name, twins}).Error())) // as above
		return
	}
	s.put(a)
}

// put notes a request and sends it. If the broker is away it is sent later.
func (s *Session) put(a *asking) {
	a.sent, a.wait = time.Now(), askAgain
	rid := random(15)
	s.mu.Lock()
	s.asked[rid], s.said = a, time.Now()
	s.mu.Unlock()
	_ = s.l.send(s, rid, a.method, a.ro, a.body) // keep sends it again
}

// keep asks again for what was not answered, and ends the session when the host is silent. here tells
// that there is a broker.
func (s *Session) keep(now time.Time, here bool) {
	s.mu.Lock()
	if s.agent == "" { // it is not open yet
		s.mu.Unlock()
		return
	}
	if here {
		s.away = time.Time{}
	} else if s.heard = now; s.away.IsZero() { // nobody can be heard
		s.away = now
	}
	if !s.away.IsZero() && now.Sub(s.away) > keepTime {
		s.mu.Unlock()
		s.end(fmt.Errorf("the site's brokers cannot be reached since %s", s.away.Format(time.TimeOnly)))
		return
	}
	silent, idle := now.Sub(s.heard), now.Sub(s.said)
	late := map[string]*asking{}
	for id, a := range s.asked {
		if now.Sub(a.sent) >= a.wait {
			a.sent, a.wait = now, min(2*a.wait, 15*time.Second)
			late[id] = a
		}
	}
	s.mu.Unlock()
	if silent > silentTime {
		s.end(fmt.Errorf("no word from %s for %s: its host or its broker cannot be reached", s.name, silentTime))
		return
	}
	for id, a := range late {
		_ = s.l.send(s, id, a.method, a.ro, a.body) // the next round tries again
	}
	s.tell(now)
	if idle > pingTime {
		s.put(&asking{method: methodPing, ro: true})
	}
}

// Close tells the host that the session is over.
func (s *Session) Close() error {
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	if !over {
		_ = s.l.send(s, random(15), methodClose, true, nil) // the agent ends it by itself if this is lost
	}
	s.end(nil)
	return nil
}

func (s *Session) end(how error) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.over, s.how = true, how
	s.mu.Unlock()
	s.l.mu.Lock()
	delete(s.l.sessions, s.id)
	s.l.mu.Unlock()
	close(s.done)
	_ = s.pipe.Close() // a pipe's close never fails
}

// Wait returns when the session is over, and why; nil if it was closed here.
func (s *Session) Wait() error {
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.how
}
