package tune

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/tune/setter"
)

var (
	errRefused = errors.New("operation not permitted")
	errGone    = errors.New("no such device")
)

// fakeKernel lies like kernels do, by setting id.
type fakeKernel struct {
	values map[string]string
	lies   map[string]func(k *fakeKernel, id, value string) error // instead of storing
	gone   map[string]bool
	writes int
}

func newKernel(ids ...string) *fakeKernel {
	k := &fakeKernel{values: map[string]string{}, lies: map[string]func(*fakeKernel, string, string) error{}, gone: map[string]bool{}}
	for _, id := range ids {
		k.values[id] = "old"
	}
	return k
}

func (k *fakeKernel) Owns(id string) bool { return strings.HasPrefix(id, "fake.") }

func (k *fakeKernel) Canonical(_ setter.Place, v string) (string, error) {
	if v = strings.TrimSpace(v); v == "" {
		return "", setter.ErrValue
	}
	return v, nil
}

func (k *fakeKernel) Read(_ context.Context, at setter.Place, _ string) (string, error) {
	v, ok := k.values[at.Setting]
	if !ok || k.gone[at.Setting] {
		return "", fmt.Errorf("read %s: %w", at, errGone)
	}
	return v, nil
}

func (k *fakeKernel) Write(_ context.Context, at setter.Place, v string) error {
	k.writes++
	if lie := k.lies[at.Setting]; lie != nil {
		return lie(k, at.Setting, v)
	}
	k.values[at.Setting] = v
	return nil
}

func (k *fakeKernel) Shell(setter.Place, string) (setter.Shell, error) {
	return setter.Shell{Read: "echo old", Write: "true"}, nil
}

// The lies.
func clamp(k *fakeKernel, id, v string) error {
	if v != "old" {
		v = "clamped"
	}
	k.values[id] = v
	return nil
}
func ignore(*fakeKernel, string, string) error { return nil }
func refuse(*fakeKernel, string, string) error { return errRefused }
func refuseHalfWay(k *fakeKernel, id, v string) error {
	if v == "old" {
		k.values[id] = v
		return nil
	}
	k.values[id] = "half"
	return errRefused
}
func vanish(k *fakeKernel, id, _ string) error { k.gone[id] = true; return nil }

const boot = "5f0c9f1e-0000-4000-8000-000000000001"

func fixedClock() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func tuner(t *testing.T, k setter.Setter) *Tuner {
	t.Helper()
	return &Tuner{Dir: t.TempDir() + "/state", BootID: boot, By: "test", Setters: []setter.Setter{k}, Now: fixedClock}
}

// plan changes every id from old to new.
func plan(ids ...string) model.Plan {
	p := model.Plan{V: model.PlanVersion, ID: "p1", BootID: boot}
	for _, id := range ids {
		p.Changes = append(p.Changes, model.Change{Setting: id, From: "old", To: "new"})
	}
	return p
}

func mustApply(t *testing.T, tn *Tuner, p model.Plan) Result {
	t.Helper()
	res, err := tn.Apply(context.Background(), p)
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	return res
}

func mustUndo(t *testing.T, tn *Tuner, id string) Result {
	t.Helper()
	res, err := tn.Undo(context.Background(), id)
	if err != nil {
		t.Fatalf("undo: %v", err)
	}
	return res
}

func wantOpen(t *testing.T, tn *Tuner, n int) {
	t.Helper()
	open, err := tn.Open()
	if err != nil || len(open) != n {
		t.Errorf("open: %+v, %v, want %d", open, err, n)
	}
}

func (k *fakeKernel) want(t *testing.T, want map[string]string) {
	t.Helper()
	if !maps.Equal(k.values, want) {
		t.Errorf("in force: %v, want %v", k.values, want)
	}
}

func all(v string, ids ...string) map[string]string {
	m := map[string]string{}
	for _, id := range ids {
		m[id] = v
	}
	return m
}
