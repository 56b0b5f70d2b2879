package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/app/load"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// Ctrl-C in a load that makes its files: they are removed, and that is said.
func TestInterruptedJobs(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := &seen{text: "1 target, one pass", f: cancel}
	args := []string{"load", "iozone", dir, "--", "-i", "0", "-+n", "-r", "4k", "-s", "1g", "-o"}
	if code := Run(ctx, args, strings.NewReader(""), &bytes.Buffer{}, stderr); code != ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if want := "linerate: interrupted; what was written below " + dir + " was removed\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("%s, want %s", stderr, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestBlockSizes(t *testing.T) {
	for text, want := range map[string]unit.Bytes{
		"4k": 4096, "256K": 256 * unit.KiB, "8m": 8 * unit.MiB, "1.5g": 1536 * unit.MiB, "2T": 2 * unit.TiB,
		"4KB": 4000, "4KiB": 4096, "512B": 512,
	} {
		if got, err := load.ParseSize(text); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "k", "4q", "-4k", "NaNk"} {
		if got, err := positive(load.ParseSize)(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// seen calls f once a text was written.
type seen struct {
	bytes.Buffer
	text string
	f    func()
}

func (s *seen) Write(b []byte) (int, error) {
	n, err := s.Buffer.Write(b)
	if strings.Contains(s.String(), s.text) {
		s.f()
	}
	return n, err
}

// Ctrl-C: what was measured is shown and marked, and nobody is told that what
// was written was put back.
func TestInterruptedLoad(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<20); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ read, stays string }{{"0", "what was written to " + file + " stays"}, {"100", "nothing was written"}} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stderr := &seen{text: "in flight, for", f: cancel}
		var stdout bytes.Buffer
		args := []string{"load", "block", file, "--seconds", "600", "--read", c.read, "--json"}
		if code := Run(ctx, args, strings.NewReader(""), &stdout, stderr); code != ExitInterrupted {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		var got struct {
			Load struct {
				Interrupted bool
			}
		}
		if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || !got.Load.Interrupted {
			t.Errorf("%v: %s", err, stdout.String())
		}
		if text := stderr.String(); !strings.Contains(text, "linerate: interrupted; "+c.stays) || strings.Contains(text, "put back") {
			t.Errorf("%s", text)
		}
		// The file is whole for the run that reads.
		if code := Run(context.Background(), []string{"load", "block", file, "--seconds", "0.1", "--fill"}, strings.NewReader(""), &stdout, &bytes.Buffer{}); code != ExitOK {
			t.Fatalf("exit code %d", code)
		}
	}
}

// On a terminal the line of a run is replaced; in a log nothing is said.
func TestTick(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: document.NewScreen(&b), now: func() time.Time { return time.Unix(0, 0) }, began: time.Unix(0, 0), live: true, width: 60}
	p.Tick("load", "1")
	p.Tick("load", "2")
	p.Tick("other", "3")
	p.Say("done")
	if want := "  0.0s  load: 1\r\x1b[K  0.0s  load: 2\n  0.0s  other: 3\n  0.0s  done\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	p.live = false
	if p.Tick("load", "4"); b.Len() > 0 {
		t.Errorf("%q", b.String())
	}
}
