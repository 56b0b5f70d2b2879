package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// served is a session on the agent's side.
type served struct {
	a     *agent
	id    string
	nonce string
	grant Grant
	in    *io.PipeReader
	feed  *io.PipeWriter
	last  time.Time // guarded by the agent's lock
	held  atomic.Int64

	mu    sync.Mutex
	asked map[string]*remembered // by the id of the request
	order []string
	kept  int
	out   outbox
}

// remembered is a request that was received, and its answer once there is one. So a request that
// arrives twice is carried out once.
type remembered struct {
	sum    string
	answer []byte
}

func newServed(a *agent, id string, g Grant) *served {
	s := &served{a: a, id: id, nonce: random(20), grant: g, asked: map[string]*remembered{}, last: time.Now()}
	s.in, s.feed = io.Pipe()
	return s
}

func (s *served) stream() string { return "s." + IDOf(s.grant.Key) }

func (s *served) close() { _ = s.feed.Close() } // a pipe's close never fails

// by is who asks, as the host's journal has it.
func (s *served) by() string {
	return fmt.Sprintf("linerate agent for %s %s (key %s) of site %s", s.grant.Role, s.grant.Name, IDOf(s.grant.Key), s.grant.Site)
}

// run serves the session until it is closed.
func (s *served) run(ctx context.Context) {
	out, answers := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.forward(out)
	}()
	if err := s.a.Serve(ctx, s.in, answers, s.by()); err != nil && ctx.Err() == nil {
		s.a.Log("session of " + s.grant.Name + ": " + err.Error())
	}
	_ = s.in.CloseWithError(io.ErrClosedPipe) // whoever still feeds it must not wait
	_ = answers.Close()
	<-done
	s.forget()
	s.a.mu.Lock()
	if s.a.sessions[s.id] == s {
		delete(s.a.sessions, s.id)
	}
	s.a.mu.Unlock()
}

// call is a JSON-RPC request. Other members of a request are not passed on.
type call struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// take passes a request to the host's agent, unless it is a duplicate. The request's own id replaces
// that of JSON-RPC, so that the answer can be matched.
func (s *served) take(r request, body []byte, changes bool) error {
	var c call
	if err := strict(body, &c); err != nil || c.Method != r.Method || len(c.ID) == 0 {
		return refuse("%s: its body is another request", r.Method)
	}
	s.mu.Lock()
	old := s.asked[r.ID]
	if old == nil {
		s.asked[r.ID] = &remembered{sum: string(r.Sum)}
		s.order = append(s.order, r.ID)
	}
	s.mu.Unlock()
	switch {
	case old != nil && old.sum != string(r.Sum):
		return refuse("request %s came twice, and not the same", printable(r.ID))
	case old != nil:
		return s.again(r.ID)
	}
	if changes {
		s.a.event("request", map[string]string{"method": r.Method, "request": r.ID, "by": s.grant.Name, "key": IDOf(s.grant.Key)})
	}
	id, err := json.Marshal(r.ID)
	if err != nil {
		return err
	}
	c.ID = id
	line, err := json.Marshal(c)
	if err != nil {
		return refuse("%s: %v", r.Method, err)
	}
	if _, err := s.feed.Write(append(line, '\n')); err != nil {
		return refuse("%s: the session is over", r.Method)
	}
	return nil
}

// again repeats an answer; a request that is still being worked on has none yet.
func (s *served) again(id string) error {
	s.mu.Lock()
	answer := s.asked[id].answer
	s.mu.Unlock()
	if answer == nil {
		return nil
	}
	return s.a.publish(s.stream(), said{Session: s.id, Answers: id}, answer)
}

// remember keeps an answer, and drops the oldest answers beyond maxKept. Their requests stay known, so
// that none is carried out twice.
func (s *served) remember(id string, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.asked[id]; m != nil {
		m.answer = answer
		s.kept += len(answer)
	}
	for i := 0; s.kept > maxKept && i < len(s.order)-1; i++ {
		m := s.asked[s.order[i]]
		s.kept -= len(m.answer)
		m.answer = nil
	}
}

// forward sends the messages of the host's agent to the controller.
func (s *served) forward(out *io.PipeReader) {
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			_ = out.CloseWithError(err)
			return
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		var head struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			s.a.Log("an answer that is no JSON was dropped")
			continue
		}
		var id string
		if head.Method != "" {
			s.push(line)
			continue
		}
		if json.Unmarshal(head.ID, &id) == nil {
			s.remember(id, line)
		}
		if err := s.a.publish(s.stream(), said{Session: s.id, Answers: id}, line); err != nil {
			s.a.Log(err.Error()) // it is asked for again
		}
	}
}
