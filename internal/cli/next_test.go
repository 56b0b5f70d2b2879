package cli

import (
	"errors"
	"strings"
	"testing"

	"linerate/internal/failure"
)

// Every step has words, and as many values as they name.
func TestEveryStepHasWords(t *testing.T) {
	of := map[failure.Next][]any{
		failure.SeeHistory: {"nas1"}, failure.SeeHistoryLater: {"nas1"}, failure.PutBack: {"nas1"}, failure.PutBackOne: {"nas1"}, failure.SeeAndPutBack: {"nas1"},
		failure.CloseJournal: {"nas1"}, failure.ReadScript: {"nas1"}, failure.ResumeOrUndo: {"role=dtn", "p1"}, failure.UndoWaves: {"role=dtn", "p1"},
		failure.NameMount: {"/mnt/nas"}, failure.MapPath: {"/fs1"}, failure.SayTargets: {2}, failure.SayWhichSite: {"london"},
	}
	for n := failure.SeeHistory; n <= failure.ForgetPlace; n++ {
		said := withSteps(failure.Advise(errors.New("x"), n, of[n]...))
		if len(said) < len("x; see linerate") || strings.Contains(said, "%!") {
			t.Errorf("step %d: %s", n, said)
		}
	}
	here := failure.Advise(errors.New("x"), failure.PutBack, "localhost")
	if said := withSteps(errors.Join(here, here)); said != "x\nx; linerate tune undo puts them back" {
		t.Error(said)
	}
	for _, c := range []struct {
		next failure.Next
		of   string
		want string
	}{{failure.PutBack, "localhost2", "linerate tune undo localhost2 puts"}, {failure.NameMount, "localhost:2049", "--attach localhost:2049 looks"}} {
		if said := withSteps(failure.Advise(errors.New("x"), c.next, c.of)); !strings.Contains(said, c.want) {
			t.Errorf("%s: %s", c.of, said)
		}
	}
}
