package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"linerate/internal/fleet"
)

// site is a broker with a host, whose agent counts what it is asked.
type site struct {
	t     *testing.T
	m     *fleet.Material
	b     *Broker
	calls atomic.Int64
	by    atomic.Value
	came  chan struct{} // a call of "slow" has come
	slow  chan struct{} // and waits for this
	say   chan string   // what the host says by itself
}

func start(t *testing.T, m *fleet.Material, port int) *Broker {
	t.Helper()
	task, err := m.Broker("127.0.0.1", port, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b, err := Start(task)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newSite(t *testing.T) *site {
	t.Helper()
	m, err := fleet.NewMaterial("lab", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, m, -1)
	m.Servers = []string{b.URL()}
	s := &site{t: t, m: m, b: b, came: make(chan struct{}, 8), slow: make(chan struct{}), say: make(chan string)}
	t.Cleanup(func() { s.b.Close() })
	return s
}

func (s *site) issue(role fleet.Role, name string) fleet.Credential {
	s.t.Helper()
	c, err := s.m.Issue(role, name, nil, time.Time{})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func reads(method string) (ro, known bool) {
	return !strings.HasPrefix(method, "change"), method != "unknown"
}

// serve answers each request with its parameters, and how many came before.
func (s *site) serve(_ context.Context, in io.Reader, out io.WriteCloser, by string) error {
	s.by.Store(by)
	var mu sync.Mutex
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var work sync.WaitGroup
	defer work.Wait()
	over := make(chan struct{})
	defer close(over)
	work.Go(func() {
		for {
			select {
			case <-over:
				return
			case line := <-s.say:
				mu.Lock()
				_, _ = io.WriteString(out, line+"\n")
				mu.Unlock()
			}
		}
	})
	for lines.Scan() {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		n := s.calls.Add(1)
		work.Go(func() {
			var result any = map[string]any{"n": n, "said": r.Params}
			switch r.Method {
			case "change.slow":
				s.came <- struct{}{}
				<-s.slow
			case "large":
				result = strings.Repeat("x", 3<<20)
			}
			text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
			mu.Lock()
			defer mu.Unlock()
			_, _ = out.Write(append(text, '\n'))
		})
	}
	return lines.Err()
}

// host runs an agent until the test ends, or stop is called.
func (s *site) host(c fleet.Credential, now func() time.Time) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		h := fleet.Host{Serve: s.serve, Reads: reads, Boot: "b1", Build: "test", Now: now, Log: func(string) {}}
		if err := fleet.Run(ctx, c, h); err != nil {
			s.t.Error(err)
		}
	})
	stop = func() { cancel(); ended.Wait() }
	s.t.Cleanup(stop)
	return stop
}

