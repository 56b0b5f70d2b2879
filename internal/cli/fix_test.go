package cli

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/fix"
	"linerate/internal/app/tune"
	"linerate/internal/failure"
	"linerate/internal/model"
)

// Errors of a fix keep their kind and say what to type next.
func TestFixErrors(t *testing.T) {
	kept := &fix.KeptError{Hosts: []string{"a", "nas1"}, Err: io.EOF}
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{io.EOF, ExitFailed, "EOF"},
		{kept, ExitFailed, "EOF; what had earned its place before is kept: linerate tune undo a and nas1 puts it back"},
		{failure.As(failure.Interrupted, kept), ExitInterrupted, "EOF; what had earned its place before is kept: linerate tune undo a and nas1 puts it back"},
		{failure.As(failure.NotRestored, fmt.Errorf("fix: %w", kept)), ExitNotRestored, "EOF; what had earned its place before is kept: linerate tune undo a and nas1 puts it back"},
		{failure.As(failure.Usage, &fix.NotMountedError{Client: "a", Export: "nas1:/e"}), ExitUsage, "fix a nas1:/e: a has not mounted it: mount it, or name the two hosts alone to fix the network between them"},
	} {
		got := wordFix(c.err, []string{"a", "nas1:/e"})
		if got.Error() != c.want || codeOf(failure.KindOf(got)) != c.code {
			t.Errorf("%q with exit code %d, want %q with %d", got, codeOf(failure.KindOf(got)), c.want, c.code)
		}
		if errors.Is(c.err, io.EOF) != errors.Is(got, io.EOF) {
			t.Errorf("%q: the cause is lost", got)
		}
	}
}

// A fix whose record cannot be kept has changed what it has changed.
func TestFixThatIsNotRecordedSaysWhatItKept(t *testing.T) {
	rec := &app.Record{}
	if err := keptAs(io.EOF, rec, nil); err != io.EOF {
		t.Errorf("nothing was kept: %v", err)
	}
	rec.Results.Steps = []model.FixStep{{Host: "a"}, {Host: "nas1", Kept: true}, {Host: "nas1", Kept: true}}
	err := keptAs(io.EOF, rec, nil)
	if err == nil || err.Error() != "EOF; what had earned its place before is kept: linerate tune undo nas1 puts it back" || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if err := keptAs(nil, rec, nil); err != nil {
		t.Error(err)
	}
}

// What was done and could not be printed was done: the exit code is not that of something undone.
func TestWhatCannotBePrintedWasDone(t *testing.T) {
	for _, c := range []struct {
		doc  any
		kind failure.Kind
		want string
	}{
		{planDocument{undo: "linerate tune undo a"}, failure.NotRestored, "EOF; it is applied all the same: undo with linerate tune undo a"},
		{planDocument{Proposal: tune.Proposal{Deadline: &time.Time{}}, confirm: "linerate tune confirm a", undo: "linerate tune undo a"}, failure.NotRestored,
			"EOF; it is applied all the same: confirm with linerate tune confirm a, else the host undoes it; undo with linerate tune undo a"},
		{tune.Confirmation{Plan: "p"}, failure.NotRestored, "EOF; p is confirmed all the same"},
		{tune.Confirmation{Plan: "p", DryRun: true}, failure.Failed, "EOF"},
		{tune.Restored{Changes: []tune.Entry{{}}}, failure.Failed, "EOF; the changes were undone all the same (1)"},
		{tune.History{}, failure.Failed, "EOF"},
	} {
		if err := unsaid(c.doc, io.EOF); err.Error() != c.want || failure.KindOf(err) != c.kind || !errors.Is(err, io.EOF) {
			t.Errorf("%+v: %v, kind %v", c.doc, err, failure.KindOf(err))
		}
		if err := unsaid(c.doc, nil); err != nil {
			t.Error(err)
		}
	}
}
