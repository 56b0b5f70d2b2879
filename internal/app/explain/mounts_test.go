package explain

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"linerate/internal/kernel"
)

// Only what comes over a network is offered, by the name that the mount has: also one with a
// space in it.
func TestMountsAreOffered(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "proc", "self")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const mounts = `22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:40 / /mnt/nas rw,relatime - nfs4 nas1:/pool rw,vers=4.2
24 22 0:41 / /mnt/my\040films rw,relatime - cifs //nas1/films rw,vers=3.1.1
25 22 0:42 / /proc/fs/nfsd rw,relatime - nfsd nfsd rw
26 22 0:43 / /tmp rw - tmpfs tmpfs rw
27 22 0:44 / /mnt/old rw,relatime - nfs nas2:/old rw,vers=3
`
	if err := os.WriteFile(filepath.Join(dir, "mountinfo"), []byte(mounts), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := mountsBelow(kernel.Root(root)), []string{"/mnt/nas", "/mnt/my films", "/mnt/old"}; !slices.Equal(got, want) {
		t.Errorf("offered %q, want %q", got, want)
	}
	if got := mountsBelow(kernel.Root(t.TempDir())); got != nil {
		t.Errorf("offered %q where nothing can be read", got)
	}
}