func (s *site) link(c fleet.Credential, more ...nats.Option) *fleet.Link {
	s.t.Helper()
	l, err := fleet.Dial(c, reads, time.Now, more...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(l.Close)
	return l
}

func id(t *testing.T, c fleet.Credential) string {
	t.Helper()
	k, err := c.Keys()
	if err != nil {
		t.Fatal(err)
	}
	return k.ID()
}

// ask writes a request and reads the next answer.
func ask(t *testing.T, s *fleet.Session, r *bufio.Reader, request string) string {
	t.Helper()
	if _, err := io.WriteString(s, request+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%v; the session: %v", err, s.Wait())
	}
	return line
}

func open(t *testing.T, l *fleet.Link, c fleet.Credential) (*fleet.Session, *bufio.Reader) {
	t.Helper()
	s, err := l.Open(t.Context(), id(t, c), "nas1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, bufio.NewReader(s)
}

const readIt, changeIt = `{"jsonrpc":"2.0","id":7,"method":"read","params":{"a":1}}`, `{"jsonrpc":"2.0","id":8,"method":"change.it","params":{"a":2}}`

func TestCallsGoThrough(t *testing.T) {
	s := newSite(t)
	nas := s.issue(fleet.Agent, "nas1")
	s.host(nas, time.Now)
	sess, r := open(t, s.link(s.issue(fleet.Controller, "ada")), nas)
	if got, want := ask(t, sess, r, readIt), `{"jsonrpc":"2.0","id":7,"result":{"n":1,"said":{"a":1}}}`+"\n"; got != want {
		t.Errorf("%s", got)
	}
	if got := ask(t, sess, r, changeIt); !strings.Contains(got, `"n":2`) {
		t.Errorf("%s", got)
	}
	if got := ask(t, sess, r, `{"jsonrpc":"2.0","id":9,"method":"large"}`); len(got) < 3<<20 {
		t.Errorf("%d bytes of an answer in parts", len(got))
	}
	if by, _ := s.by.Load().(string); !strings.Contains(by, "controller ada (key ") {
		t.Errorf("the journal would have %q", by)
	}
	if g, err := sess.Grant(); err != nil || g.Name != "nas1" {
		t.Errorf("the host is %v, %v", g, err)
	}
}

func TestReaderChangesNothing(t *testing.T) {
	s := newSite(t)
	nas := s.issue(fleet.Agent, "nas1")
	s.host(nas, time.Now)
	sess, r := open(t, s.link(s.issue(fleet.Reader, "bob")), nas)
	if got := ask(t, sess, r, readIt); !strings.Contains(got, "result") {
		t.Errorf("%s", got)
	}
	if got := ask(t, sess, r, changeIt); !strings.Contains(got, "bob may read in site lab") {
		t.Errorf("%s", got)
	}
	if n := s.calls.Load(); n != 1 {
		t.Errorf("the host heard %d requests", n)
	}
}

// refused publishes and subscribes as somebody, and tells what the broker did not allow.
func refused(t *testing.T, c fleet.Credential, publish, subscribe string) (pub, sub bool) {
	t.Helper()
	errs, closed := make(chan error, 8), make(chan struct{})
	nc, err := c.Connect("test", nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.SubscribeSync(subscribe); err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(publish, []byte("x")); err != nil {
		t.Fatal(err)
	}
	// The broker answers in order: what it refused was said before the answer to the flush. The
	// client calls its handlers in order, too: errors have been told when the closing is.
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	<-closed
	close(errs)
	for err := range errs {
		text := strings.ToLower(err.Error())
		pub, sub = pub || strings.Contains(text, "publish"), sub || strings.Contains(text, "subscription")
	}
	return pub, sub
}

func TestBrokerEnforcesRoles(t *testing.T) {
	s := newSite(t)
	nas, other := s.issue(fleet.Agent, "nas1"), s.issue(fleet.Agent, "nas2")
	me, it := id(t, nas), id(t, other)
	bob, eve := s.issue(fleet.Reader, "bob"), s.issue(fleet.Viewer, "eve")
	for name, c := range map[string]struct {
		who      fleet.Credential
		pub, sub string
		refused  bool
	}{
		"a host says of itself and hears what is for it": {nas, "lr.1.lab.up." + me + ".live", "lr.1.lab.dn." + me + ".>", false},
		"a host as another":                               {nas, "lr.1.lab.up." + it + ".live", "lr.1.lab.dn." + it + ".>", true},
		"a host as a controller":                          {nas, "lr.1.lab.dn." + it + ".ro.facts", "lr.1.lab.up.*.live", true},
		"a host in another site":                          {nas, "lr.1.other.up." + me + ".live", "lr.1.other.dn." + me + ".>", true},
		"a viewer who asks":                               {eve, "lr.1.lab.dn." + me + ".ro.facts", "lr.1.lab.up.*.event", true},
		"a reader who reads":                              {bob, "lr.1.lab.dn." + me + ".ro.facts", "lr.1.lab.up.*.live", false},
		"a reader who changes, and hears others' answers": {bob, "lr.1.lab.dn." + me + ".rw.plan.apply", "lr.1.lab.up.*.s." + it, true},
		"anybody to the server itself":                    {bob, "$SYS.REQ.SERVER.PING", "$SYS.>", true},
	} {
		t.Run(name, func(t *testing.T) {
			if pub, sub := refused(t, c.who, c.pub, c.sub); pub != c.refused || sub != c.refused && !strings.HasPrefix(c.sub, "$SYS") {
				t.Errorf("refused to publish: %t, to subscribe: %t; want %t", pub, sub, c.refused)
			}
		})
	}
}

func TestStrangersAreNotLetIn(t *testing.T) {
	s := newSite(t)
	far, err := fleet.NewMaterial("lab", s.m.Servers, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := far.Issue(fleet.Controller, "mallory", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.Connect("test"); err == nil {
		t.Error("a broker with another site's certificate was believed")
	}
	foreign.CA = s.m.CA
	if _, err := foreign.Connect("test"); err == nil {
		t.Error("the broker let in whom another site vouches for")
	}
	late, err := s.m.Issue(fleet.Newcomer, "late", nil, time.Now().Add(-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Connect("test"); err == nil {
		t.Error("the broker let in a credential that had expired")
	}
	if _, err := nats.Connect(s.m.Servers[0], nats.Timeout(5*time.Second)); err == nil {
		t.Error("the broker let in somebody without a credential")
	}
}

func TestRevokedHostIsCutOff(t *testing.T) {
	s := newSite(t)
	nas := s.issue(fleet.Agent, "nas1")
	gone := make(chan struct{})
	nc, err := nas.Connect("test", nats.DisconnectErrHandler(func(*nats.Conn, error) { close(gone) }), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	k, err := nas.Keys()
	if err != nil {
		t.Fatal(err)
	}
	user, err := k.User()
	if err != nil {
		t.Fatal(err)
	}
	_, account, err := s.m.Claims([]string{user}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.b.Account(account); err != nil {
		t.Fatal(err)
	}
	<-gone
	if _, err := nas.Connect("test"); err == nil {
		t.Error("a revoked host was let in again")
	}
}

func TestTwoAgentsWithOneIdentity(t *testing.T) {
	s := newSite(t)
	nas := s.issue(fleet.Agent, "nas1")
	s.host(nas, time.Now)
	s.host(nas, time.Now)
	// Both have to be there before they are asked.
	l := s.link(s.issue(fleet.Controller, "ada"))
	for {
		sess, r := open(t, l, nas)
		got := ask(t, sess, r, changeIt)
		if strings.Contains(got, "result") {
			continue // the second was not there yet
		}
		if !strings.Contains(got, "two agents have its identity") || strings.Count(got, "boot b1") != 2 {
			t.Errorf("%s", got)
		}
		before := s.calls.Load()
		if got := ask(t, sess, r, readIt); !strings.Contains(got, "result") || s.calls.Load() != before+1 {
			t.Errorf("reading goes on, from one of them: %s", got)
		}
		return
	}
}

// A request whose answer was lost is asked again, and carried out once.
func TestBrokerThatRestartsLosesNothing(t *testing.T) {
	s := newSite(t)
	nas := s.issue(fleet.Agent, "nas1")
	s.host(nas, time.Now)
	sess, r := open(t, s.link(s.issue(fleet.Controller, "ada")), nas)
	if _, err := io.WriteString(sess, `{"jsonrpc":"2.0","id":1,"method":"change.slow"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-s.came
	port := portOf(t, s.b)
	s.b.Close()
	close(s.slow) // the answer is sent to nobody
	s.b = start(t, s.m, port)
	line, err := r.ReadString('\n')
	if err != nil || !strings.Contains(line, `"n":1`) {
		t.Errorf("%s, %v", line, err)
	}
	if n := s.calls.Load(); n != 1 {
		t.Errorf("the change was carried out %d times", n)
	}
}

// A host whose clock is an hour off is asked and changed like any other, and it shows.
func TestClocksAnHourApart(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		s := newSite(t)
		nas := s.issue(fleet.Agent, "nas1")
		s.host(nas, func() time.Time { return time.Now().Add(off) })
		sess, r := open(t, s.link(s.issue(fleet.Controller, "ada")), nas)
		if got := ask(t, sess, r, changeIt); !strings.Contains(got, "result") {
			t.Errorf("%s: %s", off, got)
		}
		if d := sess.Clock() - off; d < -10*time.Second || d > 10*time.Second {
			t.Errorf("the clock is said to be off by %s, and is by %s", sess.Clock(), off)
		}
	}
}

// Whoever holds the broker, and its keys with it, can repeat, move and make up messages; none of
// them is carried out.
func TestABrokerThatLiesChangesNothing(t *testing.T) {
	s := newSite(t)
	nas, other := s.issue(fleet.Agent, "nas1"), s.issue(fleet.Agent, "nas2")
	s.host(nas, time.Now)
	spy := s.issue(fleet.Desk, "spy") // may say everything at the broker; hears it by its agents' own places
	ear, err := nas.Connect("ear")    // the broker's own ear
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	heard, err := ear.SubscribeSync("lr.1.lab.dn." + id(t, nas) + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := ear.Flush(); err != nil {
		t.Fatal(err)
	}
	l := s.link(s.issue(fleet.Controller, "ada"))
	sess, r := open(t, l, nas)
	if got := ask(t, sess, r, changeIt); !strings.Contains(got, "result") {
		t.Fatal(got)
	}
	var all []*nats.Msg
	for len(all) < 2 {
		m, err := heard.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	nc, err := spy.Connect("mouth")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	say := func(subject string, b []byte) {
		if err := nc.Publish(subject, b); err != nil {
			t.Fatal(err)
		}
	}
	change := all[1]
	lie := func() {
		say(change.Subject, change.Data)                                      // repeated
		say(strings.Replace(change.Subject, ".rw.", ".ro.", 1), change.Data)  // as another kind
		say(strings.Replace(change.Subject, ".it", ".other", 1), change.Data) // as another method
		say(strings.Replace(change.Subject, id(t, nas), id(t, other), 1), change.Data)
		for i := range change.Data { // changed, in each octet
			b := append([]byte{}, change.Data...)
			b[i] ^= 1
			say(change.Subject, b)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	lie()
	if got := ask(t, sess, r, readIt); !strings.Contains(got, `"n":2`) {
		t.Errorf("a lie was carried out: %s", got)
	}
	sess.Close()
	// The session is over: its opening and its change again, which is a new session to the agent.
	say(all[0].Subject, all[0].Data)
	lie()
	again, r := open(t, l, nas)
	if got := ask(t, again, r, readIt); !strings.Contains(got, `"n":3`) {
		t.Errorf("an old session was played again: %s", got)
	}
}

// An answer that another host signs is nobody's.
func TestForeignAnswersAreNotBelieved(t *testing.T) {
	s := newSite(t)
	nas, other := s.issue(fleet.Agent, "nas1"), s.issue(fleet.Agent, "nas2")
	s.host(other, time.Now)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.link(s.issue(fleet.Controller, "ada")).Open(ctx, id(t, nas), "nas1"); err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func portOf(t *testing.T, b *Broker) int {
	t.Helper()
	a, ok := b.s.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("the broker listens on %v", b.s.Addr())
	}
	return a.Port
}
