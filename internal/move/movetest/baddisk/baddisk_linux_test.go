package baddisk

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A disk is unmounted although somebody has a mount namespace in which it still is.
func TestADiskIsClosedThoughAnotherNamespaceHasIt(t *testing.T) {
	at := t.TempDir()
	d, err := Mount(at, t.TempDir())
	if err != nil {
		t.Skipf("needs FUSE: %v", err)
	}
	holder := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c", "echo has it; read end")
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var why bytes.Buffer
	holder.Stderr = &why
	if err := holder.Start(); err != nil {
		t.Skipf("needs unshare: %v", err)
	}
	said := make([]byte, 6)
	if n, err := out.Read(said); err != nil {
		t.Skipf("needs a mount namespace: %q, %v: %s", said[:n], err, &why)
	}
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it still waits after a minute")
	}
	if held, err := os.ReadDir(at); err != nil || len(held) > 0 {
		t.Errorf("%v, %v", held, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	_ = holder.Wait() // read ends with an error
}
