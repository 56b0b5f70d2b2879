package route

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/failure"
	"linerate/internal/kernel"
)

const boundEnv = "LINERATE_TEST_BOUND"

// Mounts that lead to one directory by several names are made in a namespace of its own.
func TestDirectoriesAreFoundByOtherNames(t *testing.T) { inNamespace(t, bound) }

// What an overlay is written to is found by the name of its upper directory, and that by the overlay's.
func TestAnOverlayIsFoundByItsLayers(t *testing.T) { inNamespace(t, overlaid) }

// Without /proc too exclusions count, and names tell what lies where.
func TestWithoutProcPathsAreKnown(t *testing.T) { inNamespace(t, withoutProc) }

func withoutProc(t *testing.T, dir string) {
	for _, d := range []string{"t/in/deep", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("t/in", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", "/proc", "tmpfs", 0, ""); err != nil {
		t.Skipf("needs to hide /proc: %v", err)
	}
	t.Chdir(dir)
	for _, c := range []struct {
		moves
		exclude, says string
	}{
		{moves{"t/", "t/in/deep", false, true}, "/other", "lies in the source"},
		{moves{"t/", "t/in/deep", false, false}, "/in", ""},
		{moves{"t/", "link/deep", false, false}, "/in/deep", ""},
		{moves{"t/", "link/deep/new", false, false}, "/in/deep/new", ""},
		{moves{"t/in/deep/", "t", true, true}, "/deep", "./in/deep"},
		{moves{"t/in/deep/", "link", true, false}, "/deep", ""},
		{moves{"t/in/", "link", false, true}, "/in", "lies in the source"},
		{moves{"t/", "other", true, false}, "/in", ""},
	} {
		for _, at := range []string{dir + "/", ""} {
			err := c.apart(t, at, c.exclude)
			if c.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s%s to %s without %s, deletes %v: %v", at, c.from, c.to, c.exclude, c.deletes, err)
			}
		}
	}
}

// inNamespace runs this test once more, with mounts of its own, and there what it is to do.
func inNamespace(t *testing.T, do func(t *testing.T, dir string)) {
	t.Helper()
	if dir := os.Getenv(boundEnv); dir != "" {
		do(t, dir)
		return
	}
	cmd := kernel.Exec(context.Background(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
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
	if err := cmd.Wait(); err != nil {
		t.Errorf("in a namespace: %v\n%s", err, out.Bytes())
	} else if bytes.Contains(out.Bytes(), []byte("--- SKIP")) {
		t.Skipf("in a namespace: %s", out.Bytes())
	} else if !bytes.Contains(out.Bytes(), []byte("--- PASS")) {
		t.Errorf("in a namespace: %s", out.Bytes())
	}
}

func overlaid(t *testing.T, dir string) {
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"up/data/in", "low/data/old", "work", "m", "t/fs", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	options := "userxattr,lowerdir=" + dir + "/low,upperdir=" + dir + "/up,workdir=" + dir + "/work"
	if err := unix.Mount("none", filepath.Join(dir, "m"), "overlay", 0, options); err != nil {
		t.Skipf("needs overlays within user namespaces: %v", err)
	}
	if err := unix.Mount(filepath.Join(dir, "m/data"), filepath.Join(dir, "t/fs"), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range []moves{
		{"up/data/", "m/data/new", false, true},
		{"up/data/", "m/data", false, true},
		{"m/data/", "up/data/new", false, true},
		{"up/data/in/", "m/data", true, true},
		{"up/data/", "t/fs/new", false, true}, // bound from the overlay
		{"t/", "up/data/new", false, true},
		{"m/data/", "low/data/new", false, true}, // which the overlay shows
		{"m/data/old/", "low/data/", true, true},
		{"low/data/", "m/data/new", false, false}, // which is not written to the lower directory
		{"low/data/old/", "m/data", true, false},
		{"up/data/", "m/else", false, false},
		{"m/data/", "other", true, false},
	} {
		c.check(t, dir)
	}
}

func bound(t *testing.T, dir string) {
	mount := func(src, at, kind string, flags uintptr) {
		t.Helper()
		if err := unix.Mount(src, filepath.Join(dir, at), kind, flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"t/in/deep", "t/fs", "bound", "fs2", "other", "away", "t/over/fs", "fs3", "holds/n", "holds/same/in"} {
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
	mount(filepath.Join(dir, "t/in"), "holds/n", "", unix.MS_BIND)
	mount(filepath.Join(dir, "t/in"), "holds/same/in", "", unix.MS_BIND)
	mount("none", "fs3", "tmpfs", 0)
	mount(filepath.Join(dir, "fs3"), "t/over/fs", "", unix.MS_BIND)
	mount("none", "t/over", "tmpfs", 0) // hides that
	for _, c := range []moves{
		{"t", "t", false, true},
		{"t/", "t/in/deep/new", false, true},
		{"t", "bound", false, true},
		{"t", "bound/deep/new", false, true},
		{"t", "link", false, true},
		{"t", "fs2", false, true}, // a file system that is mounted in the source, by another mount
		{"t", "away", false, false},
		{"t", "fs3", false, false},
		{"t/", "holds", true, true}, // of which a part is the source's
		{"t/", "holds", false, false},
		{"t/", "holds/same", true, false}, // which has it at the same place: nothing goes
		{"t", "holds", true, false},       // to holds/t, which is not there
		{"other/", "holds", true, false},
		{"fs3/", "t", true, false},
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
		c.check(t, dir)
	}
}

// moves is a copy, and whether it is refused.
type moves struct {
	from, to string
	deletes  bool
	refused  bool
}

func (c moves) check(t *testing.T, dir string) {
	t.Helper()
	if err := c.apart(t, dir+"/"); (failure.KindOf(err) == failure.Usage) != c.refused {
		t.Errorf("%s to %s, deletes %v: %v", c.from, c.to, c.deletes, err)
	}
}

func (c moves) apart(t *testing.T, dir string, exclude ...string) error {
	t.Helper()
	src, err := SourceOf([]string{dir + c.from})
	if err != nil {
		t.Fatal(err)
	}
	to, err := TargetOf(dir+c.to, src.One())
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
	land.OneKernel(spots)
	return land.Apart(spots, c.deletes, exclude)
}
