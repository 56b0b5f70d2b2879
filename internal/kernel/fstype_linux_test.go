package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOverNetwork(t *testing.T) {
	for magic, want := range map[int64]bool{
		0x6969: true, 0x517B: true, 0xFF534D42: true, int64(int32(-11317950)): true, 0xFE534D42: true, 0x65735546: true, 0x0BD00BD0: true,
		0xEF53: false, 0x58465342: false, 0x9123683E: false, 0x01021994: false, 0x794C7630: false, 0x2FC12FC1: false,
	} {
		if isOverNetwork(magic) != want {
			t.Errorf("type %#x: %v", magic, !want)
		}
	}
	if OverNetwork("/nonexistent") || StartsNoPrograms("relative/nonexistent") {
		t.Error("what is not there is told of")
	}
	if OverNetwork("/proc") {
		t.Error("/proc is said to come over the network")
	}
}

const mounts = "26 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" +
	"261 26 0:53 / /mnt/a rw,relatime shared:2 master:1 - nfs4 10.0.0.2:/x rw,vers=4.2\n" +
	"2 26 0:54 / /mnt/b\\040- rw - cifs //10.0.0.2/x rw\n"

// The type of a mount is that of the line with its number.
func TestTheTypeOfAMountIsKnownWithoutItsServer(t *testing.T) {
	for id, want := range map[string]string{"26": "ext4", "261": "nfs4", "2": "cifs", "6": "", "": ""} {
		info := "pos:\t0\nflags:\t0100000\nmnt_id:\t" + id + "\nino:\t2\n"
		if got := mountType([]byte(info), []byte(mounts)); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if got := TypeOf(int(dir.Fd())); got != int64(uint32(st.Type)) {
		t.Errorf("%s is of type %x, not %x", filepath.Base(dir.Name()), st.Type, got)
	}
}

func FuzzMountType(f *testing.F) {
	f.Add([]byte("mnt_id:\t261\n"), []byte(mounts))
	f.Add([]byte("mnt_id:"), []byte(" - x"))
	f.Fuzz(func(t *testing.T, info, table []byte) {
		if name := mountType(info, table); strings.ContainsAny(name, " ") {
			t.Errorf("%q is no name", name)
		}
	})
}
