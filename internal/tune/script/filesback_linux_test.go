package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/lab/labtest"
)

// bootFiles are those that the plans of a kind change.
func bootFiles(kind string) []string {
	return map[string][]string{
		"illumos": {"etc/system", "kernel/drv/ixgbe.conf"},
		"freebsd": {"etc/sysctl.conf", "boot/loader.conf"},
		"macos":   {"etc/nsmb.conf", "etc/linerate.sysctl.sh", "Library/LaunchDaemons/org.linerate.sysctl.plist"},
	}[kind]
}

// fileBox has the steps alone that change files: the first two and the last.
func fileBox(t *testing.T, exe, kind string) *box {
	t.Helper()
	n := 0
	return newBoxOf(t, exe, kind, []string{"sh"}, true, changes(kind), func(s Step) bool {
		if s.File != "" {
			n++
		}
		return s.File != "" && (n <= 2 || s.File == "/boot/loader.conf")
	})
}

// look is all of a file that undo has to put back: bytes, mode, owner, time, extended attributes.
func look(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "not there"
	}
	b, err2 := os.ReadFile(path)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	at := info.Sys().(*syscall.Stat_t)
	text := fmt.Sprintf("%q %v %d:%d %v", b, info.Mode(), at.Uid, at.Gid, info.ModTime().UnixNano())
	for _, name := range []string{"user.note", "system.posix_acl_access"} {
		value := make([]byte, 256)
		if n, err := syscall.Getxattr(path, name, value); err == nil {
			text += fmt.Sprintf(" %s=%x", name, value[:n])
		}
	}
	return text
}

// variant makes the boot files of a host such as a person may have left them.
type variant struct {
	name string
	text string
	make func(path string) error // after it was written; nil: nothing more
}

