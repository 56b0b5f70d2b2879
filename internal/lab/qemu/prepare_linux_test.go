package qemu

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"linerate/internal/lab/labtest"
)

// preparable is a machine with a kernel that is not one.
func preparable(t *testing.T) Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := someSpec()
	// As QEMU 7 answers.
	s.Kernel.QEMU = filepath.Join(t.TempDir(), "qemu")
	script := "#!/bin/sh\n[ \"$*\" = '-device help' ] && echo 'name \"e1000e\", bus PCI, desc \"…\"' && echo 'name \"vmxnet3\", bus PCI'\n"
	write(t, s.Kernel.QEMU, []byte(script))
	if err := os.Chmod(s.Kernel.QEMU, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Init, s.Work, s.Kernel.Modules = self, filepath.Join(t.TempDir(), "work"), t.TempDir()
	var dep strings.Builder
	for i, w := range wants() {
		ext := [...]string{".ko", ".ko.gz", ".ko.zst"}[i%3]
		dep.WriteString("dir/" + w.name + ext + ":\n")
		write(t, filepath.Join(s.Kernel.Modules, "dir", w.name+ext), compressed(t, ext, w.name))
	}
	write(t, filepath.Join(s.Kernel.Modules, depFile), []byte(dep.String()))
	return s
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func compressed(t *testing.T, ext, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	switch ext {
	case ".ko.gz":
		zip := gzip.NewWriter(&b)
		if _, err := zip.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
	case ".ko.zst":
		zip, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return zip.EncodeAll([]byte(text), nil)
	default:
		return []byte(text)
	}
	return b.Bytes()
}

func TestInitramfsHoldsWhatBoots(t *testing.T) {
	s := preparable(t)
	if err := s.mkdirAndPack(t); err != nil {
		t.Fatal(err)
	}
	members := s.unpack(t)
	var order strings.Builder
	for _, w := range wants() {
		order.WriteString(strings.TrimSpace(w.name+".ko "+w.params) + "\n")
		if m := members["modules/"+w.name+".ko"]; m.Body != w.name {
			t.Errorf("module %s is %q", w.name, m.Body)
		}
	}
	if diff := cmp.Diff(order.String(), members[orderFile].Body); diff != "" {
		t.Errorf("order of modules: %s", diff)
	}
	if got := members[hostnameFile].Body; got != "client1\n" {
		t.Errorf("host name %q", got)
	}
	self, err := os.ReadFile(s.Init)
	if err != nil {
		t.Fatal(err)
	}
	if m := members[initName]; m.Mode != 0o100755 || m.Body != string(self) {
		t.Errorf("init has mode %o and %d bytes, want %d", m.Mode, len(m.Body), len(self))
	}
	if m := members["dev/console"]; m.Mode != 0o020600 || m.Major != 5 || m.Minor != 1 {
		t.Errorf("/dev/console: %+v", m)
	}
	if left, err := filepath.Glob(filepath.Join(s.Work, "*.*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func (s Spec) mkdirAndPack(t *testing.T) error {
	t.Helper()
	if err := os.Mkdir(s.Work, 0o700); err != nil {
		t.Fatal(err)
	}
	return s.writeInitramfs(context.Background())
}

// unpack reads the initramfs and checks that each member's directory comes
// before it, as the kernel wants it.
func (s Spec) unpack(t *testing.T) map[string]member {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Work, initramfsFile))
	if err != nil {
		t.Fatal(err)
	}
	list, err := readCPIO(b)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]member{}
	for _, m := range list {
		if dir := filepath.Dir(m.Name); dir != "." && out[dir].Mode != 0o040755 {
			t.Errorf("%s comes before its directory", m.Name)
		}
		if _, twice := out[m.Name]; twice {
			t.Errorf("%s is there twice", m.Name)
		}
		out[m.Name] = m
	}
	return out
}

func TestXZModulesAreRead(t *testing.T) {
	labtest.Needs(t, "xz")
	file := filepath.Join(t.TempDir(), "a.ko")
	write(t, file, []byte("module"))
	if out, err := exec.Command("xz", file).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	got, err := readModule(context.Background(), file+".xz")
	if err != nil || string(got) != "module" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	for says, change := range map[string]func(*Spec){
		"prepare machine client1: memory":          func(s *Spec) { s.Memory = 0 },
		"this kernel has no module virtio_pci":     func(s *Spec) { write(t, filepath.Join(s.Kernel.Modules, depFile), nil) },
		"write initramfs: parse modules.dep: line": func(s *Spec) { write(t, filepath.Join(s.Kernel.Modules, depFile), []byte("x")) },
		"read init": func(s *Spec) { s.Init = filepath.Join(s.Kernel.Modules, depFile) },
		"network card 0: this emulator has no igb, which came with QEMU 8": func(s *Spec) { s.NICs[0].Model = IGB },
		"ask /bin/false for its devices":                                   func(s *Spec) { s.Kernel.QEMU = "/bin/false" },
		"as a private directory: it is not": func(s *Spec) {
			s.Work = t.TempDir()
			if err := os.Chmod(s.Work, 0o755); err != nil {
				t.Fatal(err)
			}
		},
	} {
		s := preparable(t)
		change(&s)
		if _, err := Prepare(context.Background(), s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want an error with %q", err, says)
		}
	}
}

func TestPrepareKeepsTheDisk(t *testing.T) {
	labtest.Needs(t, "mkfs.ext4")
	s := preparable(t)
	for range 2 {
		argv, err := Prepare(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.argv(), argv); diff != "" {
			t.Error(diff)
		}
	}
	disk := filepath.Join(s.Work, diskFile)
	write(t, disk, []byte("its files"))
	if _, err := Prepare(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(disk); err != nil || string(b) != "its files" {
		t.Errorf("the disk was made anew: %d bytes, %v", len(b), err)
	}
	names, err := filepath.Glob(filepath.Join(s.Work, "*"))
	if want := []string{disk, filepath.Join(s.Work, initramfsFile)}; err != nil || !cmp.Equal(want, names) {
		t.Errorf("the private directory holds %v, %v", names, err)
	}
}
