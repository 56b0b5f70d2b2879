package experiment

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

// fakeLab has a driver that it can put in. It dies with its world's controller, and
// what it made stays.
type fakeLab struct {
	w    *world
	made map[string][]string
	fail bool // it cannot make anything
	deaf bool // what it makes does not show
}

func (l *fakeLab) Make(_ context.Context, name string, words []string) error {
	if err := l.w.step(nil); err != nil {
		return err
	}
	if l.fail {
		return errors.New("no such fault")
	}
	l.made[name] = words
	if !l.deaf {
		l.w.hosts["server"].fact = "ixgbe-new"
	}
	return nil
}

func (l *fakeLab) Made(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(l.made)), l.w.step(nil)
}

func (l *fakeLab) TakeBack(_ context.Context, name string) error {
	if err := l.w.step(nil); err != nil {
		return err
	}
	delete(l.made, name)
	l.w.hosts["server"].fact = "ixgbe"
	return nil
}

// inLab is a study with an operator's factor that the lab makes.
func inLab() model.StudyFile {
	f := withHands()
	f.Factors[2].Levels[0].Lab = []string{"host:server", "driver=new"}
	return f
}

// The lab makes what hands make elsewhere, there and back, and nobody is asked.
func TestLabAsOperator(t *testing.T) {
	for _, verify := range []bool{true, false} {
		w, f := newWorld(), inLab()
		if !verify {
			f.Factors[2].Levels[0].Verify = nil
		}
		x := begun(t, w, f, t.TempDir(), "")
		l := &fakeLab{w: w, made: map[string][]string{"somebody": {"link:a-b", "loss=1%"}}}
		x.Lab = l
		out, err := x.Run(context.Background())
		if err != nil || !out.Restored || w.hosts["server"].fact != "ixgbe" || len(l.made) != 1 || l.made["somebody"] == nil {
			t.Fatalf("restored %v, driver %s, in the lab %v: %v", out.Restored, w.hosts["server"].fact, l.made, err)
		}
		if n := len(values(out.Runs)["driver"]); n != 2 {
			t.Errorf("%d runs count", n)
		}
	}
}

// A lab that cannot make a level, or whose work does not show, is a treatment that
// is not in force, and the study goes on without it.
func TestLabThatCannot(t *testing.T) {
	for want, spoil := range map[string]func(*fakeLab){
		"no such fault": func(l *fakeLab) { l.fail = true }, `reads "ixgbe" and not "ixgbe-new"`: func(l *fakeLab) { l.deaf = true },
	} {
		w := newWorld()
		x := begun(t, w, inLab(), t.TempDir(), "")
		l := &fakeLab{w: w, made: map[string][]string{}}
		spoil(l)
		x.Lab = l
		out, err := x.Run(context.Background())
		if err != nil || !out.Restored || len(l.made) != 0 {
			t.Fatalf("restored %v, in the lab %v: %v", out.Restored, l.made, err)
		}
		said := false
		for _, r := range out.Runs {
			if r.Factor == "driver" {
				said = said || strings.Contains(r.Why, want)
				if r.Counted || r.Effective == nil || *r.Effective {
					t.Errorf("%+v", r)
				}
			}
		}
		if !said {
			t.Errorf("%q is not said", want)
		}
	}
}

// Wherever the controller is killed, what the lab made is taken back when the study
// is taken up again, before anything is compared or measured.
func TestKilledAnywhereWithLab(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		w, root := newWorld(), labtest.MemoryDir(t)
		before := w.state()
		l := &fakeLab{w: w, made: map[string][]string{}}
		w.killAt = w.calls + at
		x := begun(t, w, inLab(), root, "")
		x.Lab = l
		_, err := x.Run(context.Background())
		closeState(t, x)
		if err == nil {
			return
		}
		w.killAt = 0
		w.deadMen()
		again := begun(t, w, inLab(), root, x.ID)
		again.Lab = l
		out, err := again.Run(context.Background())
		closeState(t, again)
		if err != nil || !out.Restored || len(l.made) != 0 || w.hosts["server"].fact != "ixgbe" {
			t.Fatalf("killed at %d: restored %v, in the lab %v: %v", at, out.Restored, l.made, err)
		}
		if n := len(values(out.Runs)["driver"]); n != 2 {
			t.Fatalf("killed at %d: %d runs with the level count", at, n)
		}
		for name, now := range w.state() {
			if !maps.Equal(now, before[name]) {
				t.Fatalf("killed at %d: %s is %v, was %v", at, name, now, before[name])
			}
		}
	}
}
