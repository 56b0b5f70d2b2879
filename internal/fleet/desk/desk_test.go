package desk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linerate/internal/fleet"
	"linerate/internal/fleet/broker"
)

// brokerRole is the argument with which this test's binary is a broker.
const brokerRole = "be-a-broker"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == brokerRole {
		if err := broker.Main(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == enrolRole {
		if err := enrolOnAndOn(os.Args[2], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// site is a desk with a broker.
type site struct {
	t     *testing.T
	dir   string
	d     *Desk
	b     *broker.Broker
	ahead atomic.Int64 // of the desk's clock
	odd   atomic.Int64
}

func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func newSite(t *testing.T, name string) *site {
	t.Helper()
	s := &site{t: t, dir: filepath.Join(t.TempDir(), name)}
	var err error
	if s.d, err = Open(s.dir, name, []string{"nats://127.0.0.1:4222"}, s.now); err != nil {
		t.Fatal(err)
	}
	task, err := s.d.Task("127.0.0.1", -1)
	if err != nil {
		t.Fatal(err)
	}
	if s.b, err = broker.Start(task); err != nil {
		t.Fatal(err)
	}
	s.d.m.Servers = []string{s.b.URL()} // the port is known only now
	f, err := s.d.Attach(s.b, func(err error) { s.odd.Add(1); t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		s.b.Close()
		if err := s.d.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *site) token(name string, labels map[string]string) fleet.Credential {
	s.t.Helper()
	text, _, err := s.d.MakeToken(name, labels, time.Hour, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := fleet.ParseToken(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func enrol(t *testing.T, token fleet.Credential, k *fleet.Keys, name string) (fleet.Credential, error) {
	t.Helper()
	return fleet.Enrol(t.Context(), token, k, fleet.Entry{Name: name, Boot: "b", Build: "test"}, time.Now())
}

func keys(t *testing.T) *fleet.Keys {
	t.Helper()
	k, err := fleet.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *site) host(name string, labels map[string]string) fleet.Credential {
	s.t.Helper()
	c, err := enrol(s.t, s.token(name, labels), keys(s.t), "as it calls itself")
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// run runs an agent whose host answers each request with an empty result.
func (s *site) run(c fleet.Credential) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		err := fleet.Run(ctx, c, fleet.Host{Serve: serve, Boot: "b1", Build: "test", Now: time.Now, Log: func(l string) { s.t.Log(l) },
			Reads: func(m string) (bool, bool) { return m != "change", true }})
		if err != nil {
			s.t.Error(err)
		}
	})
	stop = func() { cancel(); ended.Wait() }
	s.t.Cleanup(stop)
	return stop
}

func serve(_ context.Context, in io.Reader, out io.WriteCloser, _ string) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		_, id, _ := strings.Cut(lines.Text(), `"id":`)
		id, _, _ = strings.Cut(id, ",")
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id); err != nil {
			return err
		}
	}
	return lines.Err()
}

// events are the kinds of the log's lines, with the host's name.
func (s *site) events() string {
	s.t.Helper()
	lines, err := s.d.Log(100)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimSpace(l.Event+" "+l.Host))
	}
	return strings.Join(out, ", ")
}

// until waits for what an agent or a broker does in its own time; the test's deadline ends it.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		select {
		case <-t.Context().Done():
			t.Fatal(what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestTokenAdmitsOneHost(t *testing.T) {
	s := newSite(t, "lab")
	token, k := s.token("nas1", map[string]string{"role": "dtn"}), keys(t)
	c, err := enrol(t, token, k, "other")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := enrol(t, token, k, "other"); err != nil || string(again.Grant) == "" || again.Site != "lab" {
		t.Errorf("an answer that was lost is not given again: %v", err)
	}
	var no *fleet.RefusedError
	if _, err := enrol(t, token, keys(t), "thief"); !errors.As(err, &no) || !strings.Contains(no.Reason, "it admits one host") {
		t.Errorf("a token was used twice: %v", err)
	}
	hosts := s.d.Hosts()
	if len(hosts) != 1 || hosts[0].Name != "nas1" || hosts[0].ID != k.ID() || hosts[0].Labels["role"] != "dtn" || hosts[0].Here {
		t.Errorf("%+v", hosts)
	}
	stop := s.run(c)
	until(t, "the host is not seen", func() bool { return s.d.Hosts()[0].Here })
	if h := s.d.Hosts()[0]; h.Build != "test" || h.Boot != "b1" {
		t.Errorf("%+v", h)
	}
	stop()
	until(t, "the end of the agent is not seen", func() bool { return s.d.Hosts()[0].Ended })
	if got := s.events(); got != "token nas1, enrolling nas1, enrolled nas1, refused nas1, started nas1, ended nas1" {
		t.Errorf("the log has: %s", got)
	}
}

// admitted enrols hosts at once by one token, and counts those that are let in; the others are
// told why.
func (s *site) admitted(token fleet.Credential, names ...string) int {
	s.t.Helper()
	var in atomic.Int64
	var work sync.WaitGroup
	for _, name := range names {
		k := keys(s.t)
		work.Go(func() {
			_, err := enrol(s.t, token, k, name)
			var no *fleet.RefusedError
			switch {
			case err == nil:
				in.Add(1)
			case !errors.As(err, &no) || !strings.Contains(no.Reason, "has admitted 4 hosts"):
				s.t.Errorf("%s: %v", name, err)
			}
		})
	}
	work.Wait()
	return int(in.Load())
}

func TestTokenForSeveralHosts(t *testing.T) {
	s := newSite(t, "lab")
	text, made, err := s.d.MakeToken("", map[string]string{"rack": "4"}, time.Hour, 4)
	if err != nil || made.Hosts != 4 {
		t.Fatalf("%+v, %v", made, err)
	}
	token, err := fleet.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.admitted(token, "nas1", "nas2", "nas3"); n != 3 {
		t.Errorf("%d of 3 are in", n)
	}
	var no *fleet.RefusedError
	if _, err := enrol(t, token, keys(t), "nas1"); !errors.As(err, &no) || !strings.Contains(no.Reason, "is enrolled already") {
		t.Errorf("a name that is taken: %v", err)
	}
	if open := s.d.Tokens(); len(open) != 1 || open[0].Hosts != 4 || open[0].Admitted != 3 {
		t.Errorf("who was refused is counted: %+v", open)
	}
	if n := s.admitted(token, "nas4", "nas5"); n != 1 {
		t.Errorf("%d of two got the last use", n)
	}
	if n := s.admitted(token, "nas6"); n != 0 || len(s.d.Hosts()) != 4 || len(s.d.Tokens()) != 0 {
		t.Errorf("%d came after the last; %d hosts, tokens %+v", n, len(s.d.Hosts()), s.d.Tokens())
	}
	for _, h := range s.d.Hosts() {
		if h.Labels["rack"] != "4" || h.Token != made.ID {
			t.Errorf("%+v", h)
		}
	}
	b, err := openBook(s.dir, s.now)
	if err != nil || b.token(made.ID).spent() == nil || b.token(made.ID).Admitted != 4 {
		t.Errorf("after a restart: %+v, %v", b.token(made.ID), err)
	}
	for _, bad := range []int{0, -1, MaxTokenHosts + 1} {
		if _, _, err := s.d.MakeToken("", nil, time.Hour, bad); err == nil {
			t.Errorf("a token for %d hosts", bad)
		}
	}
	if _, _, err := s.d.MakeToken("nas9", nil, time.Hour, 2); err == nil {
		t.Error("one name for two hosts")
	}
}

// Who is revoked may have the token still: it must not be a way back.
func TestTokenEndsWithAHostOfIt(t *testing.T) {
	s := newSite(t, "lab")
	text, made, err := s.d.MakeToken("", nil, time.Hour, 9)
	if err != nil {
		t.Fatal(err)
	}
	token, err := fleet.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	k := keys(t)
	for name, k := range map[string]*fleet.Keys{"nas1": keys(t), "nas2": k} {
		if _, err := enrol(t, token, k, name); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.d.Revoke("nas1", "ada"); err != nil || r.TokenEnded != made.ID || r.Name != "nas1" {
		t.Errorf("%+v, %v", r, err)
	}
	var no *fleet.RefusedError
	if _, err := enrol(t, token, keys(t), "nas3"); !errors.As(err, &no) || !strings.Contains(no.Reason, "was revoked") {
		t.Errorf("it came back: %v", err)
	}
	if _, err := enrol(t, token, k, "nas2"); err != nil {
		t.Errorf("an answer that was lost is not given again: %v", err)
	}
	if open := s.d.Tokens(); len(open) != 0 {
		t.Errorf("%+v", open)
	}
	if r, err := s.d.Revoke("nas2", "ada"); err != nil || r.TokenEnded != "" {
		t.Errorf("a token ended twice: %+v, %v", r, err)
	}
}

func TestTokensThatExpired(t *testing.T) {
	s := newSite(t, "lab")
	s.ahead.Store(int64(-2 * time.Hour))
	early := s.token("", nil) // good until an hour ago
	s.ahead.Store(0)
	if _, err := enrol(t, early, keys(t), "nas1"); err == nil || !strings.Contains(err.Error(), "the token expired at") {
		t.Errorf("the broker let an expired token in: %v", err)
	}
	token := s.token("", nil)
	s.ahead.Store(int64(2 * time.Hour)) // the broker's clock is the machine's
	var no *fleet.RefusedError
	if _, err := enrol(t, token, keys(t), "nas1"); !errors.As(err, &no) || !strings.Contains(no.Reason, "expired at") {
		t.Errorf("the desk took an expired token: %v", err)
	}
	if _, _, err := s.d.MakeToken("", nil, MaxTokenLife+time.Second, 1); err == nil {
		t.Error("a token for longer than tokens may last")
	}
}

func TestTokenOfAnotherSite(t *testing.T) {
	s, far := newSite(t, "lab"), newSite(t, "lab")
	token := far.token("", nil)
	token.Servers = s.d.m.Servers
	if _, err := enrol(t, token, keys(t), "nas1"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("another site's broker was believed: %v", err)
	}
	token.CA = s.d.m.CA
	if _, err := enrol(t, token, keys(t), "nas1"); err == nil || !strings.Contains(err.Error(), "for its own site") {
		t.Errorf("another site's token was let in: %v", err)
	}
	if len(s.d.Hosts()) != 0 {
		t.Error("somebody was enrolled")
	}
}

func TestHostThatChangedItsKey(t *testing.T) {
	s := newSite(t, "lab")
	s.host("nas1", nil)
	var no *fleet.RefusedError
	if _, err := enrol(t, s.token("", nil), keys(t), "nas1"); !errors.As(err, &no) || !strings.Contains(no.Reason, "linerate agent revoke nas1") {
		t.Errorf("a second key for one name: %v", err)
	}
	if _, _, err := s.d.MakeToken("nas1", nil, time.Hour, 1); err == nil || !strings.Contains(err.Error(), "linerate agent revoke nas1") {
		t.Errorf("a token for a name that is taken: %v", err)
	}
	if _, err := s.d.Revoke("nas1", "ada"); err != nil {
		t.Fatal(err)
	}
	if _, err := enrol(t, s.token("nas1", nil), keys(t), "x"); err != nil {
		t.Errorf("set up anew, after it was revoked: %v", err)
	}
}

func TestRevokedHostIsOut(t *testing.T) {
	s := newSite(t, "lab")
	c := s.host("nas1", nil)
	token, k := s.token("nas2", nil), keys(t)
	if _, err := enrol(t, token, k, ""); err != nil {
		t.Fatal(err)
	}
	s.run(c)
	until(t, "the host is not seen", func() bool { return s.d.Hosts()[0].Here })
	if _, err := s.d.Revoke("nas3", "ada"); err == nil || !strings.Contains(err.Error(), "there are: nas1, nas2") {
		t.Errorf("%v", err)
	}
	for _, n := range []string{"nas1", "nas2"} {
		if _, err := s.d.Revoke(n, "ada"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Connect("test"); err == nil {
		t.Error("a revoked host is let in")
	}
	if _, err := enrol(t, token, k, ""); err == nil {
		t.Error("a revoked host came back by its old token")
	}
	if len(s.d.Hosts()) != 0 {
		t.Errorf("%+v", s.d.Hosts())
	}
	// A desk that is opened anew tells its broker so.
	task, err := s.d.Task("127.0.0.1", -1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(task)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c.Servers = []string{b.URL()}
	if _, err := c.Connect("test"); err == nil {
		t.Error("a revoked host is let in after a restart")
	}
}

// Two controllers have keys of their own, and the log tells who asked what.
func TestTwoControllers(t *testing.T) {
	s := newSite(t, "lab")
	c := s.host("nas1", nil)
	s.run(c)
	k, err := c.Keys()
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the host is not seen", func() bool { return s.d.Hosts()[0].Here })
	reads := func(m string) (bool, bool) { return m != "change", true }
	var work sync.WaitGroup
	for _, name := range []string{"ada", "bob"} {
		cred, err := s.d.Controller(name, name == "bob")
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			l, err := fleet.Dial(cred, reads, time.Now)
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			sess, err := l.Open(t.Context(), k.ID(), "nas1")
			if err != nil {
				t.Error(err)
				return
			}
			defer sess.Close()
			if _, err := io.WriteString(sess, `{"jsonrpc":"2.0","id":1,"method":"change"}`+"\n"); err != nil {
				t.Error(err)
			}
			line, err := bufio.NewReader(sess).ReadString('\n')
			if want := map[string]string{"ada": `"result":{}`, "bob": "bob may read"}[name]; err != nil || !strings.Contains(line, want) {
				t.Errorf("%s: %s, %v", name, line, err)
			}
		})
	}
	work.Wait()
	until(t, "the request is not logged", func() bool { return strings.Contains(s.events(), "request nas1") })
	lines, err := s.d.Log(1)
	if err != nil || len(lines) != 1 || lines[0].About["by"] != "ada" || lines[0].About["method"] != "change" {
		t.Errorf("%+v, %v", lines, err)
	}
	if n := strings.Count(s.events(), "request"); n != 1 {
		t.Errorf("%d requests are logged, and one was made that changes", n)
	}
}
