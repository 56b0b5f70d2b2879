package route

import (
	"fmt"
	"maps"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
)

// lookerOf is a looker of the mounts of a host.
func lookerOf(t *testing.T, mountinfo string) *looker {
	t.Helper()
	l := &looker{kernel: "k", mounts: map[int]kernel.MountNode{}, gone: map[string]bool{}}
	order, err := kernel.ParseMountTree([]byte(mountinfo))
	if err != nil {
		t.Fatal(err)
	}
	l.take(order)
	return l
}

// Mounts of a server are known by its address and path, whichever export each of them is of.
func TestMountsOfAServerAreKnownByItsPath(t *testing.T) {
	l := lookerOf(t, `30 1 8:1 / / rw - ext4 /dev/sda1 rw
31 30 0:40 / /a rw - nfs4 nas:/pool rw,vers=4.2,addr=10.0.0.1
32 30 0:41 / /b rw - nfs nas:/pool/sub rw,vers=3,addr=10.0.0.1
33 30 0:42 / /c rw - nfs4 localhost:/pool rw,addr=127.0.0.1
34 30 0:43 / /d rw - nfs4 [2001:db8::1]:/ rw,addr=2001:db8::1
35 30 0:44 / /e rw - cifs //nas/pool rw,addr=10.0.0.1
`)
	for id, want := range map[int]string{
		30: "[{8:1 /x  }]",
		31: "[{0:40 nas:/pool /x  } {nfs 10.0.0.1 /pool/x  }]",
		32: "[{0:41 nas:/pool/sub /x  } {nfs 10.0.0.1 /pool/sub/x  }]",
		33: "[{0:42 localhost:/pool /x  } {nfs 127.0.0.1 of k /pool/x  }]",
		34: "[{0:43 [2001:db8::1]:/ /x  } {nfs 2001:db8::1 /x  }]",
		35: "[{0:44 //nas/pool /x  }]",
	} {
		if got := fmt.Sprint(l.parts(l.mounts[id], "x")); got != want {
			t.Errorf("mount %d: %s, want %s", id, got, want)
		}
	}
}

// A mount below a directory over which another one was mounted later is not come to, nor is what lies on it.
func TestHiddenMountsAreNotBelow(t *testing.T) {
	l := lookerOf(t, `30 1 8:1 / / rw - ext4 /dev/sda1 rw
31 30 0:41 / /t/a/b rw - tmpfs t rw
32 31 0:42 / /t/a/b/c rw - tmpfs t rw
33 30 0:43 / /t/a rw - tmpfs t rw
34 33 0:44 / /t/a/b rw - tmpfs t rw
35 30 0:45 / /t/d rw - tmpfs t rw
36 35 0:46 / /t/d rw - tmpfs t rw
37 36 0:47 / /t/d/e rw - tmpfs t rw
38 35 0:48 / /t/d/f rw - tmpfs t rw
39 30 0:49 / /to rw - tmpfs t rw
`)
	got := map[string]string{}
	for _, p := range l.below(l.mounts[30], "/t") {
		got[p.FS] = string(p.At)
	}
	want := map[string]string{"0:43": "a", "0:44": "a/b", "0:46": "d", "0:47": "d/e"}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The name of an overlay's layer may lead into the overlay itself: that is looked at a few times, and no more.
func TestAnOverlayOverItsOwnLayerHasAnEnd(t *testing.T) {
	dir := t.TempDir()
	var st unix.Stat_t
	l := newLooker()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	m, known := l.mountOf(fd)
	if err := unix.Fstat(fd, &st); err != nil || !known {
		t.Skipf("skipped: the mount of %s is not known: %v", dir, err)
	}
	m.Type, m.Options = "overlay", map[string]string{"upperdir": dir}
	l.mounts[m.ID] = m
	if got := len(l.parts(m, "x")); got != layersMost+1 {
		t.Errorf("%d parts, want %d", got, layersMost+1)
	}
}
