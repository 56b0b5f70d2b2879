package route

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/failure"
	"linerate/internal/kernel"
)

const boundEnv = "LINERATE_TEST_BOUND"

// Mounts that lead to one directory by several names are made in a namespace of its own.
func TestDirectoriesAreFoundByOtherNames(t *testing.T) {
	if dir := os.Getenv(boundEnv); dir != "" {
		bound(t, dir)
		return
	}
	cmd := kernel.Exec(context.Background(), os.Args[0], "-test.run=^TestDirectoriesAreFoundByOtherNames$", "-test.v")
	cmd.Env = append(os.Environ(), boundEnv+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	if err := cmd.Wait(); err != nil || !bytes.Contains(out.Bytes(), []byte("--- PASS")) {
		t.Errorf("in a namespace: %v\n%s", err, out.Bytes())
	}
}

func bound(t *testing.T, dir string) {
	mount := func(src, at, kind string, flags uintptr) {
		t.Helper()
		if err := unix.Mount(src, filepath.Join(dir, at), kind, flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"t/in/deep", "t/fs", "bound", "fs2", "other", "away"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "t/in"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	mount("none", "t/fs", "tmpfs", 0)
	if err := os.Mkdir(filepath.Join(dir, "t/fs/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	mount(filepath.Join(dir, "t/fs/sub"), "fs2", "", unix.MS_BIND)
	mount(filepath.Join(dir, "t/in"), "bound", "", unix.MS_BIND)
	mount(filepath.Join(dir, "t/in"), "away", "", unix.MS_BIND)
	mount("none", "away", "tmpfs", 0) // hides it
	for _, c := range []struct {
		from, to string
		deletes  bool
		refused  bool
	}{
		{"t", "t", false, true},
		{"t/", "t/in/deep/new", false, true},
		{"t", "bound", false, true},
		{"t", "bound/deep/new", false, true},
		{"t", "link", false, true},
		{"t", "fs2", false, true}, // a file system that is mounted in the source, by another mount
		{"t", "away", false, false},
		{"t", "other", false, false},
		{"t/in", "t", false, true}, // it is what it would become
		{"bound/", "t", false, false},
		{"bound/", "t", true, true},
		{"fs2/", "t", true, true},
		{"away/", "t", true, false},
		{"t/in/deep/", "bound/", true, true},
		{"t/in/deep", "bound/", false, true},
		{"other/", "t", true, false},
	} {
		src, err := SourceOf([]string{dir + "/" + c.from})
		if err != nil {
			t.Fatal(err)
		}
		to, err := TargetOf(dir+"/"+c.to, src.One())
		if err != nil {
			t.Fatal(err)
		}
		spots, err := src.Spots()
		if err != nil {
			t.Fatal(err)
		}
		land, err := to.Landing(src.Whole())
		if err != nil {
			t.Fatal(err)
		}
		if err := land.Apart(spots, c.deletes, nil); (failure.KindOf(err) == failure.Usage) != c.refused {
			t.Errorf("%s to %s, deletes %v: %v", c.from, c.to, c.deletes, err)
		}
	}
}
