package experiment

import (
	"context"
	"errors"
	"strings"
	"testing"

	"linerate/internal/store"
)

// A killed study that is taken up again while a host cannot be reached does not say that everything
// was put back: what it changed there may be in force.
func TestResumedWithoutAHost(t *testing.T) {
	w, root := newWorld(), t.TempDir()
	id, died := dies(t, w, root, 200)
	if !died {
		t.Fatal("the study ended before it was killed")
	}
	w.killAt = 0
	x := begun(t, w, example(), root, id)
	defer closeState(t, x)
	unreachable := errors.New("no route to host")
	x.Hosts[0].Dial = func(context.Context) (Agent, error) { return nil, unreachable }
	out, err := x.Run(context.Background())
	var not *NotRestoredError
	if !errors.Is(err, unreachable) || !errors.As(err, &not) || out.Restored || !strings.Contains(err.Error(), x.Hosts[0].Name+" was not reached: whether") {
		t.Errorf("restored %t: %v", out.Restored, err)
	}
	if len(out.Runs) == 0 || len(out.Reverted) == 0 {
		t.Errorf("%d runs and %d changes, want those on record", len(out.Runs), len(out.Reverted))
	}
}

// What is said of a host that was not reached goes by how the study was stopped before, and by
// whether it was tried at all.
func TestWhatIsKnownOfAHostThatWasNotReached(t *testing.T) {
	plan, stop := store.StudyEntry{Kind: store.StudyPlanned, Host: "nas"}, store.StudyEntry{Kind: store.StudyStopped}
	back := stop
	back.Restored = true
	for name, c := range map[string]struct {
		entries []store.StudyEntry
		tried   bool
		want    string
	}{
		"never changed": {[]store.StudyEntry{{Kind: store.StudyPlanned, Host: "other"}}, true, ""},
		"put back":      {[]store.StudyEntry{plan, back}, true, ""},
		"not put back":  {[]store.StudyEntry{plan, stop}, true, "nas was not reached: what the study changed there may be in force"},
		"not tried":     {[]store.StudyEntry{plan, stop}, false, "nas was not tried: what"},
		"not on record": {[]store.StudyEntry{plan, {Kind: store.StudyResumed}}, true, "nas was not reached: whether what the study changed there is in force is not known"},
		"changed after": {[]store.StudyEntry{plan, back, plan}, false, "nas was not tried: whether"},
	} {
		x := &Experiment{Past: &store.StudyPast{Entries: c.entries}}
		if got := x.mayBeChanged(&Host{Name: "nas", tried: c.tried}); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
