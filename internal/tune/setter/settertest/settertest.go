// Package settertest holds the tests that every setter passes. It tests the
// contract of setter.Setter, nothing of a particular mechanism.
package settertest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
)

// Case is one setter and values to try on it.
type Case struct {
	Setter setter.Setter
	At     setter.Place
	A, B   string         // two canonical values that can both be in force
	Messy  string         // A, written differently
	Bad    []string       // values that must be refused before anything is written
	BadAt  []setter.Place // malformed, or of another mechanism
	Absent []setter.Place // well-formed, but not on this host

	// What follows is for mechanisms tried on a fake host.

	// Rounds are values that the kernel makes others of: wanted, read back.
	Rounds map[string]string
	// Rest prints everything that a write could touch beside the value: when A
	// is in force again, it is as it was.
	Rest func() string
	// Refuse has the host refuse every write with err; nil ends that.
	Refuse func(err error)
	// Vanish takes the device away in the middle of the next write.
	Vanish func()
	// RunShell: what Shell says works on the fake host too.
	RunShell bool
}

// Conform runs the family's tests.
func Conform(t *testing.T, c Case) {
	t.Run("owns its own only", c.owns)
	t.Run("canonical", c.canonical)
	t.Run("what is written is read", c.roundTrip)
	t.Run("bad values change nothing", c.bad)
	t.Run("bad places are refused", c.badPlaces)
	t.Run("absent places are errors", c.absent)
	t.Run("shell", c.shell)
	t.Run("what the kernel rounds is read as it is", c.rounds)
	if c.Rest != nil {
		t.Run("nothing else stays changed", c.rest)
	}
	if c.Refuse != nil {
		t.Run("refused writes change nothing and say why", c.refused)
	}
	if c.Vanish != nil {
		t.Run("a device that goes half way", c.vanished)
	}
}

func (c Case) rounds(t *testing.T) {
	c.write(t, c.A)
	for wanted, accepted := range c.Rounds {
		c.write(t, wanted)
		if got, err := c.Setter.Read(context.Background(), c.At, wanted); err != nil || got != accepted {
			t.Errorf("wrote %q, read %q, %v, want %q", wanted, got, err, accepted)
		}
		c.write(t, c.A)
		if got := c.read(t); got != c.A {
			t.Errorf("after %q and back: %q, want %q", wanted, got, c.A)
		}
	}
}

func (c Case) rest(t *testing.T) {
	c.write(t, c.A)
	before := c.Rest()
	for _, v := range []string{c.B, c.B, c.A, c.A} {
		c.write(t, v)
	}
	if after := c.Rest(); after != before {
		t.Errorf("set and set back, other things stay changed:\n%s\nbefore:\n%s", after, before)
	}
}

func (c Case) refused(t *testing.T) {
	c.write(t, c.A)
	before := ""
	if c.Rest != nil {
		before = c.Rest()
	}
	for _, cause := range []error{fs.ErrPermission, errors.ErrUnsupported} {
		c.Refuse(cause)
		if err := c.Setter.Write(context.Background(), c.At, c.B); !errors.Is(err, cause) || !strings.Contains(err.Error(), c.At.Setting) {
			t.Errorf("error %v, want one that names %s and keeps the cause %v", err, c.At.Setting, cause)
		}
		c.Refuse(nil)
		if got := c.read(t); got != c.A {
			t.Errorf("refused, and yet %q is in force, want %q", got, c.A)
		}
	}
	if c.Rest != nil && c.Rest() != before {
		t.Errorf("refused, and yet other things changed:\n%s\nbefore:\n%s", c.Rest(), before)
	}
}

// vanished is the last of the tests, for the device does not come back.
func (c Case) vanished(t *testing.T) {
	c.write(t, c.A)
	c.Vanish()
	// Whether the write itself fails depends on when the device went.
	if err := c.Setter.Write(context.Background(), c.At, c.B); err != nil && !strings.Contains(err.Error(), c.At.Setting) {
		t.Errorf("write: error %v does not name %s", err, c.At.Setting)
	}
	for range 2 { // undo and undo again
		if v, err := c.Setter.Read(context.Background(), c.At, c.A); err == nil {
			t.Errorf("read %q of a device that is gone", v)
		}
		if err := c.Setter.Write(context.Background(), c.At, c.A); err == nil {
			t.Error("wrote to a device that is gone")
		}
	}
}

func (c Case) owns(t *testing.T) {
	if !c.Setter.Owns(c.At.Setting) {
		t.Errorf("does not own %s", c.At.Setting)
	}
	for _, other := range []string{"", "linux", "windows.adapter.jumbo", "x" + c.At.Setting} {
		if c.Setter.Owns(other) {
			t.Errorf("owns %q", other)
		}
	}
}

