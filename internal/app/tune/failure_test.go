package tune

import (
	"context"
	"errors"
	"strings"
	"testing"

	"linerate/internal/failure"
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
			err := afterFailure(t.Context(), agent, "p", cause)
			if failure.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), cause.Error()) {
				t.Errorf("%v, kind %v; want %v with %q", err, failure.KindOf(err), tt.kind, tt.says)
			}
		})
	}
}
