package cli

import (
	"os"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/report/document"
)

// A terminal that cannot replace a line gets none that would be replaced, and no escapes.
func TestADumbTerminalGetsALog(t *testing.T) {
	line, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	defer line.Close()
	for term, want := range map[string]bool{"dumb": false, "xterm": true} {
		env := &environment{Env: app.Env{Now: time.Now, Getenv: func(string) string { return term }}, err: document.NewScreen(line)}
		if p := newProgress(env); p.Live() != want {
			t.Errorf("TERM=%s: live %v", term, p.Live())
		}
	}
}