func (c Case) canonical(t *testing.T) {
	for in, want := range map[string]string{c.Messy: c.A, c.A: c.A, c.B: c.B} {
		got, err := c.Setter.Canonical(c.At, in)
		if err != nil || got != want {
			t.Errorf("Canonical(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func (c Case) roundTrip(t *testing.T) {
	for _, v := range []string{c.A, c.B, c.B, c.A} {
		c.write(t, v)
		if got := c.read(t); got != v {
			t.Errorf("wrote %q, read %q", v, got)
		}
	}
	c.write(t, c.B)
	c.write(t, c.Messy)
	if got := c.read(t); got != c.A {
		t.Errorf("wrote %q, read %q, want %q", c.Messy, got, c.A)
	}
}

func (c Case) bad(t *testing.T) {
	c.write(t, c.A)
	for _, v := range append(c.Bad, "", " ", "a\x00b", "a\x1b[1m", "\u00a0", string(make([]byte, 10000))) {
		if _, err := c.Setter.Canonical(c.At, v); !errors.Is(err, setter.ErrValue) {
			t.Errorf("Canonical(%q): error %v, want ErrValue", v, err)
		}
		if err := c.Setter.Write(context.Background(), c.At, v); !errors.Is(err, setter.ErrValue) {
			t.Errorf("Write(%q): error %v, want ErrValue", v, err)
		}
	}
	if got := c.read(t); got != c.A {
		t.Errorf("bad values left %q, want %q", got, c.A)
	}
}

func (c Case) badPlaces(t *testing.T) {
	ctx := context.Background()
	for _, at := range append(c.BadAt, setter.Place{Setting: "windows.adapter.jumbo", Target: c.At.Target}) {
		if _, err := c.Setter.Canonical(at, c.A); err == nil {
			t.Errorf("Canonical at %v: no error", at)
		}
		if _, err := c.Setter.Read(ctx, at, c.A); err == nil {
			t.Errorf("Read at %v: no error", at)
		}
		if err := c.Setter.Write(ctx, at, c.A); err == nil {
			t.Errorf("Write at %v: no error", at)
		}
		if _, err := c.Setter.Shell(at, c.A); err == nil {
			t.Errorf("Shell at %v: no error", at)
		}
	}
}

func (c Case) absent(t *testing.T) {
	for _, at := range c.Absent {
		if v, err := c.Setter.Read(context.Background(), at, c.A); err == nil {
			t.Errorf("Read at %v: %q and no error", at, v)
		}
		if err := c.Setter.Write(context.Background(), at, c.A); err == nil {
			t.Errorf("Write at %v: no error", at)
		}
	}
}

func (c Case) shell(t *testing.T) {
	sh, err := c.Setter.Shell(c.At, c.A)
	if err != nil || sh.Read == "" || sh.Write == "" {
		t.Fatalf("Shell = %+v, %v", sh, err)
	}
	if !c.RunShell {
		return
	}
	c.write(t, c.B)
	sh, err = c.Setter.Shell(c.At, c.A)
	if err != nil {
		t.Fatal(err)
	}
	bin := bare(t, sh.Programs)
	if got := run(t, bin, "set -fu; "+sh.Read); got != c.B {
		t.Errorf("the shell reads %q, want %q:\n%s", got, c.B, sh.Read)
	}
	run(t, bin, "set -fu; value="+setter.Quote(c.A)+"; "+sh.Write)
	if got := c.read(t); got != c.A {
		t.Errorf("the shell wrote %q, read is %q:\n%s", c.A, got, sh.Write)
	}
}

// bare is a directory with coreutils and some programs, and nothing else: so no script calls a
// program that it does not name. It skips the test where this machine has no such program.
func bare(t *testing.T, programs []string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(setter.Coreutils(), programs...) {
		path, err := kernel.FindProgram(name, os.Getenv("PATH")+":"+setter.ProgramPath)
		if err != nil {
			t.Skipf("needs %s", name)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	return dir
}

// run executes a script the way undo.sh would, with the programs of one directory.
func run(t *testing.T, bin, script string) string {
	t.Helper()
	cmd := kernel.Exec(context.Background(), "/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+bin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s", script, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

func (c Case) write(t *testing.T, v string) {
	t.Helper()
	if err := c.Setter.Write(context.Background(), c.At, v); err != nil {
		t.Fatalf("write %q: %v", v, err)
	}
}

func (c Case) read(t *testing.T) string {
	t.Helper()
	v, err := c.Setter.Read(context.Background(), c.At, c.A)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return v
}
