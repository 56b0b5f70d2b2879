package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A case that did not come to its end is none; what it has found counts, but for what an interruption makes.
func TestACaseThatDidNotEndIsNone(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, c := range []struct {
		ctx  context.Context
		ends error
		want tally
	}{
		{t.Context(), nil, tally{cases: 8, cut: 4, wrong: 5, falseDone: 6, unfinished: 7}},
		{t.Context(), errors.New("no room"), tally{cases: 7, cut: 1, wrong: 5, falseDone: 6, unfinished: 7}},
		{interrupted, errors.New("no room"), tally{cases: 7, cut: 1, wrong: 5, falseDone: 1, unfinished: 1}},
		{interrupted, nil, tally{cases: 7, cut: 1, wrong: 5, falseDone: 1, unfinished: 1}},
	} {
		k := fault{name: "one", one: func(_ context.Context, t *tally) error {
			*t = t.plus(tally{cut: 3, wrong: 4, falseDone: 5, unfinished: 6})
			return c.ends
		}}
		got := tally{cases: 7, cut: 1, wrong: 1, falseDone: 1, unfinished: 1}
		if err := k.run(c.ctx, &got); (err == nil) != (c.ends == nil && c.ctx.Err() == nil) {
			t.Errorf("a case that ends with %v, interrupted %v: %v", c.ends, c.ctx.Err(), err)
		}
		if got != c.want {
			t.Errorf("a case that ends with %v, interrupted %v: %+v, want %+v", c.ends, c.ctx.Err(), got, c.want)
		}
	}
}

// A copy that fails of itself before its kill was not cut by it.
func TestOnlyAKilledCopyIsCut(t *testing.T) {
	for _, c := range []struct {
		script string
		after  time.Duration
		cut    bool
		want   tally
	}{
		{"exec sleep 600", 0, true, tally{cut: 1}},
		{"exit 3", time.Hour, false, tally{unfinished: 1}},
	} {
		b, got := &bench{src: t.TempDir(), dst: t.TempDir()}, tally{}
		cmd := exec.Command("sh", "-c", c.script)
		kill := func() bool { return cmd.Process.Kill() == nil }
		cut, err := b.cutShort(t.Context(), &got, cmd, c.after, kill)
		if err != nil || cut != c.cut || got != c.want {
			t.Errorf("%s: cut %v, %+v (%v)", c.script, cut, got, err)
		}
	}
}

// Whatever is done to data under way, something else arrives.
func TestSpoilersSpoil(t *testing.T) {
	p := &proxy{rand: rand.New(rand.NewPCG(1, 1))}
	for i, do := range spoilers {
		for _, sent := range [][]byte{{7}, {1, 2}, {7, 7, 7}, bytes.Repeat([]byte("ab"), 3), []byte("some more")} {
			for range 50 {
				var came bytes.Buffer
				if err := do(p, &came, slices.Clone(sent)); err != nil && !errors.Is(err, errCut) {
					t.Fatal(err)
				}
				if bytes.Equal(came.Bytes(), sent) {
					t.Fatalf("spoiler %d leaves %v as it is", i, sent)
				}
			}
		}
	}
}

// A port at which nobody listens has had no stranger.
func TestAStrangerWhoDoesNotComeIsToldOf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: l.Addr().String()}
	if err := p.call([][]byte{[]byte("one"), nil}); err != nil {
		t.Errorf("strangers came: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if p.call([][]byte{nil}) == nil {
		t.Error("nobody listens, and a stranger came")
	}
}

// A file that is missing and not named is done that was not, also where another one is named that is there;
// a run that did not meet its fault is no case, and was not cut by it.
func TestEveryMissingFileIsNamed(t *testing.T) {
	done, err := exec.LookPath("true") // a last copy that says it is done, and does nothing
	if err != nil {
		t.Skipf("no copy to go on with: %v", err)
	}
	const last = 1 // what it is counted for
	for _, c := range []struct {
		o    outcome
		want tally
	}{
		{outcome{over: true, done: true, failed: map[string]bool{"missing": true}}, tally{cases: 1, cut: 1, falseDone: last}},
		{outcome{over: true, done: true, failed: map[string]bool{"there": true}}, tally{cases: 1, cut: 1, falseDone: last + 1}},
		{outcome{over: true, done: true}, tally{cases: 1, falseDone: last + 1}},
		{outcome{done: true}, tally{cases: 1, cut: 1, falseDone: last}},
		{outcome{}, tally{falseDone: last}},
	} {
		b, got := &bench{src: t.TempDir(), dst: t.TempDir()}, tally{cases: 1}
		b.Binary, b.Home = done, t.TempDir()
		for _, path := range []string{filepath.Join(b.src, "there"), filepath.Join(b.src, "missing"), filepath.Join(b.dst, "there")} {
			if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, time.Time{}, time.Unix(1, 0))); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Chtimes(b.src, time.Time{}, time.Unix(1, 0)), os.Chtimes(b.dst, time.Time{}, time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
		if err := b.after(t.Context(), &got, c.o, nil); err != nil || got != c.want {
			t.Errorf("%+v: %+v, want %+v (%v)", c.o, got, c.want, err)
		}
	}
}
