package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// waits applies a plan that waits a minute for its confirmation, at fixedClock and an uptime of
// an hour, with a watcher that was killed.
func waits(t *testing.T) (*Tuner, *fakeKernel) {
	t.Helper()
	k := newKernel("fake.a")
	tn := tuner(t, k)
	tn.DeadMan = asleep{}
	tn.Uptime = func() time.Duration { return time.Hour }
	p := plan("fake.a")
	p.ConfirmWithin = time.Minute
	mustApply(t, tn, p)
	return tn, k
}

func pass(tn *Tuner, d time.Duration) {
	tn.Now = func() time.Time { return fixedClock().Add(d) }
	tn.Uptime = func() time.Duration { return time.Hour + d }
}

// Whoever comes first to a plan whose watcher was killed undoes it; a late confirmation is
// refused.
func TestOverduePlans(t *testing.T) {
	for name, come := range map[string]func(t *testing.T, tn *Tuner){
		"an agent that starts": func(t *testing.T, tn *Tuner) {
			if err := tn.UndoOverdue(context.Background()); err != nil {
				t.Error(err)
			}
		},
		"a late confirmation": func(t *testing.T, tn *Tuner) {
			if err := tn.Confirm(context.Background(), "p1"); !errors.Is(err, ErrTooLate) {
				t.Errorf("%v, want that it is too late", err)
			}
		},
		"the next plan": func(t *testing.T, tn *Tuner) {
			p := plan("fake.a")
			p.ID, p.Changes = "p2", nil
			if _, err := tn.Apply(context.Background(), p); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			tn, k := waits(t)
			pass(tn, time.Minute+time.Second)
			come(t, tn)
			k.want(t, all("old", "fake.a"))
			wantOpen(t, tn, 0)
			if _, armed, err := tn.Waiting(); armed || err != nil {
				t.Errorf("still waits: %v, %v", armed, err)
			}
		})
	}
}

// Before its time is over a plan is left alone, whatever the wall clock was set to.
func TestPlansInTimeAreLeft(t *testing.T) {
	for name, set := range map[string]func(tn *Tuner){
		"in time": func(tn *Tuner) { pass(tn, 30*time.Second) },
		"clock set ahead": func(tn *Tuner) {
			pass(tn, 30*time.Second)
			tn.Now = func() time.Time { return fixedClock().Add(24 * time.Hour) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			tn, k := waits(t)
			set(tn)
			if err := tn.UndoOverdue(context.Background()); err != nil {
				t.Error(err)
			}
			k.want(t, all("new", "fake.a"))
			if err := tn.Confirm(context.Background(), "p1"); err != nil {
				t.Error(err)
			}
			wantOpen(t, tn, 1)
		})
	}
}

// A watcher that cannot read what it watches undoes it.
func TestWatcherUndoesWhatItCannotRead(t *testing.T) {
	tn, k := waits(t)
	if err := os.WriteFile(filepath.Join(tn.Dir, waitingName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tn.Watch(context.Background(), "p1"); err != nil {
		t.Fatal(err)
	}
	k.want(t, all("old", "fake.a"))
	wantOpen(t, tn, 0)
	w, _, err := readWaiting(tn.Dir)
	if err != nil || w.Fired.IsZero() || w.Plan != "p1" {
		t.Errorf("its record: %+v, %v", w, err)
	}
	if err := tn.Confirm(context.Background(), "p1"); !errors.Is(err, ErrTooLate) || !strings.Contains(err.Error(), "nobody had confirmed") {
		t.Errorf("a confirmation after that: %v", err)
	}
}

// A host that was never changed is not touched by an agent that starts there.
func TestNothingIsOverdueWhereNothingWas(t *testing.T) {
	tn := tuner(t, newKernel("fake.a"))
	if err := tn.UndoOverdue(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(tn.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was made: %v", tn.Dir, err)
	}
}
