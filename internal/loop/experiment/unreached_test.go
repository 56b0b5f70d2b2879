package experiment

import (
	"context"
	"errors"
	"strings"
	"testing"
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
	if !errors.Is(err, unreachable) || !errors.As(err, &not) || out.Restored || !strings.Contains(err.Error(), x.Hosts[0].Name+" was not reached") {
		t.Errorf("restored %t: %v", out.Restored, err)
	}
	if len(out.Runs) == 0 || len(out.Reverted) == 0 {
		t.Errorf("%d runs and %d changes, want those on record", len(out.Runs), len(out.Reverted))
	}
}
