package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

func TestStudyIsMadeAndPutBack(t *testing.T) {
	w := newWorld()
	before := w.state()
	x := begun(t, w, example(), t.TempDir(), "")
	out, err := x.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !out.Restored || out.Ended != "every comparison came to its end" || len(out.Runs) != 12 {
		t.Errorf("restored %v, ended %q after %d runs", out.Restored, out.Ended, len(out.Runs))
	}
	if d := cmp.Diff(before, w.state()); d != "" {
		t.Errorf("hosts changed: %s", d)
	}
	v := values(out.Runs)
	if len(v["baseline"]) != 6 || len(v["buffers"]) != 2 || len(v["cc"]) != 2 || len(v["writes"]) != 2 {
		t.Fatalf("%v", v)
	}
	for _, r := range out.Runs {
		want := 1e8
		if r.Factor == "buffers" {
			want = 9e8
		}
		if *r.Value < 0.95*want || *r.Value > 1.05*want || r.Unit != "bit/s" {
			t.Errorf("%s %s: %v %s, want about %v", r.Label, r.Factor, *r.Value, r.Unit, want)
		}
		if r.Factor != "" && (r.Effective == nil || !*r.Effective) || r.Factor == "" && r.Effective != nil {
			t.Errorf("%s %s: effective %v", r.Label, r.Factor, r.Effective)
		}
		if r.Retransmitted == nil || *r.Retransmitted < 0.005 || r.CPU["client"] != 0.4 || r.Softirq["server"] != 0.1 || len(r.PerCore["server"]) != 1 {
			t.Errorf("%s: %+v", r.Label, r)
		}
	}
	if n := len(out.Reverted); n != 5 { // 2 MTUs, 2 buffers, 1 congestion control
		t.Errorf("%d changes on record: %+v", n, out.Reverted)
	}
}

// What cannot be had is said of the level, and the rest of the study goes on.
func TestTreatmentsThatCannotBeHad(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(w *world, f *model.StudyFile)
		level string
		why   string
	}{
		{"the kernel keeps its value", func(w *world, _ *model.StudyFile) { w.hosts["server"].clamp = rmem }, "buffers", "not in force"},
		{"the kernel refuses it", func(w *world, _ *model.StudyFile) { w.hosts["server"].refuse = rmem }, "buffers", "invalid argument"},
		{"it is so already", func(w *world, _ *model.StudyFile) {
			w.hosts["client"].values[rmem], w.hosts["server"].values[rmem] = largeRmem, largeRmem
		}, "buffers", "runs already"},
		{"the connections run another", func(w *world, _ *model.StudyFile) { w.stubborn = true }, "cc", "the connection runs reno"},
		{"nobody knows the setting", func(_ *world, f *model.StudyFile) { f.Factors[1].Levels[0].Set[0].Setting = "linux.sysctl.net.no_such" }, "cc", "no_such"},
		{"the host cannot make the load of the level", func(w *world, f *model.StudyFile) {
			w.lacks = "vegas"
			f.Factors[1].Levels[0] = model.StudyLevel{Name: "vegas", Workload: map[string]string{"congestion": "vegas"}}
		}, "cc", "no such file"},
		{"an MTU on one end alone", func(_ *world, f *model.StudyFile) {
			f.Baseline = nil
			f.Factors[1].Levels[0].Set = []model.StudySetting{{Host: "server", Setting: "linux.link.mtu", Value: "9000"}}
		}, "cc", "both ends of a path have it, or neither"},
		{"a path that swallows large packets", func(w *world, f *model.StudyFile) {
			w.blackhole = true
			f.Factors[1].Levels[0].Set = f.Baseline[0].Set
			f.Baseline = nil
		}, "cc", "packets of 9000 octets do not get"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, f := newWorld(), example()
			c.spoil(w, &f)
			before := w.state()
			out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, w.state()); d != "" || !out.Restored {
				t.Errorf("restored %v: %s", out.Restored, d)
			}
			said := false
			for _, r := range out.Runs {
				if r.Factor != c.level {
					continue
				}
				if r.Counted || r.Effective == nil || *r.Effective {
					t.Errorf("%s counts, effective %v", r.Label, r.Effective)
				}
				said = said || strings.Contains(r.Why, c.why)
			}
			if v := values(out.Runs); !said || len(v["writes"]) != 2 {
				t.Errorf("%v; %q is not said: %+v", v, c.why, out.Runs[0].Why)
			}
		})
	}
}

// A step of the baseline that cannot be had leaves nothing to compare with.
func TestBaselineThatCannotBeHad(t *testing.T) {
	w := newWorld()
	w.blackhole = true
	before := w.state()
	out, err := begun(t, w, example(), t.TempDir(), "").Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "step jumbo of the baseline") || !out.Restored {
		t.Errorf("restored %v, %v", out.Restored, err)
	}
	if d := cmp.Diff(before, w.state()); d != "" {
		t.Error(d)
	}
}

