package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Times of a session on the controller's side.
const (
	twinTime   = 300 * time.Millisecond // how long a second agent may take to answer for the same host, before anything is changed there
	askAgain   = 3 * time.Second        // a request without an answer is sent again after that
	pingTime   = 10 * time.Second
	silentTime = 45 * time.Second
	openTime   = 20 * time.Second
)

// Link is a controller's connection to a site.
type Link struct {
	c     Credential
	keys  *Keys
	grant Grant
	nc    *nats.Conn
	reads func(method string) (reads, known bool)
	now   func() time.Time

	mu       sync.Mutex
	sessions map[string]*Session
	held     atomic.Int64 // bytes in the inboxes of all sessions

	proofs chan func()
	closed chan struct{}
}

// Dial connects to a site, as a controller or as a reader. reads reports whether a method changes
// nothing.
func Dial(c Credential, reads func(string) (bool, bool), now func() time.Time, more ...nats.Option) (*Link, error) {
	k, err := c.Keys()
	if err != nil {
		return nil, err
	}
	l := &Link{c: c, keys: k, reads: reads, now: now, sessions: map[string]*Session{}, proofs: make(chan func()), closed: make(chan struct{})}
	if l.grant, err = openGrant(c.Grant, c.Root, c.Site); err != nil {
		return nil, err
	}
	back := nats.ReconnectHandler(func(*nats.Conn) { l.back() })
	if l.nc, err = c.Connect("linerate "+string(l.grant.Role)+" "+l.grant.Name, append([]nats.Option{back}, more...)...); err != nil {
		return nil, err
	}
	_, err = l.nc.Subscribe(prefix+c.Site+".up.*.s."+k.ID(), l.hear)
	if err == nil {
		err = l.nc.Flush()
	}
	if err != nil {
		l.nc.Close()
		return nil, fmt.Errorf("listen to hosts of site %s: %w", c.Site, err)
	}
	for range runtime.GOMAXPROCS(0) {
		go l.prove()
	}
	go l.keep()
	return l, nil
}

// keep does the periodic work of all sessions, once a second. One goroutine for each session would
// take some 4 KB.
func (l *Link) keep() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.closed:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		all := slices.Collect(maps.Values(l.sessions))
		l.mu.Unlock()
		for _, s := range all {
			s.keep(time.Now(), l.nc.IsConnected())
		}
	}
}

// prove runs work that needs a large stack, such as verifying signatures, for all sessions. A goroutine
// keeps the stack that it once needed, so that a thousand sessions would keep a thousand large ones.
func (l *Link) prove() {
	for {
		select {
		case f := <-l.proofs:
			f()
		case <-l.closed:
			return
		}
	}
}

// proving runs f in the goroutine of prove and waits for it.
func (l *Link) proving(f func()) {
	done := make(chan struct{})
	select {
	case l.proofs <- func() { defer close(done); f() }:
		<-done
	case <-l.closed:
		f()
	}
}

// Close leaves the site. Sessions that are open end.
func (l *Link) Close() {
	l.mu.Lock()
	all := l.sessions
	l.sessions = map[string]*Session{}
	l.mu.Unlock()
	for _, s := range all {
		s.end(errors.New("this controller left the site"))
	}
	_ = l.nc.FlushTimeout(time.Second) // sends the closing of sessions; without it agents end them later
	l.nc.Close()
	close(l.closed)
}

// hear passes the messages of hosts to their sessions. Each session verifies its own in order; the
// sessions work at the same time.
func (l *Link) hear(m *nats.Msg) {
	site, id, stream, err := parseUp(m.Subject)
	if err != nil || site != l.c.Site || stream != "s."+l.keys.ID() {
		return
	}
	head, f, err := readSaid(m.Data, site, id, stream)
	if err != nil {
		return
	}
	l.mu.Lock()
	s := l.sessions[head.Session]
	l.mu.Unlock()
	if s != nil && s.host == id {
		s.inbox.put(message{head, f})
	}
}

// back acknowledges to all hosts after a reconnection, so that they send what was lost meanwhile.
func (l *Link) back() {
	l.mu.Lock()
	all := slices.Collect(maps.Values(l.sessions))
	l.mu.Unlock()
	for _, s := range all {
		s.missed()
	}
}

// TwinsError: two agents answer as the same host, for instance after a disk was cloned. It cannot be
// known which of them is meant, so neither is changed.
type TwinsError struct {
	Host   string
	Agents []string // each in words
}

// Error implements error.
func (e *TwinsError) Error() string {
	return fmt.Sprintf("host %s: two agents have its identity (%s): nothing is changed there; stop one, and enrol it with a token of its own", e.Host, strings.Join(e.Agents, "; "))
}

// Open begins a session with a host. name is what the user calls it.
func (l *Link) Open(ctx context.Context, id, name string) (*Session, error) {
	if !isID(id) {
		return nil, fmt.Errorf("reach host %s: %q is no id of a host", name, printable(id))
	}
	s := newSession(l, id, name)
	l.mu.Lock()
	l.sessions[s.id] = s
	l.mu.Unlock()
	go s.listen()
	if err := s.open(ctx); err != nil {
		s.end(err)
		return nil, fmt.Errorf("reach host %s of site %s: %w", name, l.c.Site, err)
	}
	if s.first.Keeps {
		s.put(&asking{method: methodKeep, ro: true})
	}
	return s, nil
}

// send publishes a request of a session.
func (l *Link) send(s *Session, id, method string, ro bool, body []byte) error {
	r := request{V: 1, Site: l.c.Site, To: s.host, Key: l.keys.Public(), Agent: s.agent, Session: s.id, Nonce: s.nonce, ID: id, Method: method, Sum: sumOf(body)}
	if method == methodOpen {
		r.Grant = l.c.Grant
	} else {
		r.Expires = l.now().Add(s.offset + validity).UTC()
	}
	var msg []byte
	var err error
	l.proving(func() { msg, err = seal(l.keys, forRequest, r, body) })
	if err != nil {
		return err
	}
	return l.nc.Publish(downSubject(l.c.Site, s.host, method, ro), msg)
}

// errorAnswer is what JSON-RPC answers where a request did not reach the host's agent.
func errorAnswer(id json.RawMessage, why string) []byte {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": -32000, "message": why}})
	if err != nil {
		return nil // of an id that is no JSON: it was read as such
	}
	return b
}
