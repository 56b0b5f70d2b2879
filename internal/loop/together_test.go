package loop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/tune"
)

// mtuHost writes down what is asked of it; the fail-th call fails.
type mtuHost struct {
	name string
	log  *[]string
	fail string
}

func (h mtuHost) call(what string) error {
	*h.log = append(*h.log, h.name+" "+what)
	if h.fail == what {
		return fmt.Errorf("%s: %w", what, errFake)
	}
	return nil
}

func (h mtuHost) Apply(context.Context, model.Plan) (tune.Result, error) {
	return tune.Result{}, h.call("apply")
}
func (h mtuHost) Confirm(context.Context, string) error { return h.call("confirm") }
func (h mtuHost) Undo(ctx context.Context, _ string) (tune.Result, error) {
	if ctx.Err() != nil {
		return tune.Result{}, ctx.Err()
	}
	return tune.Result{}, h.call("undo")
}
func (h mtuHost) ProbePath(_ context.Context, _ netip.Addr, size int) error {
	return h.call(fmt.Sprint("probe ", size))
}

func TestApplyTogether(t *testing.T) {
	all := []string{"a apply", "b apply", "a probe 9000", "b probe 9000", "a confirm", "b confirm"}
	for i := -1; i < len(all); i++ {
		var log []string
		a, b := mtuHost{name: "a", log: &log}, mtuHost{name: "b", log: &log}
		want := all
		if i >= 0 {
			who, what, _ := strings.Cut(all[i], " ")
			if who == "a" {
				a.fail = what
			} else {
				b.fail = what
			}
			want = append(slices.Clone(all[:i+1]), "b undo", "a undo")
		}
		p := model.Plan{ID: "mtu", ConfirmWithin: model.DefaultConfirm}
		err := ApplyTogether(t.Context(), Together{Name: "a", Host: a, Plan: p}, Together{Name: "b", Host: b, Plan: p}, 9000)
		if (err != nil) != (i >= 0) || i >= 0 && !errors.Is(err, errFake) {
			t.Errorf("failure at %d: %v", i, err)
		}
		if !slices.Equal(log, want) {
			t.Errorf("failure at %d:\n got %q\nwant %q", i, log, want)
		}
	}
}

func TestApplyTogetherNeedsDeadMen(t *testing.T) {
	var log []string
	safe, bare := model.Plan{ID: "mtu", Changes: []model.Change{{Cuts: true}}}, model.Plan{ID: "mtu", ConfirmWithin: model.NoConfirm}
	h := mtuHost{name: "a", log: &log}
	if err := ApplyTogether(t.Context(), Together{Name: "a", Host: h, Plan: safe}, Together{Name: "b", Host: h, Plan: bare}, 9000); err == nil || len(log) > 0 {
		t.Errorf("%v, %q", err, log)
	}
	h.fail = "undo"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := mtuHost{name: "a", log: &log, fail: "apply"}
	err := ApplyTogether(ctx, Together{Name: "a", Host: a, Plan: safe}, Together{Name: "b", Host: h, Plan: safe}, 9000)
	if err == nil || !strings.Contains(err.Error(), "undo it on b, which undoes it by itself within 1m0s") || !slices.Equal(log, []string{"a apply", "a undo", "a undo"}) {
		t.Errorf("%v, %q", err, log)
	}
}
