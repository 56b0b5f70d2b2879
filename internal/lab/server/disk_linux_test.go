package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/unit"
)

func mustDisk(t *testing.T, h Host, spec DiskSpec) *Disk {
	t.Helper()
	d, err := MakeDisk(context.Background(), h, "/", spec)
	if errors.Is(err, ErrNoSlowDisk) || errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// A slow disk takes at least as long as its rate says, both ways; that it may
// take longer on a busy machine is no fault of it.
func TestSlowDisk(t *testing.T) {
	_, h := pair(t)
	const mib, seconds = 8, 1.0
	d := mustDisk(t, h, DiskSpec{"slow", 64 << 20, unit.BitRate(mib << 20 * 8 / seconds)})
	file := filepath.Join(d.Dir(), "f")
	// A burst of a tenth of a second passes before the limit binds.
	const least = time.Duration(seconds * 0.8 * float64(time.Second))
	began := time.Now()
	mustRun(t, h, "dd", "if=/dev/urandom", "of="+file, "bs=1M", "count=8", "conv=fsync", "status=none")
	wrote := time.Since(began)
	// dd(1): no data, only the advice to drop cached pages; dirty ones are written first.
	mustRun(t, h, "sync", file)
	mustRun(t, h, "dd", "if="+file, "iflag=nocache", "count=0", "status=none")
	began = time.Now()
	mustRun(t, h, "dd", "if="+file, "of=/dev/null", "bs=1M", "status=none")
	read := time.Since(began)
	t.Logf("%d MiB at %d MiB/s: written in %v, read in %v", mib, mib, wrote, read)
	if wrote < least || read < least {
		t.Errorf("written in %v, read in %v: not held back", wrote, read)
	}
}

// What a killed host leaves is a limit on a loop device, and a note of it.
func TestLimitsOfAKilledHostAreTakenBack(t *testing.T) {
	_, h := pair(t)
	d := mustDisk(t, h, DiskSpec{"slow", 32 << 20, 80 * unit.Mbit})
	b, err := os.ReadFile(d.record())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := parseRules(string(b))
	if err != nil || len(rules) == 0 {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	dev, _, _ := strings.Cut(rules[0].text, " ")
	held := func() bool {
		b, err := os.ReadFile(rules[0].file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(b), dev+" ")
	}
	if !held() {
		t.Errorf("%s holds nothing back on %s", rules[0].file, dev)
	}
	if err := ReleaseDisks("/", h.Dir()); err != nil || held() {
		t.Errorf("still held back (%v)", err)
	}
	if err := ReleaseDisks("/", h.Dir()); err != nil {
		t.Errorf("again: %v", err)
	}
}
