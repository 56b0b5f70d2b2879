package tune

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"linerate/internal/failure"
	"linerate/internal/tune"
)

var errReadOnly = errors.New("read-only file system: nothing was written")

// readOnlyEtc is a host with one plan, whose files cannot be written.
type readOnlyEtc struct {
	changeable
	undoing error // what its undo answers
	undone  *[]string
	open    []tune.Entry
}

func (readOnlyEtc) Persist(context.Context, string, bool) ([]tune.FileChange, error) {
	return nil, errReadOnly
}

func (r readOnlyEtc) Undo(_ context.Context, plan string) (tune.Result, error) {
	*r.undone = append(*r.undone, plan)
	return tune.Result{}, r.undoing
}

func (r readOnlyEtc) Confirm(_ context.Context, plan string) error {
	if len(r.open) == 0 {
		return fmt.Errorf("host nas1: %w %s: nothing that it changed is in force", tune.ErrPlan, plan)
	}
	return nil
}

func (r readOnlyEtc) History(context.Context) ([]tune.Entry, error) {
	return []tune.Entry{{Seq: 1, Plan: "p1"}}, nil
}

func (r readOnlyEtc) Waiting(context.Context) (tune.Pending, bool, error) {
	return tune.Pending{}, false, nil
}

func (r readOnlyEtc) OpenJournal(context.Context) ([]tune.Entry, error) { return r.open, nil }

// An apply whose files cannot be written makes nothing: all or none.
func TestApplyUndoesWhatNoFileKeeps(t *testing.T) {
	for _, undoing := range []error{nil, errors.New("conflict")} {
		var undone []string
		a := &application{made: []madePlan{{end: end{"nas1", readOnlyEtc{undoing: undoing, undone: &undone}}, id: "p1"}}}
		_, err := a.persist(t.Context())
		err = a.unkept(t.Context(), err)
		if !errors.Is(err, errReadOnly) || len(undone) != 1 || undone[0] != "p1" {
			t.Errorf("%v, undone %v", err, undone)
		}
		want := failure.Failed
		if undoing != nil {
			want = failure.NotRestored
		}
		if failure.KindOf(err) != want || strings.Contains(err.Error(), "as it was before") != (undoing == nil) {
			t.Errorf("%v, kind %v; want %v", err, failure.KindOf(err), want)
		}
	}
}

// A confirmation says that it was made where only the files could not be written, and that there
// was nothing to confirm where the newest plan is undone.
func TestConfirmSaysWhatBecameOfIt(t *testing.T) {
	d := Confirmation{Host: "nas1"}
	err := d.make(t.Context(), readOnlyEtc{open: []tune.Entry{{Seq: 1, Plan: "p1"}}}, true)
	if !errors.Is(err, errReadOnly) || !strings.HasPrefix(err.Error(), "p1 is confirmed: 1 of its changes are in force") {
		t.Errorf("files that cannot be written: %v", err)
	}
	d = Confirmation{Host: "nas1"}
	if err := d.make(t.Context(), readOnlyEtc{}, false); failure.KindOf(err) != failure.Nothing {
		t.Errorf("after an undo: %v, kind %v", err, failure.KindOf(err))
	}
}