// A load that a host cannot make ends the study with its first run, and says so.
func TestLoadThatCannotBeHad(t *testing.T) {
	w, f := newWorld(), example()
	w.lacks, f.Workloads[0].Congestion = "vegas", "vegas"
	before := w.state()
	out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "workload bulk of the baseline") || !strings.Contains(err.Error(), "congestion control") || !out.Restored || len(out.Runs) != 0 {
		t.Errorf("%d runs, restored %v, %v", len(out.Runs), out.Restored, err)
	}
	if d := cmp.Diff(before, w.state()); d != "" {
		t.Error(d)
	}
}

// A run beside which others use the link is kept, does not count, and is made
// again; a link that is never free ends the study.
func TestRunsThatDoNotCount(t *testing.T) {
	w := newWorld()
	w.foreign = 2
	out, err := begun(t, w, example(), t.TempDir(), "").Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	not := 0
	for _, r := range out.Runs {
		if !r.Counted {
			not++
			if r.Value == nil || !strings.Contains(r.Why, "other traffic on eth0 of client") {
				t.Errorf("%+v", r)
			}
		}
	}
	if not != 2 || len(out.Runs) != 14 {
		t.Errorf("%d of %d runs do not count", not, len(out.Runs))
	}
	w = newWorld()
	w.foreign = 1000
	out, err = begun(t, w, example(), t.TempDir(), "").Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "12 runs in a row") || !out.Restored || len(out.Runs) != maxInARow {
		t.Errorf("after %d runs, restored %v: %v", len(out.Runs), out.Restored, err)
	}
}

// dies runs a study whose controller is killed at a step; false: it came to its
// end before.
func dies(t *testing.T, w *world, root string, at int) (id string, died bool) {
	t.Helper()
	w.killAt = w.calls + at
	x := begun(t, w, example(), root, "")
	defer closeState(t, x)
	_, err := x.Run(context.Background())
	if err != nil && !errors.Is(err, errKilled) && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("killed at %d: %v", at, err)
	}
	return x.ID, err != nil
}

// Wherever the controller is killed: what it left is put back when the study is
// taken up again, whether the hosts have undone their part by themselves or not,
// and no run on record is made twice.
func TestKilledAnywhereAndResumed(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		w := newWorld()
		before := w.state()
		root := labtest.MemoryDir(t)
		id, died := dies(t, w, root, at)
		if !died {
			if at < 100 {
				t.Errorf("the whole study is %d steps", at)
			}
			return
		}
		w.killAt = 0
		if at%2 == 0 {
			w.deadMen()
		}
		x := begun(t, w, example(), root, id)
		had := len(x.Past.Runs())
		out, err := x.Run(context.Background())
		closeState(t, x)
		if err != nil {
			t.Fatalf("killed at %d, resumed: %v", at, err)
		}
		if d := cmp.Diff(before, w.state()); d != "" || !out.Restored {
			t.Fatalf("killed at %d: restored %v: %s", at, out.Restored, d)
		}
		if v := values(out.Runs); len(out.Runs) < had || len(out.Runs) > 12 || len(v["baseline"]) != 6 || len(v["buffers"]) != 2 || len(v["cc"]) != 2 {
			t.Fatalf("killed at %d with %d runs on record: %v", at, had, v)
		}
		for i, r := range out.Runs {
			if r.N != i+1 {
				t.Fatalf("killed at %d: run %d is called %d", at, i+1, r.N)
			}
		}
	}
}

// Wherever an agent dies the host is reached again, and the study goes on.
func TestAgentDiesAnywhere(t *testing.T) {
	for at := 3; ; at += 23 {
		w := newWorld()
		before := w.state()
		w.goneAt = at
		x := begun(t, w, example(), labtest.MemoryDir(t), "")
		x.patience = 0
		out, err := x.Run(context.Background())
		closeState(t, x)
		// Before the first run there is nothing to go on with.
		if err != nil && len(out.Runs) > 0 {
			t.Fatalf("died at %d: %v", at, err)
		}
		if d := cmp.Diff(before, w.state()); d != "" || !out.Restored {
			t.Fatalf("died at %d: restored %v: %s %v", at, out.Restored, d, err)
		}
		if v := values(out.Runs); err == nil && (len(v["baseline"]) != 6 || len(v["buffers"]) != 2) {
			t.Fatalf("died at %d: %v", at, v)
		}
		if w.calls < at {
			return
		}
	}
}

