package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes empty files below a new directory; a name that ends in "*" is
// executable.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		name, perm := f, os.FileMode(0o644)
		if cut, ok := strings.CutSuffix(f, "*"); ok {
			name, perm = cut, 0o755
		}
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, perm); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFindTakesTheNewestKernelWithModules(t *testing.T) {
	old := tree(t, "boot/vmlinuz-6.1.0-9-amd64", "lib/modules/6.1.0-9-amd64/modules.dep", "usr/bin/"+emulator+"*")
	root := tree(t,
		"boot/vmlinuz-6.1.0-10-amd64", "lib/modules/6.1.0-10-amd64/modules.dep",
		"boot/vmlinuz-6.1.0-56-amd64", "lib/modules/6.1.0-56-amd64/modules.dep",
		"boot/vmlinuz-6.12.0-1-amd64", "lib/modules/6.12.0-1-amd64/kernel", // its package has been removed
	)
	got, err := Find(root, old)
	want := Kernel{
		QEMU:    filepath.Join(old, "usr/bin", emulator),
		Image:   filepath.Join(root, "boot/vmlinuz-6.1.0-56-amd64"),
		Modules: filepath.Join(root, "lib/modules/6.1.0-56-amd64"),
		Release: "6.1.0-56-amd64",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestFindSaysWhatToInstall(t *testing.T) {
	const install = "not installed; apt-get install --no-install-recommends "
	for _, c := range []struct {
		name, want string
		files      []string
	}{
		{"nothing", emulator + " and a kernel with its modules: " + install + "qemu-system-x86 linux-image-amd64", nil},
		{"no kernel", "a kernel with its modules: " + install + "linux-image-amd64", []string{"usr/bin/" + emulator + "*"}},
		{"no emulator", emulator + ": " + install + "qemu-system-x86",
			[]string{"usr/bin/" + emulator, "boot/vmlinuz-1", "lib/modules/1/modules.dep"}},
	} {
		_, err := Find(tree(t, c.files...))
		if !errors.Is(err, ErrMissing) || err.Error() != "find emulator and kernel: "+c.want {
			t.Errorf("%s: %v, want …%s", c.name, err, c.want)
		}
	}
}

func TestReleasesAreOrderedAsPeopleDo(t *testing.T) {
	inOrder := []string{"5.10", "6.1.0-9-amd64", "6.1.0-9-rt-amd64", "6.1.0-10-amd64", "6.1.0-56-amd64", "6.1.1", "6.12.0-1-amd64", "10.0"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			got := compareReleases(a, b)
			if got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("compare %s with %s: %d", a, b, got)
			}
		}
	}
}
