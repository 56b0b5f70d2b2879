package storage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// A file of three times the memory is not kept in the page cache: passes over it fetch
// what they read. What the load was held to is in its figures.
func TestLimitMemory(t *testing.T) {
	const most = 192 * unit.MiB // the race detector takes some 50 MiB of it
	// Not below /tmp, which is often memory.
	dir, err := os.MkdirTemp("/var/tmp", "linerate-memory-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // what is left there is of this test alone
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(3*most)); err != nil {
		t.Fatal(err)
	}
	task := BlockTask{Name: "test", Fill: true, DropCache: true, Spec: block.Spec{Path: path, Threads: 1, Depth: 4, Engine: block.Auto, Sync: block.None,
		Duration: time.Minute, Requests: 3 * 2 * int64(most/unit.MiB), Seed: 1,
		Shape: shape.Shape{Pattern: shape.Sequential, Read: 1, Sizes: []shape.SizeShare{{Size: unit.MiB, Share: 1}}, Arrivals: shape.Closed}}}
	var m Measured
	err = Limited(most, Hooks{}, func(h Hooks) (err error) {
		m, err = Block(context.Background(), task, h)
		return err
	})
	if errors.Is(err, kernel.ErrNoMemoryCap) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := block.Summarise("test", m.Result, m.Witness)
	if err != nil || s.Memory == nil || s.Memory.Most != most || s.Memory.Peak > most+most/8 { // the kernel charges some pages past a limit
		t.Fatalf("%+v, %v", s.Memory, err)
	}
	if s.FromCache == nil || *s.FromCache > 0.5 {
		t.Errorf("from the cache: %v (1 is all)", s.FromCache)
	}
	if all := strings.Join(s.Evidence, "\n"); !strings.Contains(all, "had at most 192 MiB of memory (a control group of v") {
		t.Error(all)
	}
	if err := Limited(unit.MiB, Hooks{}, nil); err == nil || !strings.Contains(err.Error(), "needs 64 MiB") {
		t.Error(err)
	}
	task.Spec.Depth = 256
	err = Limited(most, Hooks{}, func(h Hooks) error { _, err := Block(context.Background(), task, h); return err })
	var refused *load.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "need 320 MiB") {
		t.Error(err)
	}
}