// Ctrl-C at any step puts everything back.
func TestCancelledAnywhere(t *testing.T) {
	for at := 1; ; at += 13 {
		w := newWorld()
		before := w.state()
		ctx, cancel := context.WithCancel(context.Background())
		w.cancel, w.cancelAt = cancel, at
		x := begun(t, w, example(), labtest.MemoryDir(t), "")
		out, err := x.Run(ctx)
		cancel()
		closeState(t, x)
		if d := cmp.Diff(before, w.state()); d != "" || !out.Restored {
			t.Fatalf("cancelled at %d: restored %v: %s %v", at, out.Restored, d, err)
		}
		if w.calls < at {
			return
		}
	}
}

// A restart of a host costs the run during which it came; another kernel ends the
// study, and what was measured before does not count when it is begun anew.
func TestRestartedHost(t *testing.T) {
	w := newWorld()
	before := w.state()
	w.restart = 150
	out, err := begun(t, w, example(), t.TempDir(), "").Run(context.Background())
	if err != nil || len(values(out.Runs)["buffers"]) != 2 {
		t.Fatalf("%v: %v", values(out.Runs), err)
	}
	if d := cmp.Diff(before, w.state()); d != "" {
		t.Error(d)
	}
}

// A setting that facts do not show is compared too: one that somebody changed while
// the study was interrupted, and one that does not come back at the end.
func TestSettingsThatFactsDoNotShow(t *testing.T) {
	const probing = "linux.sysctl.net.ipv4.tcp_mtu_probing"
	f := example()
	f.Factors[1].Levels[0].Set[0] = model.StudySetting{Host: "server", Setting: probing, Value: "1"}
	w, root := newWorld(), t.TempDir()
	w.hosts["server"].values[probing] = "0"
	x := begun(t, w, f, root, "")
	ctx, cancel := context.WithCancel(context.Background())
	x.After = func(r model.StudyRun) {
		if r.Factor == "cc" {
			cancel()
		}
	}
	if out, err := x.Run(ctx); err == nil || !out.Restored {
		t.Fatalf("restored %v: %v", out.Restored, err)
	}
	closeState(t, x)
	w.hosts["server"].values[probing] = "2"
	y := begun(t, w, f, root, x.ID)
	var changed *ChangedHostError
	if _, err := y.Run(context.Background()); !errors.As(err, &changed) || !strings.Contains(err.Error(), probing+` was "0" and is "2"`) {
		t.Fatalf("changed meanwhile: %v", err)
	}
	closeState(t, y)
	w.hosts["server"].values[probing] = "0"
	z := begun(t, w, f, root, x.ID)
	z.After = func(model.StudyRun) {
		for i := range w.hosts["server"].journal { // an undo that restores something else
			if e := &w.hosts["server"].journal[i]; e.Setting == probing {
				e.Before = "3"
			}
		}
	}
	out, err := z.Run(context.Background())
	var not *NotRestoredError
	if !errors.As(err, &not) || out.Restored || !strings.Contains(err.Error(), probing) {
		t.Errorf("restored %v: %v", out.Restored, err)
	}
}

func TestAnotherKernelHalfWay(t *testing.T) {
	w, root := newWorld(), t.TempDir()
	id, _ := dies(t, w, root, 200)
	w.killAt = 0
	w.boot(w.hosts["client"])
	w.hosts["client"].kernel = "6.2.0"
	x := begun(t, w, example(), root, id)
	had := len(x.Past.Runs())
	_, err := x.Run(context.Background())
	closeState(t, x)
	var changed *ChangedHostError
	if !errors.As(err, &changed) || had == 0 || !strings.Contains(err.Error(), "its kernel was 6.1.0 and is 6.2.0") {
		t.Fatalf("%d runs before: %v", had, err)
	}
	x = begun(t, w, example(), root, id)
	x.Anew = true
	out, err := x.Run(context.Background())
	if err != nil || !out.Restored {
		t.Fatal(err)
	}
	for i, r := range out.Runs {
		if i < had && (r.Counted || !strings.Contains(r.Why, "6.2.0")) {
			t.Errorf("%+v", r)
		}
	}
	if v := values(out.Runs); len(v["buffers"]) != 2 || len(v["baseline"]) != 6 {
		t.Errorf("%v", v)
	}
}

// hands are an operator's: they do what they are asked, at the second time of
// asking, and skip what they were told to.
type hands struct {
	w     *world
	skip  bool
	asked []string
}

func (o *hands) Do(_ context.Context, what string) (bool, error) {
	o.asked = append(o.asked, what)
	switch {
	case o.skip:
		return false, nil
	case len(o.asked) == 1:
		return true, nil // says so, and has done nothing
	case strings.Contains(what, "load the new"):
		o.w.hosts["server"].fact = "ixgbe-new"
	case strings.Contains(what, "load the old"):
		o.w.hosts["server"].fact = "ixgbe"
	}
	return true, nil
}

