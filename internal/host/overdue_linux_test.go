package host

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/tune"
)

// An agent that starts says what is wrong with a plan that waits, whatever it was started
// for, and undoes one that is overdue.
func TestAgentSaysThatAWatcherIsGone(t *testing.T) {
	for _, c := range []struct {
		name     string
		deadline time.Time
		uptime   time.Duration
		want     string
	}{
		{"before its time", time.Now().Add(time.Hour), 1 << 62, "its watcher is gone: nothing undoes it by itself"},
		{"after it", time.Now().Add(-time.Hour), 1, "plan p1 was overdue, its watcher is gone: its changes were undone now"},
	} {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		a, err := newAgent(AgentOptions{StateDir: dir, Log: &log})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(tune.Waiting{V: 1, Plan: "p1", BootID: a.tuner.BootID, Turn: 1, Within: time.Second, Deadline: c.deadline, Uptime: c.uptime})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "deadman.json"), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		a.overdue(t.Context())
		if !strings.Contains(log.String(), c.want) {
			t.Errorf("%s: said %q", c.name, log.String())
		}
	}
}

// What is wrong with the state directory is said once.
func TestAgentSaysOnceThatItsStateIsUnsafe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a, err := newAgent(AgentOptions{StateDir: dir, Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	a.overdue(t.Context())
	if strings.Count(log.String(), "others may write to it") != 1 {
		t.Errorf("said %q", log.String())
	}
}
