package kernel

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// A child of this process is of its family, began after it, and is there no more once it has ended, though
// this process still holds its handle.
func TestProcessFamilyOfThisProcess(t *testing.T) {
	own, err := ProcessBegan(os.Getpid())
	if err != nil || own == 0 {
		t.Fatalf("%d, %v", own, err)
	}
	cmd := exec.Command(os.Getenv("COMSPEC"), "/c", "pause")
	in, err := cmd.StdinPipe() // which nobody writes to
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	began, err := ProcessBegan(cmd.Process.Pid)
	if again, err2 := ProcessBegan(cmd.Process.Pid); err != nil || err2 != nil || began < own || again != began {
		t.Errorf("a child began at %d and %d, this process at %d: %v, %v", began, again, own, err, err2)
	}
	if got, err := ProcessFamily(os.Getpid()); err != nil || len(got) == 0 || got[0] != os.Getpid() || !slices.Contains(got, cmd.Process.Pid) {
		t.Errorf("family %v, %v; want %d and %d", got, err, os.Getpid(), cmd.Process.Pid)
	}
	if err := errors.Join(in.Close(), cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_, _ = cmd.Process.Wait() // it was killed
	if at, err := ProcessBegan(cmd.Process.Pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of one that has ended: %d, %v", at, err)
	}
}
