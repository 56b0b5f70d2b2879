package uml

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linerate/internal/unit"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	if _, err := Find(root); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("nothing installed: %v", err)
	}
	for _, f := range []string{"usr/bin/linux.uml", "usr/lib/uml/modules/6.1.1/modules.dep", "usr/lib/uml/modules/6.1.99/modules.dep"} {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k, err := Find(root)
	if err != nil || !strings.HasSuffix(k.Modules, "/6.1.99") {
		t.Errorf("%+v, %v", k, err)
	}
	// AMX is too much for kernels that are older than 6.13.
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]error{"fpu avx512f amx_tile amx_int8": ErrCPU, "fpu avx512f": nil} {
		if err := os.WriteFile(filepath.Join(root, "proc/cpuinfo"), []byte("processor\t: 0\nflags\t\t: "+flags+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Find(root); !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), "newer user-mode-linux") {
			t.Errorf("%s: %v", flags, err)
		}
	}
	for version, want := range map[string]error{"6.1.176": ErrCPU, "6.12.3": ErrCPU, "5.10": ErrCPU, "6.13": nil, "7.2": nil, "next": nil} {
		if err := os.WriteFile(filepath.Join(root, "proc/cpuinfo"), []byte("flags : amx_tile\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := fits(root, version); !errors.Is(err, want) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestCommand(t *testing.T) {
	s := Spec{Kernel: Kernel{"/usr/bin/linux.uml", "/usr/lib/uml/modules/6.1.1"}, Name: "nas1", Work: "/run/lab/nas1/kernel", Init: "/usr/bin/linerate",
		Memory: 512 * unit.MiB, Keep: "/run/lab", Disks: []Disk{{"pool", unit.GiB}},
		Ports: []Port{{Name: "eth0", Tap: "port1-0", MAC: "02:4c:52:00:00:02", MTU: 9000}}}
	got := Command(s)
	for _, want := range []string{
		"mem=512M", "ro", "init=/usr/bin/linerate", "ssl0=fd:3", "ubd0=/run/lab/nas1/kernel/disk-own", "ubd1=/run/lab/nas1/kernel/disk-pool",
		"vec0:transport=tap,ifname=port1-0,depth=128,gro=1,mac=02:4c:52:00:00:02,mtu=9000", "lab_ports=02:4c:52:00:00:02=eth0", "lab_disk=/dev/ubda",
		"sysctl.vm.min_free_kbytes=16384",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if slices.ContainsFunc(got, func(a string) bool { return strings.Contains(a, " ") }) {
		t.Errorf("a word with a space is two to the kernel: %q", got)
	}
	if Device(0) != "/dev/ubda" || Device(2) != "/dev/ubdc" {
		t.Error("devices are numbered by letters")
	}
}

func TestPrepare(t *testing.T) {
	s := Spec{Name: "nas1", Work: t.TempDir(), Disks: []Disk{{"pool", unit.GiB}}}
	var ran []string
	run := func(argv ...string) error {
		ran = append(ran, strings.Join(argv, " "))
		return os.WriteFile(argv[len(argv)-1], nil, 0o600)
	}
	for range 2 { // what is there is kept
		if err := Prepare(s, run); err != nil {
			t.Fatal(err)
		}
	}
	if len(ran) != 4 || !strings.HasPrefix(ran[0], "truncate") || !strings.HasPrefix(ran[1], "mkfs.ext4") {
		t.Errorf("%q", ran)
	}
	refuse := func(...string) error { return errors.New("no room") }
	s.Work = t.TempDir()
	if err := Prepare(s, refuse); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Error(err)
	}
}

func TestBootMainRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"/run/x"}, {"/run/x", "true"}} {
		var said bytes.Buffer
		if code := BootMain(args, &said); code != 1 || !strings.Contains(said.String(), "want WORK -- COMMAND") {
			t.Errorf("%q: %d, %s", args, code, said.String())
		}
	}
}
