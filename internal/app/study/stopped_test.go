package study

import (
	"errors"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/file"
)

// How a study was stopped is on record: what shows it later knows whether its changes are in force.
// After a kill nobody knows, and that is what it says.
func TestHowAStudyWasStoppedIsKept(t *testing.T) {
	f, err := file.Parse("two", []byte(twoLevels))
	if err != nil {
		t.Fatal(err)
	}
	left := errors.Join(errors.New("twelve runs did not count"), &experiment.NotRestoredError{Left: []string{"nas1 has another MTU"}})
	for _, c := range []struct {
		name     string
		err      error // nil: killed
		restored bool
		kind     failure.Kind
		ended    string
	}{
		{"put back", errors.New("twelve runs did not count"), true, failure.Failed, "it was stopped before its end: twelve runs did not count"},
		{"not put back", left, false, failure.NotRestored, "it was stopped before its end: twelve runs did not count"},
		{"killed", nil, false, failure.Failed, model.StudyNotOver},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, now := t.TempDir(), time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
			state, err := store.CreateStudy(root, store.StudyBegin{File: f}, []byte(twoLevels), now)
			if err != nil {
				t.Fatal(err)
			}
			change := []model.Change{{Setting: "linux.link.mtu", From: "1500", To: "9000"}}
			if err := state.Put(store.StudyEntry{Kind: store.StudyPlanned, At: now, Host: "server", Factor: "jumbo", Level: "9k", Changes: change}); err != nil {
				t.Fatal(err)
			}
			if c.err != nil {
				s := &session{env: app.Env{Now: func() time.Time { return now }}, state: state, file: f}
				if err := s.stopped(&experiment.Outcome{Restored: c.restored}, c.err, false); failure.KindOf(err) != c.kind {
					t.Errorf("%v is of kind %v, want %v", err, failure.KindOf(err), c.kind)
				}
			}
			if err := state.Close(); err != nil {
				t.Fatal(err)
			}
			past, err := store.ReadStudy(root, "last")
			if err != nil {
				t.Fatal(err)
			}
			r, err := soFar(past, now)
			if err != nil {
				t.Fatal(err)
			}
			if st := r.Study; !strings.HasPrefix(st.Ended, c.ended) || st.Restored != c.restored || r.Restored != c.restored {
				t.Errorf("ended %q, restored %t and %t", st.Ended, st.Restored, r.Restored)
			}
			if rev := r.Study.Reverted; len(rev) != 1 || rev[0].Before != "1500" || rev[0].Value != "9000" {
				t.Errorf("changes %+v, want the one on record", rev)
			}
		})
	}
}