func variants(t *testing.T) []variant {
	all := []variant{
		{"empty", "", nil}, {"without a last newline", "* # one\n# two", nil}, {"of blank lines", "\n\n", nil},
		{"with ends of Windows", "# one\r\n", nil}, {"with blank lines at its end", "# one\n\n\n", nil},
		{"of mode 0640", "# one\n", func(p string) error { return os.Chmod(p, 0o640) }},
	}
	if os.Getuid() == 0 {
		all = append(all, variant{"of another owner", "# one\n", func(p string) error { return os.Chown(p, 12, 34) }})
	} else {
		t.Log("not tried, as it takes root: a file of another owner")
	}
	try := filepath.Join(t.TempDir(), "try")
	if err := os.WriteFile(try, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	note := func(p string) error { return syscall.Setxattr(p, "user.note", []byte("kept"), 0) }
	acl := func(p string) error { return exec.Command("setfacl", "-m", "u:12:r", p).Run() }
	if err := note(try); err != nil {
		t.Logf("not tried: extended attributes: %v", err)
	} else {
		all = append(all, variant{"with an extended attribute", "# one", note})
	}
	if err := acl(try); err != nil {
		t.Logf("not tried: ACLs, by setfacl: %v", err)
	} else {
		all = append(all, variant{"with an ACL", "", acl})
	}
	return all
}

// put makes a boot file of that variant.
func (v variant) put(t *testing.T, b *box) {
	t.Helper()
	for _, f := range bootFiles(b.kind) {
		if strings.Contains(f, "linerate") {
			continue // which only linerate makes
		}
		b.write(f, v.text)
		if v.make == nil {
			continue
		}
		if err := v.make(filepath.Join(b.root, f)); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *box) files() string {
	b.t.Helper()
	var out []string
	for _, f := range bootFiles(b.kind) {
		out = append(out, f+": "+look(b.t, filepath.Join(b.root, f)))
	}
	left, err := filepath.Glob(b.root + "/*/*.linerate-new*")
	if err != nil || len(left) > 0 {
		b.t.Errorf("left behind: %v %v", left, err)
	}
	return strings.Join(out, "\n")
}

// Undo puts a boot file back byte for byte, with its mode, owner, time, ACL and attributes, after
// an apply that ended, and after one and an undo that were killed.
func TestBootFilesAreAsTheyWere(t *testing.T) {
	t.Parallel()
	exe, all := fakehost(t), variants(t)
	long, every := labtest.Short(t.Name()) == "", 97
	if long {
		every = 3
	}
	for k, kind := range []string{"illumos", "freebsd", "macos"} {
		for i, v := range all {
			if !long && i%3 != k {
				continue // each kind has those of its turn
			}
			b := fileBox(t, exe, kind)
			v.put(t, b)
			before := b.files()
			if out, code := b.run(nil, "apply"); code != 0 {
				t.Fatalf("%s, a file %s: apply ends with %d\n%s", kind, v.name, code, out)
			}
			calls := b.calls()
			if b.files() == before {
				t.Errorf("%s, a file %s: apply changed no file", kind, v.name)
			}
			out, code := b.run(nil, "undo")
			if now := b.files(); code != 0 || now != before {
				t.Errorf("%s, a file %s: %d, was\n%s\nis\n%s\n%s", kind, v.name, code, before, now, out)
			}
			for at := 1 + i*7; at <= calls; at += every {
				kill := []string{killAt + "=" + strconv.Itoa(at)}
				b.run(kill, "apply")
				b.run(kill, "undo")
				out, code := b.run(nil, "undo")
				if now := b.files(); code != 0 || now != before {
					t.Errorf("%s, a file %s, killed at %d: %d, was\n%s\nis\n%s\n%s", kind, v.name, at, code, before, now, out)
				}
			}
		}
	}
}

// What somebody else wrote to a boot file since stays, and only linerate's lines go; also where
// they wrote it after an apply that was killed, and before it went on.
func TestWhatSomebodyElseWroteToABootFileStays(t *testing.T) {
	t.Parallel()
	exe := fakehost(t)
	const theirs = "# theirs\n"
	for _, first := range []string{"", "# one\n# two"} {
		b := fileBox(t, exe, "freebsd")
		variant{text: first}.put(t, b)
		b.run(nil, "apply")
		for _, f := range bootFiles(b.kind) {
			b.appendTo(f, theirs)
		}
		out, code := b.run(nil, "undo")
		for _, f := range bootFiles(b.kind) {
			want := first + theirs
			if first != "" {
				want = first + "\n" + theirs // linerate ended their line
			}
			if got, err := os.ReadFile(filepath.Join(b.root, f)); err != nil || code != 0 || string(got) != want {
				t.Errorf("%s: %d %v: %q, want %q\n%s", f, code, err, got, want, out)
			}
		}
	}
	whole := fileBox(t, exe, "freebsd")
	whole.run(nil, "apply")
	calls := whole.calls()
	for at := 3; at <= calls; at += 29 {
		b := fileBox(t, exe, "freebsd")
		b.run([]string{killAt + "=" + strconv.Itoa(at)}, "apply")
		b.appendTo("etc/sysctl.conf", theirs)
		if out, code := b.run(nil, "apply"); code != 0 {
			t.Errorf("killed at %d, applied again: %d\n%s", at, code, out)
		}
		out, code := b.run(nil, "undo")
		if got, err := os.ReadFile(filepath.Join(b.root, "etc/sysctl.conf")); err != nil || code != 0 || !strings.HasSuffix(string(got), theirs) || strings.Contains(string(got), "linerate") {
			t.Errorf("killed at %d: %d %v: %q\n%s", at, code, err, got, out)
		}
	}
	// A file that somebody else gave other rights keeps those.
	b := fileBox(t, exe, "freebsd")
	b.run(nil, "apply")
	path := filepath.Join(b.root, "etc/sysctl.conf")
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	b.run(nil, "undo")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o604 {
		t.Errorf("%v, %v", info, err)
	}
}

func (b *box) appendTo(file, text string) {
	b.t.Helper()
	f, err := os.OpenFile(filepath.Join(b.root, file), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Two plans that changed one file are undone in their order, to the byte.
func TestTwoPlansOfOneFile(t *testing.T) {
	exe := fakehost(t)
	b := fileBox(t, exe, "illumos")
	variant{text: "* one"}.put(t, b)
	before := b.files()
	b.run(nil, "apply")
	m, err := Illumos{}.Mechanism("illumos.system.nfs.nfs3_max_threads", "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := Script{Plan: plan + "-b", State: b.dir + "/plans", Root: b.root, System: Illumos{}.System(), Unprivileged: true,
		Steps: []Step{{Name: "threads", From: "unset", To: "32", Mechanism: m}}}.Text()
	first := b.file
	b.file = b.dir + "/second.sh"
	if err := errors.Join(err, os.WriteFile(b.file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	between := b.files()
	for _, verb := range []string{"apply", "undo"} {
		if out, code := b.run(nil, verb); code != 0 {
			t.Fatalf("%s: %d\n%s", verb, code, out)
		}
	}
	if now := b.files(); now != between {
		t.Errorf("%s\nwas\n%s", now, between)
	}
	b.file = first
	if out, code := b.run(nil, "undo"); code != 0 || b.files() != before {
		t.Errorf("%d: %s\nwas\n%s\n%s", code, b.files(), before, out)
	}
}

// Files that cannot be replaced without a loss are left alone before anything is changed.
func TestBootFilesThatAreNotReplaced(t *testing.T) {
	exe := fakehost(t)
	for want, make := range map[string]func(path string) error{
		"is a link":    func(p string) error { return errors.Join(os.Rename(p, p+".real"), os.Symlink(p+".real", p)) },
		"has 2 names":  func(p string) error { return os.Link(p, p+".other") },
		"cannot be re": func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
	} {
		b := fileBox(t, exe, "freebsd")
		b.write("boot/loader.conf", "# one\n")
		if err := make(filepath.Join(b.root, "boot/loader.conf")); err != nil {
			t.Fatal(err)
		}
		before := b.changed()
		out, code := b.run(nil, "apply")
		if code != 1 || !strings.Contains(out, want) || !strings.Contains(out, "nothing was changed") || b.changed() != before {
			t.Errorf("%s: %d\n%s", want, code, out)
		}
	}
}

// changed counts what the fake keeps: nothing of a host that was not changed.
func (b *box) changed() string {
	b.t.Helper()
	all, err := os.ReadDir(b.fakes)
	if err != nil {
		b.t.Fatal(err)
	}
	return fmt.Sprint(len(all))
}