func withHands() model.StudyFile {
	f := example()
	f.Factors[2] = model.StudyFactor{Name: "driver", Operator: true, Levels: []model.StudyLevel{{Name: "new", Instruct: "load the new driver", Back: "load the old driver",
		Verify: &model.StudyVerify{Host: "server", Fact: "nic.driver@eth0", Is: "ixgbe-new"}}}}
	return f
}

func TestOperator(t *testing.T) {
	w := newWorld()
	x := begun(t, w, withHands(), t.TempDir(), "")
	o := &hands{w: w}
	x.Operator = o
	out, err := x.Run(context.Background())
	if err != nil || !out.Restored || w.hosts["server"].fact != "ixgbe" {
		t.Fatalf("restored %v, driver %s: %v", out.Restored, w.hosts["server"].fact, err)
	}
	if len(values(out.Runs)["driver"]) != 2 {
		t.Errorf("%v", values(out.Runs))
	}
	// Twice the same until it was so, then there and back for each block.
	if len(o.asked) < 4 || o.asked[0] != o.asked[1] || !strings.Contains(o.asked[0], `is "ixgbe" and has to be "ixgbe-new"`) {
		t.Errorf("%q", o.asked)
	}
}

func TestOperatorSkips(t *testing.T) {
	for name, o := range map[string]*hands{"skips": {skip: true}, "nobody": nil} {
		w := newWorld()
		x := begun(t, w, withHands(), t.TempDir(), "")
		if o != nil {
			x.Operator = o
		}
		out, err := x.Run(context.Background())
		if err != nil || !out.Restored {
			t.Fatalf("%s: %v", name, err)
		}
		last := out.Runs[len(out.Runs)-1]
		if last.Factor != "driver" || last.Counted || !strings.HasPrefix(last.Why, "not tried") {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

// What hands have made is theirs to take back when a study is interrupted, and
// when it is taken up again that is asked for first.
func TestInterruptedWithHandsIn(t *testing.T) {
	w, root := newWorld(), t.TempDir()
	x := begun(t, w, withHands(), root, "")
	o := &hands{w: w, asked: []string{"before"}}
	x.Operator = o
	ctx, cancel := context.WithCancel(context.Background())
	x.Say = func(what string) {
		if strings.HasSuffix(what, ": driver new") {
			cancel()
		}
	}
	out, err := x.Run(ctx)
	closeState(t, x)
	if err == nil || out.Restored || len(out.Left) != 1 || !strings.Contains(out.Left[0], "load the old driver") {
		t.Fatalf("left %q: %v", out.Left, err)
	}
	x = begun(t, w, withHands(), root, x.ID)
	x.Operator = o
	from := len(o.asked)
	out, err = x.Run(context.Background())
	if err != nil || !out.Restored || w.hosts["server"].fact != "ixgbe" {
		t.Fatalf("resumed: restored %v: %v", out.Restored, err)
	}
	if first := o.asked[from]; !strings.Contains(first, "load the old driver") {
		t.Errorf("asked first: %q", first)
	}
}

func TestDescribe(t *testing.T) {
	w := example().Workloads[0]
	for _, c := range []struct {
		r    model.StudyRun
		want string
	}{
		{model.StudyRun{Stage: "a/a", Block: 1, N: 3}, "a/a block 1: run 3 of bulk for 2s: baseline"},
		{model.StudyRun{Stage: "compare", Block: 2, N: 4, Factor: "cc", Level: "cubic"}, "compare block 2: run 4 of bulk for 2s: cc cubic"},
		{model.StudyRun{Stage: "compare", Levels: map[string]string{"a": "x", "b": "y"}}, "compare block 0: run 0 of bulk for 2s: a x, b y"},
	} {
		if got := describe(c.r, w); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A setting of a route without a target is of the route to the other end.
func TestRouteOfTheStudy(t *testing.T) {
	const quick = "linux.route.quickack"
	w, f := newWorld(), example()
	f.Factors[1].Levels[0].Set[0] = model.StudySetting{Host: "server", Setting: quick, Value: "1"}
	w.hosts["server"].values[quick+" route:192.0.2.0/24@7"] = "unset"
	out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
	if err != nil || !out.Restored || len(values(out.Runs)["cc"]) != 2 {
		t.Fatalf("restored %v, %v: %v", out.Restored, values(out.Runs), err)
	}
	if !slices.ContainsFunc(out.Reverted, func(a model.StudyAdvice) bool { return a.Setting == quick && a.Target == "route:192.0.2.0/24@7" }) {
		t.Errorf("%+v", out.Reverted)
	}
}
