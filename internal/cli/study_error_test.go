package cli

import (
	"errors"
	"testing"

	"linerate/internal/app/study"
	"linerate/internal/failure"
)

// However a study ends before its end, the message says how to go on with it.
func TestStudyErrorSaysWhatNext(t *testing.T) {
	cause := errors.New("reach nas1: no answer")
	stopped := study.StoppedError{ID: "x1", Runs: 3, Err: cause}
	changed, unkept := stopped, stopped
	changed.Changed = true
	unkept.Unkept = true
	for _, c := range []struct {
		err  error
		kind failure.Kind
		want string
	}{
		{&stopped, failure.Failed, "reach nas1: no answer; everything was put back; 3 runs on record: linerate study resume x1 goes on"},
		{&stopped, failure.NotRestored, "reach nas1: no answer; 3 runs on record: linerate study resume x1 goes on"},
		{&stopped, failure.Interrupted, "interrupted; everything was put back; 3 runs on record: linerate study resume x1 goes on"},
		{&changed, failure.Failed, "reach nas1: no answer: runs of before and after cannot be compared: make it again what it was, or linerate study resume x1 --anew begins again; everything was put back"},
		{&unkept, failure.Failed, "keep the results: reach nas1: no answer; the runs are kept, and linerate study resume x1 tries again"},
		{&study.OverError{ID: "x1", Bundle: "b1"}, failure.Nothing, "study x1 is over: linerate study show b1 shows what it found"},
		{&study.OtherFileError{ID: "x1", Dir: "/d"}, failure.Usage, "study x1 was begun by another file: its copy is /d/study.yaml; linerate study resume x1 goes on by that"},
		{&study.NotAStudyError{ID: "b1", Command: "demo"}, failure.Usage, "b1 is no study but demo: linerate report b1 shows it"},
		{cause, failure.Failed, "reach nas1: no answer"},
	} {
		err := studyError(failure.As(c.kind, c.err))
		if err.Error() != c.want || failure.KindOf(err) != c.kind {
			t.Errorf("%T of kind %d: kind %d, %q, want %q", c.err, c.kind, failure.KindOf(err), err, c.want)
		}
	}
}
