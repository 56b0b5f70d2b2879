package tune

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/tune"
)

// fullDisk is a host whose journal could not be written on: its entry stays open.
type fullDisk struct {
	changeable
	open tune.Entry
	now  string
	err  error
}

func (f fullDisk) OpenJournal(context.Context) ([]tune.Entry, error) {
	return []tune.Entry{f.open}, nil
}

func (f fullDisk) ReadSetting(context.Context, string, string, string) (string, error) {
	return f.now, f.err
}

// A journal that fills after the entry and before the write has an open entry of a change that
// was never made: the user is told what is true.
func TestAfterFailureSaysWhatIsTrue(t *testing.T) {
	cause := errors.New("no space left on device")
	for _, tt := range []struct {
		name  string
		state tune.State
		now   string
		err   error
		kind  failure.Kind
		says  string
	}{
		{"never written", tune.Intended, "old", nil, failure.Failed, "nothing is changed: s is as it was before"},
		{"written, not recorded", tune.Intended, "new", nil, failure.NotRestored, `still changed: s (was "old")`},
		{"cannot be read", tune.Intended, "", cause, failure.NotRestored, "still changed"},
		{"applied", tune.Applied, "old", nil, failure.NotRestored, "still changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			agent := fullDisk{open: tune.Entry{Seq: 1, Plan: "p", Setting: "s", Before: "old", Wanted: "new", State: tt.state}, now: tt.now, err: tt.err}
			err := afterFailure(t.Context(), end{"a", agent}, "p", cause)
			if failure.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), cause.Error()) {
				t.Errorf("%v, kind %v; want %v with %q", err, failure.KindOf(err), tt.kind, tt.says)
			}
		})
	}
}

// An undo that left alone what somebody else had changed does not tell to undo again, which would
// leave it alone again.
func TestAfterConflictUndoIsNotTheWay(t *testing.T) {
	for state, want := range map[tune.State]int{tune.Conflict: 0, tune.Applied: 1} {
		agent := fullDisk{open: tune.Entry{Seq: 1, Setting: "s", Before: "old", Wanted: "new", State: state}, now: "theirs"}
		err := afterFailure(t.Context(), end{"a", agent}, "", errors.New("left alone"))
		if got := len(failure.Steps(err)); got != want || failure.KindOf(err) != failure.NotRestored {
			t.Errorf("%s: %d steps, want %d: %v", state, got, want, err)
		}
	}
}

// shut is a host whose journal cannot be read.
type shut struct {
	changeable
	err error
}

func (s shut) OpenJournal(context.Context) ([]tune.Entry, error) { return nil, s.err }

// Where the state directory is unsafe neither the change nor the journal is to be had: the
// reason is said once, and a second reason is not hidden by the first.
func TestAfterFailureSaysEachReasonOnce(t *testing.T) {
	const unsafe = "use state directory /var/lib/linerate: not safe to use: others may write to it: chmod 700 it, or name another"
	cause := errors.New("apply the plan: host a: " + unsafe)
	for _, tt := range []struct {
		name, journal string
		says          []string
	}{
		{"same reason", "host a: read journal: " + unsafe, []string{"apply the plan: ", "cannot be told, for the same reason (host a: read journal)"}},
		{"same text", cause.Error(), []string{"apply the plan: "}},
		{"another reason", "host a: read journal: the connection ended", []string{"apply the plan: ", "cannot be told: host a: read journal: the connection ended"}},
		{"in one word", "gone", []string{"cannot be told: gone"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := afterFailure(t.Context(), end{"a", shut{err: errors.New(tt.journal)}}, "p", cause)
			if failure.KindOf(err) != failure.NotRestored || !errors.Is(err, cause) || strings.Count(err.Error(), unsafe) != 1 {
				t.Errorf("%v, kind %v", err, failure.KindOf(err))
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: want %q in it", err, part)
				}
			}
		})
	}
}

// nobody is a way to hosts whose agents end at once.
func nobody() app.Env {
	return app.Env{Self: []string{"false"}, Getenv: func(string) string { return "" }, Now: time.Now}
}

// Who asked for an undo and did not get it must not read that all is undone.
func TestUndoThatReachesNobodySaysSo(t *testing.T) {
	_, err := Undo(t.Context(), nobody(), host.Name{Host: "localhost"}, UndoRequest{}, nil)
	if failure.KindOf(err) != failure.NotRestored || !strings.Contains(err.Error(), "nothing was undone on localhost") {
		t.Errorf("%v, kind %v", err, failure.KindOf(err))
	}
}

func TestConfirmationThatReachesNobodySaysSo(t *testing.T) {
	_, err := Confirm(t.Context(), nobody(), host.Name{Host: "localhost"}, false, false, nil)
	if failure.KindOf(err) != failure.Failed || !strings.Contains(err.Error(), "nothing was confirmed on localhost") {
		t.Errorf("%v, kind %v", err, failure.KindOf(err))
	}
}

