// Package settertest holds the tests that every setter passes. It tests the
// contract of setter.Setter, nothing of a particular mechanism.
package settertest

import (
	"context"
	"errors"
	"testing"

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
		t.Errorf("Shell = %+v, %v", sh, err)
	}
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
