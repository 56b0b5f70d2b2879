package deadman

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A watcher that was killed is missed, and what waits for it says so: before its time, and
// after it, when the changes are still in force.
func TestAKilledWatcherIsMissed(t *testing.T) {
	root := host(t)
	tn := tuner(root)
	apply(t, root, time.Hour)
	p, ok, err := tn.Pending(t.Context())
	if err != nil || !ok || p.Unwatched || p.Overdue || p.Alarm() != "" {
		t.Fatalf("watched: %+v, %v, %v", p, ok, err)
	}
	for _, pid := range watchers(t, root) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the watcher is gone", func() bool { return len(watchers(t, root)) == 0 })
	p, ok, err = tn.Pending(t.Context())
	if err != nil || !ok || !p.Unwatched || p.Overdue || !strings.Contains(p.Alarm(), "its watcher is gone: nothing undoes it by itself") {
		t.Errorf("killed: %+v, %v, %v", p, ok, err)
	}
	tn.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	p, ok, err = tn.Pending(t.Context())
	if err != nil || !ok || !strings.Contains(p.Alarm(), "is overdue") || !strings.Contains(p.Alarm(), "in force") {
		t.Errorf("overdue: %+v, %v, %v", p, ok, err)
	}
	if err := tn.UndoOverdue(t.Context()); err != nil || values(t, root) != "1 1 1" {
		t.Errorf("undone: %s, %v", values(t, root), err)
	}
	if _, ok, err := tn.Pending(t.Context()); ok || err != nil {
		t.Errorf("afterwards: %v, %v", ok, err)
	}
}

// The watcher asks to be spared when memory runs out. Where it is refused, as to root of a
// container, it watches all the same, and the user is told.
func TestTheWatcherIsSparedOrSaysSo(t *testing.T) {
	root := host(t)
	tn := tuner(root)
	res, err := tn.Apply(t.Context(), plan(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	pids := watchers(t, root)
	if len(pids) != 1 {
		t.Fatal(pids)
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/oom_score_adj")
	spared, told := strings.TrimSpace(string(b)) == "-1000", strings.Contains(strings.Join(res.Notes, "\n"), "oom_score_adj")
	if err != nil || spared == told {
		t.Errorf("spared %v, told %v: %q, %v", spared, told, res.Notes, err)
	}
	if _, err := tn.Undo(t.Context(), ""); err != nil {
		t.Error(err)
	}
}