func TestInterruptedConfirmationSaysThatItDidNotCome(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err := Confirm(ctx, nobody(), host.Name{Host: "localhost"}, false, false, nil)
	if failure.KindOf(err) != failure.Interrupted || !strings.Contains(err.Error(), "nothing was confirmed on localhost") {
		t.Errorf("%v, kind %v", err, failure.KindOf(err))
	}
}

// carriedOut is a host that makes a change although its caller is interrupted meanwhile.
type carriedOut struct {
	changeable
	interrupt func()
	made      []string
}

func (c *carriedOut) Apply(_ context.Context, p model.Plan) (tune.Result, error) {
	c.interrupt()
	c.made = append(c.made, p.ID)
	return tune.Result{Plan: p.ID}, nil
}

func (c *carriedOut) Undo(_ context.Context, plan string) (tune.Result, error) {
	c.made = slices.DeleteFunc(c.made, func(p string) bool { return p == plan })
	return tune.Result{Plan: plan}, nil
}

func (c *carriedOut) OpenJournal(context.Context) (open []tune.Entry, err error) {
	for _, p := range c.made {
		open = append(open, tune.Entry{Plan: p, Setting: "s", State: tune.Applied})
	}
	return open, nil
}

func TestAnInterruptedPlanIsUndone(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	h := &carriedOut{interrupt: interrupt}
	d := &drafted{plans: []hostPlan{{end: end{"a", h}, Plan: model.Plan{ID: "p"}}}}
	_, err := d.apply(ctx)
	if !errors.Is(err, context.Canceled) || failure.KindOf(err) != failure.Failed || len(h.made) > 0 {
		t.Errorf("%v, kind %v; still made: %v", err, failure.KindOf(err), h.made)
	}
}

// slowHost is a host whose answer came late: its plan may be undone by then.
type slowHost struct {
	changeable
	waiting tune.Pending
	waits   bool
	open    []tune.Entry
	err     error
}

func (h slowHost) Waiting(context.Context) (tune.Pending, bool, error) {
	return h.waiting, h.waits, h.err
}

func (h slowHost) OpenJournal(context.Context) ([]tune.Entry, error) { return h.open, nil }

// What the host has undone by itself while its answer was on the way is not told as in force.
func TestWhatIsUndoneMeanwhileIsNotToldAsInForce(t *testing.T) {
	both := []tune.Entry{{Plan: "p", Setting: "s", State: tune.Applied}, {Plan: "p", Setting: "t", State: tune.Applied}}
	waiting := tune.Pending{Waiting: tune.Waiting{Plan: "p"}}
	over := tune.Pending{Waiting: tune.Waiting{Plan: "p"}, Overdue: true}
	mtu := []madePlan{{id: "mtu"}}
	for _, tt := range []struct {
		name string
		host slowHost
		more []madePlan
		kind failure.Kind
		says string // of the error, else of the notes
	}{
		{"waits", slowHost{waiting: waiting, waits: true, open: both}, nil, -1, ""},
		{"undone", slowHost{}, nil, failure.Failed, "the host undid it, and nothing is changed"},
		{"undone after the MTU", slowHost{}, mtu, failure.NotRestored, "the larger MTU, confirmed before, stays"},
		{"another waits", slowHost{waiting: tune.Pending{Waiting: tune.Waiting{Plan: "q"}}, waits: true}, nil, failure.Failed, "the host undid it"},
		{"at it", slowHost{waiting: over, waits: true, open: both}, nil, failure.NotRestored, "the host undoes it now"},
		{"half", slowHost{open: both[1:]}, nil, failure.NotRestored, "still changed: t"},
		{"confirmed by another", slowHost{open: both}, nil, -1, "somebody has confirmed it"},
		{"does not tell", slowHost{err: errors.New("gone")}, nil, -1, "could not be asked: gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &application{deadline: time.Now(), made: append(tt.more, madePlan{end: end{"a", tt.host}, id: "p", waits: true, changes: 2})}
			notes, err := a.stillWaits(t.Context())
			if tt.kind < 0 && (err != nil || !strings.Contains(strings.Join(notes, "\n"), tt.says)) {
				t.Errorf("%v, %q; want %q", err, notes, tt.says)
			}
			if tt.kind >= 0 && (err == nil || failure.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%v, kind %v; want %v with %q", err, failure.KindOf(err), tt.kind, tt.says)
			}
			if confirmed := tt.name == "confirmed by another"; a.deadline.IsZero() != confirmed {
				t.Errorf("deadline %v", a.deadline)
			}
		})
	}
}
