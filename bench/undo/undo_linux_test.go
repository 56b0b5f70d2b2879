package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/uml"
)

func TestMain(m *testing.M) {
	if code, ok := role(os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A sample of the bench: what is true of all cases is true of these.
func TestSample(t *testing.T) {
	var said bytes.Buffer
	all := newTable(&said)
	if err := fakeCases(t.Context(), all, 35); err != nil {
		t.Fatal(err)
	}
	if all.cases < 100 || all.broken > 0 {
		t.Errorf("%d cases, %d broken\n%s", all.cases, all.broken, said.String())
	}
	var out bytes.Buffer
	all.print(&out, 0)
	if !strings.Contains(out.String(), "| fake host | everything |") {
		t.Errorf("%s", out.String())
	}
}

// And on the running kernel, with processes that are really killed.
func TestSampleOnARealKernel(t *testing.T) {
	labtest.Needs(t, "ethtool", labtest.Namespaces)
	var said bytes.Buffer
	all := newTable(&said)
	if err := namespaceCases(t.Context(), all, 60); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	if all.cases < 12 || all.broken > 0 {
		t.Errorf("%d cases, %d broken\n%s", all.cases, all.broken, said.String())
	}
}

// program is this bench as hosts with kernels of their own run it: the race
// detector's memory has no room in a User-Mode Linux process.
func program(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: hosts with kernels of their own are joined by the machine's interfaces")
	}
	binary := filepath.Join(t.TempDir(), "undo")
	cmd := kernel.Exec(t.Context(), "go", "build", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the bench: %v: %s", err, out)
	}
	return binary
}

// And over a real restart: a few steps of each plan, all in two restarts each.
func TestSampleOnAKernelHost(t *testing.T) {
	labtest.Long(t)
	self := program(t)
	if _, err := uml.Find("/"); errors.Is(err, uml.ErrMissing) || errors.Is(err, uml.ErrCPU) {
		t.Skip(err)
	}
	// A kernel host that stands still (seen once, right after it was up: nothing in it
	// ran and nothing reached it) is the emulator's fault and not an undo's.
	const each = 5 * time.Minute
	for range 2 {
		var said bytes.Buffer
		all := newTable(&said)
		ctx, cancel := context.WithTimeout(t.Context(), each)
		err := kernelCases(self)(ctx, all, 9)
		late := errors.Is(ctx.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case late:
			t.Logf("not done within %v: %v\n%s", each, err, said.String())
			continue
		case err != nil:
			t.Fatalf("%v\n%s", err, said.String())
		case all.cases < 6 || all.broken > 0 || len(all.rows) != 2:
			t.Errorf("%d cases, %d broken\n%s", all.cases, all.broken, said.String())
		}
		return
	}
	t.Errorf("no kernel host came through within %v", each)
}
