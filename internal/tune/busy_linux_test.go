package tune

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"linerate/internal/kernel"
)

// What is kept can be started at once, whatever else this process starts meanwhile: a child has
// the files that are open for writing until it executes its own program, and the kernel starts
// none of them until then (ETXTBSY).
func TestTheKeptProgramIsNotBusy(t *testing.T) {
	truth, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(inMemory(t), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := openState(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close() // only read from here on
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				_ = kernel.Exec(ctx, truth).Run() // ended by stop, at the last
			}
		})
	}
	defer others.Wait()
	defer stop()
	for i := range 100 {
		if err := d.copyIn(keptName, truth); err != nil {
			t.Fatal(err)
		}
		if out, err := kernel.Exec(t.Context(), d.full(keptName)).CombinedOutput(); err != nil {
			t.Fatalf("start %d: %v: %s", i, err, out)
		}
	}
}
