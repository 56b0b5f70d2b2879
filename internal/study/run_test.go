package study

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/unit"
)

// path is a fake path with a treatment that doubles it. Its log shows what
// happened in which order.
type path struct {
	treated  bool
	log      []string
	applyErr error
	undoErr  error
	undoCtx  error
	during   func(label string) error
}

func (p *path) Apply(context.Context) error {
	p.treated = true // also when it fails: half a change is a change
	p.log = append(p.log, "apply")
	return p.applyErr
}

func (p *path) Undo(ctx context.Context) error {
	p.treated = false
	p.undoCtx = ctx.Err()
	p.log = append(p.log, "undo")
	return p.undoErr
}

func (p *path) measure(_ context.Context, label string) (unit.BitRate, error) {
	p.log = append(p.log, label)
	if p.during != nil {
		if err := p.during(label); err != nil {
			return 0, err
		}
	}
	if p.treated {
		return 2 * unit.Gbit, nil
	}
	return unit.Gbit, nil
}

func options(pairs, aa int) Options {
	return Options{Pairs: pairs, AAPairs: aa, Seed: 3, Undo: time.Minute}
}

func TestRunPairsOrder(t *testing.T) {
	p := &path{}
	var progress []string
	o := options(2, 1)
	o.Progress = func(done, total int, label string) {
		progress = append(progress, fmt.Sprintf("%d/%d %s", done, total, label))
	}
	s, err := RunPairs(context.Background(), o, p, p.measure)
	if err != nil {
		t.Fatal(err)
	}
	want := Series{Pairs: []Pair{{1e9, 2e9}, {1e9, 2e9}}, AA: []Pair{{1e9, 1e9}}}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	// Balanced: one of the two pairs is treated first.
	forward := "A/A 1a,A/A 1b,apply,pair 1 treated,undo,pair 1 baseline,pair 2 baseline,apply,pair 2 treated,undo"
	reverse := "A/A 1a,A/A 1b,pair 1 baseline,apply,pair 1 treated,undo,apply,pair 2 treated,undo,pair 2 baseline"
	if got := strings.Join(p.log, ","); got != forward && got != reverse {
		t.Errorf("order: %s", got)
	}
	if progress[0] != "0/6 A/A 1a" || progress[len(progress)-1] != "6/6 " || len(progress) != 7 {
		t.Errorf("progress: %q", progress)
	}
}

func TestScheduleIsBalancedAndRandom(t *testing.T) {
	for n := range 10 {
		orders := map[string]bool{}
		for seed := range uint64(200) {
			s := Schedule(n, rand.New(rand.NewPCG(seed, 0)))
			first := 0
			for _, f := range s {
				if f {
					first++
				}
			}
			if len(s) != n || first < n/2 || first > (n+1)/2 {
				t.Fatalf("n %d seed %d: %v is not balanced", n, seed, s)
			}
			orders[fmt.Sprint(s)] = true
		}
		if n == 8 && len(orders) < 60 { // of 70
			t.Errorf("only %d different orders of 8 pairs in 200 draws", len(orders))
		}
	}
	a, b := Schedule(8, rand.New(rand.NewPCG(5, 0))), Schedule(8, rand.New(rand.NewPCG(5, 0)))
	if !cmp.Equal(a, b) {
		t.Error("the same seed gives two orders")
	}
}

func TestRunPairsAlwaysUndoes(t *testing.T) {
	broken := errors.New("broken")
	stuck := errors.New("stuck")
	for _, c := range []struct {
		name string
		path *path
		want []error
	}{
		{"apply fails", &path{applyErr: broken}, []error{broken}},
		{"apply and undo fail", &path{applyErr: broken, undoErr: stuck}, []error{broken, stuck}},
		{"undo fails", &path{undoErr: stuck}, []error{stuck}},
		{"treated run fails", &path{during: failAt("pair 2 treated", broken)}, []error{broken}},
		{"treated run and undo fail", &path{during: failAt("pair 1 treated", broken), undoErr: stuck}, []error{broken, stuck}},
		{"baseline run fails", &path{during: failAt("pair 2 baseline", broken)}, []error{broken}},
		{"A/A run fails", &path{during: failAt("A/A 1b", broken)}, []error{broken}},
	} {
		s, err := RunPairs(context.Background(), options(3, 1), c.path, c.path.measure)
		for _, want := range c.want {
			if !errors.Is(err, want) {
				t.Errorf("%s: error %v does not hold %v", c.name, err, want)
			}
		}
		if s.Pairs != nil || s.AA != nil {
			t.Errorf("%s: half a study was returned", c.name)
		}
		checkUndone(t, c.name, c.path)
	}
}

func failAt(label string, err error) func(string) error {
	return func(l string) error {
		if l == label {
			return err
		}
		return nil
	}
}

func checkUndone(t *testing.T, name string, p *path) {
	t.Helper()
	open := false
	for _, l := range p.log {
		switch {
		case l == "apply" && open, l == "undo" && !open:
			t.Errorf("%s: %v", name, p.log)
		case l == "apply" || l == "undo":
			open = l == "apply"
		}
	}
	if p.treated || open {
		t.Errorf("%s: left treated: %v", name, p.log)
	}
}

func TestRunPairsUndoesAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &path{}
	p.during = func(label string) error {
		if strings.HasSuffix(label, "treated") {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	_, err := RunPairs(ctx, options(8, 0), p, p.measure)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if p.undoCtx != nil {
		t.Errorf("undo got a context that is over: %v", p.undoCtx)
	}
	checkUndone(t, "cancel", p)
}

func TestRunPairsUndoesAfterPanic(t *testing.T) {
	p := &path{during: func(label string) error {
		if strings.HasSuffix(label, "treated") {
			panic("a bug in a measurement")
		}
		return nil
	}}
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
		checkUndone(t, "panic", p)
	}()
	_, err := RunPairs(context.Background(), options(2, 0), p, p.measure)
	t.Errorf("no panic, error %v", err)
}

func TestRunPairsStopsBeforeApplyWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := &path{}
	if _, err := RunPairs(ctx, options(2, 0), p, p.measure); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	if len(p.log) != 0 {
		t.Errorf("did %v after cancel", p.log)
	}
}

func TestRunPairsRefusesBadDesigns(t *testing.T) {
	for _, o := range []Options{
		{Pairs: 0, Undo: 1}, {Pairs: MaxPairs + 1, Undo: 1}, {Pairs: 8, AAPairs: -1, Undo: 1},
		{Pairs: 8, AAPairs: MaxPairs + 1, Undo: 1}, {Pairs: 8},
	} {
		p := &path{}
		if _, err := RunPairs(context.Background(), o, p, p.measure); err == nil || len(p.log) > 0 {
			t.Errorf("%+v: error %v, did %v", o, err, p.log)
		}
	}
}
