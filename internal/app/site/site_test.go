package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/check"
	"linerate/internal/failure"
	"linerate/internal/fleet/broker"
	"linerate/internal/fleet/desk"
	"linerate/internal/host"
	"linerate/internal/reach"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == brokerProgram {
		if err := broker.Main(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(brokerRole) != "" {
		if err := natsServer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if which := os.Getenv(controllerRole); which != "" {
		if err := controller(which); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// quiet is a progress that nobody watches.
type quiet struct{ t *testing.T }

func (q quiet) Say(format string, args ...any) { q.t.Logf(format, args...) }
func (q quiet) Detail(line string)             { q.t.Log(line) }
func (q quiet) Tick(string, string)            {}
func (q quiet) Live() bool                     { return false }
func (q quiet) End()                           {}
func (q quiet) Started() time.Time             { return time.Time{} }

// machine is an environment with a state directory of its own, whose name is short: a socket
// lies there.
func machine(t *testing.T) app.Env {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	sites := &reach.Sites{}
	t.Cleanup(func() {
		sites.Close()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Symlink(os.Args[0], filepath.Join(dir, brokerProgram)); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "linerate")
	if err := os.WriteFile(self, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	return app.Env{Self: []string{self}, Build: "test", Now: time.Now, Sites: sites, Getenv: func(k string) string {
		return map[string]string{"XDG_STATE_HOME": dir, "USER": "ada"}[k]
	}}
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// begin runs f until the test ends or stop is called.
func begin(t *testing.T, f func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() }) // whoever cares has called it
	return stop
}

// serve keeps a site.
func serve(t *testing.T, e app.Env) (stop func() error) {
	t.Helper()
	up := make(chan string, 1)
	stop = begin(t, func(ctx context.Context) error {
		return Serve(ctx, e, Options{Site: "lab", Listen: freePort(t), Serving: func(url string) { up <- url }}, quiet{t})
	})
	<-up
	until(t, "the desk does not answer", func() bool { _, err := Hosts(t.Context(), e, ""); return err == nil })
	return stop
}

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

func TestHostOfASiteAnswersAsAnyOther(t *testing.T) {
	ctl, nas := machine(t), machine(t)
	var none *desk.NoDeskError
	var advised *failure.Advised
	if _, err := Hosts(t.Context(), ctl, ""); !errors.As(err, &none) || failure.KindOf(err) != failure.Nothing || !errors.As(err, &advised) || advised.Next != failure.StartDesk {
		t.Errorf("no desk: %v", err)
	}
	stop := serve(t, ctl)
	token, err := MakeToken(t.Context(), ctl, "", "nas1", map[string]string{"role": "dtn"}, time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	var not *NotEnrolledError
	if _, err := Here(nas); !errors.As(err, &not) {
		t.Errorf("not enrolled: %v", err)
	}
	if err := Run(t.Context(), nas, "", &bytes.Buffer{}); !errors.As(err, &not) {
		t.Errorf("an agent without a site: %v", err)
	}
	got, err := Enrol(t.Context(), nas, token.Token, false)
	if err != nil || got.Name != "nas1" || got.Site != "lab" || got.Labels["role"] != "dtn" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := Enrol(t.Context(), nas, token.Token, false); err == nil || !errors.As(err, &advised) || advised.Next != failure.ForgetPlace {
		t.Errorf("enrolled twice: %v", err)
	}
	state := t.TempDir()
	end := begin(t, func(ctx context.Context) error { return Run(ctx, nas, state, t.Output()) })
	until(t, "the host is not there", func() bool { l, err := Hosts(t.Context(), ctl, "lab"); return err == nil && l.Hosts[0].Here })
	if s, err := Here(nas); err != nil || !s.Running || !strings.Contains(s.Said, "connected to site lab") {
		t.Errorf("%+v, %v", s, err)
	}
	if err := Run(t.Context(), nas, state, t.Output()); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("two agents: %v", err)
	}
	askIt(t, ctl)
	checkIt(t, ctl)
	if err := end(); err != nil {
		t.Error(err)
	}
	until(t, "its end is not seen", func() bool { l, err := Hosts(t.Context(), ctl, ""); return err == nil && l.Hosts[1].Ended })
	if r, err := Revoke(t.Context(), ctl, "", "nas1"); err != nil || r.ID != got.ID {
		t.Errorf("%+v, %v", r, err)
	}
	if err := stop(); err != nil {
		t.Errorf("the site: %v", err)
	}
	if _, err := ReadLog(t.Context(), ctl, "lab", 5); !errors.As(err, &none) {
		t.Errorf("the desk is gone: %v", err)
	}
}

// askIt reaches the host by its name, as every command does.
func askIt(t *testing.T, ctl app.Env) {
	t.Helper()
	d := ctl.Reach(quiet{t})
	for text, want := range map[string]string{"site:nas2": "no host nas2", "site:far/nas1": "no desk answers"} {
		n, err := host.ParseName(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Dial(t.Context(), n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	n, err := host.ParseName("site:nas1")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second over the same connection
		c, err := d.Dial(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if c.Hello().Build != "test" || c.Name() != "nas1" {
			t.Errorf("%+v", c.Hello())
		}
		if clock, err := c.Clock(t.Context()); err != nil || clock.Offset.Abs() > clock.Error {
			t.Errorf("%+v, %v", clock, err)
		}
		var advised *failure.Advised
		if _, err := reach.Receiver(t.Context(), "", n, c); !errors.As(err, &advised) || advised.Next != failure.NameAddress {
			t.Errorf("a data address was guessed: %v", err)
		}
		// A request that changes: what no plan is called is refused by the host itself.
		if err := c.Confirm(t.Context(), "no-such-plan"); err == nil {
			t.Error("a plan that is not there was confirmed")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	until(t, "the requests are not in the log", func() bool {
		l, err := ReadLog(t.Context(), ctl, "", 100)
		n := 0
		for _, x := range l.Lines {
			if x.Event == "request" && x.About["method"] == "plan.confirm" && strings.HasPrefix(x.About["by"], "ada at ") {
				n++
			}
		}
		return err == nil && n == 2
	})
	for selection, want := range map[string]string{"all": "", "nas1": "", "role=dtn": "", "nas9": "no host nas9", "role=nas": "no host of site lab is role=nas", "a b": "want all"} {
		hosts, err := d.SiteHosts(t.Context(), "", selection)
		if want == "" && (err != nil || len(hosts) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", selection, hosts, err)
		}
	}
}

// checkIt looks at all hosts of the site.
func checkIt(t *testing.T, ctl app.Env) {
	t.Helper()
	if _, err := check.Run(t.Context(), ctl, check.Options{Site: "role=none"}, quiet{t}); failure.KindOf(err) != failure.Nothing {
		t.Errorf("a selection of no host: %v", err)
	}
	token, err := MakeToken(t.Context(), ctl, "", "asleep", nil, time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Enrol(t.Context(), machine(t), token.Token, false); err != nil {
		t.Fatal(err)
	}
	c, err := check.Run(t.Context(), ctl, check.Options{Site: "all", Of: "lab"}, quiet{t})
	if err != nil || len(c.Hosts) != 2 || c.Hosts[1].Name != "site:lab/nas1" || c.Hosts[1].Error != "" || c.Hosts[1].Facts == nil {
		t.Fatalf("%+v, %v", c.Hosts, err)
	}
	if len(c.Lost) != 1 || !strings.HasPrefix(c.Lost[0].Why, "its site has not heard of it") || c.Lost[0].Hosts[0] != "site:lab/asleep" {
		t.Errorf("%+v", c.Lost)
	}
}

func TestPlacesOfASite(t *testing.T) {
	for listen, want := range map[string]string{"": "want HOST:PORT", "4222": "want HOST:PORT", ":4222": "the one address", "0.0.0.0:4222": "the one address", "[::]:4222": "the one address", "10.0.0.5:0": "want HOST:PORT"} {
		err := Serve(t.Context(), machine(t), Options{Site: "lab", Listen: listen}, quiet{t})
		if err == nil || !strings.Contains(err.Error(), want) || failure.KindOf(err) != failure.Usage {
			t.Errorf("%q: %v", listen, err)
		}
	}
	if err := Serve(t.Context(), machine(t), Options{Site: "La b", Listen: "127.0.0.1:4222"}, quiet{t}); err == nil || failure.KindOf(err) != failure.Usage {
		t.Errorf("%v", err)
	}
	bare := machine(t)
	bare.Self = []string{"/nowhere/linerate"}
	if err := Serve(t.Context(), bare, Options{Site: "lab", Listen: "127.0.0.1:4222"}, quiet{t}); err == nil || !strings.Contains(err.Error(), "comes with linerate's packages and from make build") {
		t.Errorf("no broker program: %v", err)
	}
}
