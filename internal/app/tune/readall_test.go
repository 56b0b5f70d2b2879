package tune

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"linerate/internal/model"
	"linerate/internal/tune/profile"
)

// lasting answers as many questions as it is told, then no more.
type lasting struct{ left int }

func (l *lasting) Name() string { return "nas1" }

func (l *lasting) ReadSetting(_ context.Context, setting, _, _ string) (string, error) {
	l.left--
	switch {
	case l.left < 0:
		return "", errEnded
	case setting == "absent":
		return "", errors.New("host nas1: open /proc/sys/absent: no such file or directory")
	}
	return "7", nil
}

func (l *lasting) Clock(context.Context) (model.Clock, error) {
	if l.left <= 0 {
		return model.Clock{}, errEnded
	}
	return model.Clock{}, nil
}

var errEnded = errors.New("host nas1: agent ended")

// A host that went away, or a command that was interrupted, leaves no plan that says of every
// setting that it could not be read.
func TestAHostThatNoLongerAnswersHasNoPlan(t *testing.T) {
	asks := []profile.Ask{{Place: profile.Place{Setting: "there"}}, {Place: profile.Place{Setting: "absent"}}, {Place: profile.Place{Setting: "last"}}}
	for left, whole := range map[int]bool{1: false, 2: false, 9: true} {
		now, err := readAll(t.Context(), &lasting{left}, asks)
		if (err == nil) != whole {
			t.Errorf("a host that answers %d times: %v, %v", left, now, err)
		}
		if err != nil {
			continue
		}
		const why = "open /proc/sys/absent: no such file or directory"
		if got := fmt.Sprint(now[asks[0]].Value, now[asks[1]].Missing, now[asks[2]].Value); got != "7"+why+"7" {
			t.Errorf("read %q", got)
		}
	}
}
