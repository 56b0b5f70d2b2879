package site

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linerate/internal/app"
	apptune "linerate/internal/app/tune"
	"linerate/internal/facts"
	"linerate/internal/failure"
	"linerate/internal/fleet"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/tune"
)

// imitated is a host with one setting, in memory: what an agent's journal and dead-man do.
type imitated struct {
	facts *model.Facts
	each  func() // hears each plan that was applied
	cred  fleet.Credential

	mu      sync.Mutex
	value   string
	history []tune.Entry
	waiting string // plan
}

const probing = "linux.sysctl.net.ipv4.tcp_mtu_probing"

func (h *imitated) undo(plan string) (res tune.Result) {
	for i, e := range h.history {
		if e.State == tune.Applied && (plan == "" || e.Plan == plan) {
			h.value, h.history[i].State = e.Before, tune.Undone
			res.Entries = append(res.Entries, h.history[i])
		}
	}
	if plan == "" || h.waiting == plan {
		h.waiting = ""
	}
	return res
}

// deadMan is what a host does when nobody has confirmed in time.
func (h *imitated) deadMan() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting != "" {
		h.undo(h.waiting)
	}
}

func (h *imitated) open() []tune.Entry {
	out := []tune.Entry{}
	for _, e := range h.history {
		if e.State == tune.Applied {
			out = append(out, e)
		}
	}
	return out
}

func (h *imitated) apply(p model.Plan) (tune.Result, error) {
	c := p.Changes[0]
	switch {
	case h.waiting != "" && h.waiting != p.ID:
		return tune.Result{}, errors.New("a plan waits to be confirmed")
	case h.value != c.From:
		return tune.Result{}, fmt.Errorf("it is %s, and the plan was made on %s", h.value, c.From)
	}
	e := tune.Entry{V: 1, Seq: len(h.history) + 1, Plan: p.ID, Setting: c.Setting, Before: h.value, Wanted: c.To, After: c.To, State: tune.Applied}
	h.history, h.value, h.waiting = append(h.history, e), c.To, ""
	if p.DeadMan() > 0 {
		h.waiting = p.ID
	}
	return tune.Result{Plan: p.ID, Entries: []tune.Entry{e}, Changes: []tune.Outcome{{Setting: c.Setting, Applied: true, Effective: "yes"}}}, nil
}

func (h *imitated) answer(method string, params json.RawMessage) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var p model.Plan
	var named struct {
		Plan string `json:"plan"`
	}
	var u tune.UndoRequest
	switch method {
	case "plan.apply":
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		defer h.each()
		return h.apply(p)
	case "plan.confirm":
		if err := json.Unmarshal(params, &named); err != nil || named.Plan != h.waiting {
			return nil, fmt.Errorf("too late to confirm %s", named.Plan)
		}
		h.waiting = ""
		return struct{}{}, nil
	case "plan.undo":
		if err := json.Unmarshal(params, &u); err != nil {
			return nil, err
		}
		return h.undo(u.Plan), nil
	case "plan.waiting":
		if h.waiting == "" {
			return struct{}{}, nil
		}
		return map[string]any{"waiting": tune.Waiting{V: 1, Plan: h.waiting}}, nil
	}
	switch method {
	case "journal.open":
		return h.open(), nil
	case "journal.history":
		return h.history, nil
	case "hello":
		return host.Hello{Protocol: host.Protocol, Build: "imitated", BootID: "boot", OS: "linux", Arch: "amd64", Capabilities: []string{}, Clock: time.Now()}, nil
	case "clock":
		return map[string]any{"now": time.Now()}, nil
	case "facts":
		return h.facts, nil
	case "setting.read":
		return map[string]any{"value": h.value}, nil
	case "sample.start":
		return map[string]any{"id": 1}, nil
	case "sample.stop":
		return map[string]any{"count": 0}, nil
	}
	return nil, fmt.Errorf("an imitated host was asked for %s", method)
}

func (h *imitated) serve(_ context.Context, in io.Reader, out io.WriteCloser, _ string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		says := map[string]any{"jsonrpc": "2.0", "id": r.ID}
		result, err := h.answer(r.Method, r.Params)
		if says["result"] = result; err != nil {
			delete(says, "result")
			says["error"] = map[string]any{"code": -32000, "message": err.Error()}
		}
		b, err := json.Marshal(says)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}

