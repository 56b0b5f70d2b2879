package setter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

func TestMountNeedsANewMount(t *testing.T) {
	tree := settertest.NewTree(t, map[string]string{"/proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" +
		"30 22 0:52 / /mnt/nas rw,noatime shared:9 - nfs4 10.0.0.2:/pool rw,vers=4.2,rsize=262144,wsize=262144\n" +
		"31 22 0:53 / /mnt/two\\040words rw - cifs //nas/b rw,vers=3.1.1,max_channels=4\n"})
	m := setter.Mount{Tree: tree}
	place := func(option, target string) setter.Place {
		return setter.Place{Setting: "linux.mount." + option, Target: target}
	}
	for _, c := range []struct{ option, target, now string }{
		{"nfs.rsize", "mount:/mnt/nas", "262144"}, {"nfs.vers", "mount:/mnt/nas", "4.2"}, {"nfs.nconnect", "mount:/mnt/nas", "default"},
		{"cifs.multichannel", "mount:/mnt/two words", "4"},
	} {
		at := place(c.option, c.target)
		if got, err := m.Read(context.Background(), at, ""); got != c.now || err != nil {
			t.Errorf("%s: %q, %v, want %q", at, got, err, c.now)
		}
		if err := m.Write(context.Background(), at, c.now); err != nil {
			t.Errorf("%s has %s already: %v", at, c.now, err)
		}
		if err := m.Write(context.Background(), at, "8"); !errors.Is(err, setter.ErrNewMount) || !strings.Contains(err.Error(), "fstab") {
			t.Errorf("%s: %v, want that it needs a new mount", at, err)
		}
		sh, err := m.Shell(at, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := runShell(t, "/bin", "set -fu; "+sh.Read); got != c.now {
			t.Errorf("%s: the shell reads %q, want %q", at, got, c.now)
		}
	}
	for at, want := range map[setter.Place]error{
		place("nfs.rsize", "mount:/"): setter.ErrUnsupported, place("nfs.rsize", "mount:/mnt/none"): kernel.ErrNoDevice, place("cifs.rsize", "mount:/mnt/nas"): setter.ErrUnsupported,
		place("nfs.exec", "mount:/mnt/nas"): setter.ErrValue, place("nfs.rsize", "/mnt/nas"): setter.ErrValue, {Setting: "linux.mount.nfs"}: setter.ErrValue,
	} {
		if v, err := m.Read(context.Background(), at, ""); !errors.Is(err, want) {
			t.Errorf("%s: %q, %v, want %v", at, v, err, want)
		}
	}
	for _, bad := range []string{"", "a b", "1,exec", "x=y", "a\x00"} {
		if err := m.Write(context.Background(), place("nfs.rsize", "mount:/mnt/nas"), bad); !errors.Is(err, setter.ErrValue) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