// imitate enrols n hosts and runs their agents.
func imitate(t *testing.T, ctl app.Env, n int, each func()) []*imitated {
	t.Helper()
	f, err := facts.Read(t.Context(), kernel.Live{}, "imitated", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*imitated, n)
	for i := range all {
		all[i] = &imitated{facts: f, value: "0", each: each}
		token, err := MakeToken(t.Context(), ctl, "", fmt.Sprintf("n%03d", i), nil, time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		c, err := fleet.ParseToken(token.Token)
		if err != nil {
			t.Fatal(err)
		}
		k, err := fleet.NewKeys()
		if err != nil {
			t.Fatal(err)
		}
		cred, err := fleet.Enrol(t.Context(), c, k, fleet.Entry{Name: "any", Boot: "boot", Build: "test"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		all[i].cred = cred
		begin(t, func(ctx context.Context) error {
			return fleet.Run(ctx, cred, fleet.Host{Serve: all[i].serve, Reads: host.Reads, Boot: "boot", Build: "test", Now: time.Now, Log: func(string) {}})
		})
	}
	until(t, "not all hosts are there", func() bool {
		l, err := Hosts(t.Context(), ctl, "")
		here := 0
		for _, h := range l.Hosts {
			if h.Here {
				here++
			}
		}
		return err == nil && here == n
	})
	return all
}

// controllerRole in the environment makes this program a controller that changes the hosts of the
// site, all or the one that is named.
const controllerRole = "SITE_TEST_CHANGES"

func controller(which string) error {
	sites := &reach.Sites{}
	defer sites.Close()
	e := app.Env{Self: os.Args, Build: "test", Now: time.Now, Sites: sites, Getenv: os.Getenv}
	o := change()
	if which == "all" {
		_, err := apptune.ApplySite(context.Background(), e, o, func(apptune.SitePlan) {}, plain{})
		return err
	}
	n, err := host.ParseName(which)
	if err != nil {
		return err
	}
	o.Host, o.Confirm = n, time.Minute
	_, err = apptune.Apply(context.Background(), e, o.Request, nil, plain{})
	return err
}

func change() apptune.SiteRequest {
	return apptune.SiteRequest{Site: "all", Request: apptune.Request{Streams: 1, Typed: []apptune.Set{{Setting: probing, Value: "1"}}}}
}

// plain is a progress that nobody watches, of a process that is no test.
type plain struct{ app.Progress }

func (plain) Say(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
func (plain) Detail(line string)          { fmt.Fprintln(os.Stderr, line) }
func (plain) Tick(string, string)         {}

// killed starts a controller and kills it with -9 once moment has come.
func killed(t *testing.T, ctl app.Env, which string, moment <-chan struct{}) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), controllerRole+"="+which, "XDG_STATE_HOME="+ctl.Getenv("XDG_STATE_HOME"), "XDG_DATA_HOME="+ctl.Getenv("XDG_DATA_HOME"), "USER=ada")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-moment:
	case err := <-ended:
		t.Fatalf("the controller ended by itself: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// after is closed when it was called n times.
func after(n int64) (call func(), moment chan struct{}) {
	var calls atomic.Int64
	moment = make(chan struct{})
	return func() {
		if calls.Add(1) == n {
			close(moment)
		}
	}, moment
}

// stand counts the hosts that are as planned; one that is neither so nor as before, or that
// waits, fails the test.
func stand(t *testing.T, all []*imitated) (planned int) {
	t.Helper()
	for i, h := range all {
		h.mu.Lock()
		switch {
		case h.waiting != "":
			t.Errorf("host %d waits", i)
		case h.value == "1" && len(h.open()) == 1:
			planned++
		case h.value != "0" || len(h.open()) != 0:
			t.Errorf("host %d is neither as planned nor as before: %s, %+v", i, h.value, h.history)
		}
		h.mu.Unlock()
	}
	return planned
}

// A controller that is killed in the middle of a change of many hosts leaves each as planned or as
// before, once the hosts have undone what nobody confirmed; another one goes on where it was.
func TestControllerKilledAmidWaves(t *testing.T) {
	ctl := machine(t)
	own, data := ctl.Getenv, t.TempDir()
	ctl.Getenv = func(k string) string {
		if k == "XDG_DATA_HOME" {
			return data
		}
		return own(k)
	}
	stop := serve(t, ctl)
	n, applies, confirmed := 100, int64(1+4+9), 1+4 // killed amid the third wave, of 16
	if labtest.Short(t.Name()) != "" {
		n, applies, confirmed = 6, 1+2, 1 // amid the second, of 4; one host is left for a third
	}
	applied, moment := after(applies)
	all := imitate(t, ctl, n, applied)
	killed(t, ctl, "all", moment)
	for _, h := range all {
		h.deadMan()
	}
	if got := stand(t, all); got != confirmed {
		t.Errorf("%d hosts are as planned, want the %d of the waves that were confirmed", got, confirmed)
	}
	doc, err := apptune.Resume(t.Context(), ctl, "", quiet{t})
	if err != nil || stand(t, all) != n || len(doc.Waves) < 3 {
		t.Errorf("%d as planned, %d waves, %v", stand(t, all), len(doc.Waves), err)
	}
	if _, err := apptune.Resume(t.Context(), ctl, doc.Plan, quiet{t}); failure.KindOf(err) != failure.Nothing {
		t.Errorf("resumed at its end: %v", err)
	}
	until(t, "the changes and their signer are not in the log", func() bool {
		l, err := ReadLog(t.Context(), ctl, "", 10_000)
		applies := 0
		for _, x := range l.Lines {
			if x.Event == "request" && x.About["method"] == "plan.confirm" && strings.HasPrefix(x.About["by"], "ada at ") {
				applies++
			}
		}
		return err == nil && applies == n
	})
	if _, err := apptune.UndoSite(t.Context(), ctl, "", "all", apptune.UndoRequest{Plan: "tune-nonsense"}, quiet{t}); failure.KindOf(err) != failure.Usage {
		t.Errorf("a plan that nobody had: %v", err)
	}
	undone, err := apptune.UndoSite(t.Context(), ctl, "", "all", apptune.UndoRequest{Plan: doc.Plan}, quiet{t})
	if err != nil || len(undone.Hosts) != n || stand(t, all) != 0 {
		t.Errorf("%d as planned, %v", stand(t, all), err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The same amid a change of one host.
func TestControllerKilledAmidAChange(t *testing.T) {
	ctl := machine(t)
	stop := serve(t, ctl)
	applied, moment := after(1)
	all := imitate(t, ctl, 1, applied)
	killed(t, ctl, "site:n000", moment)
	all[0].deadMan()
	if got := stand(t, all); got != 0 {
		t.Error("what nobody confirmed is in force")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
