package mover

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"linerate/internal/move"
	"linerate/internal/move/wire"
)

// spreadTasks are those of sources and targets, with a run for each pair.
func spreadTasks(t *testing.T, from, to []Task) {
	t.Helper()
	for i := range from {
		for j := range to {
			run, secret, err := wire.Draw()
			if err != nil {
				t.Fatal(err)
			}
			p := Pair{Run: run, Secret: secret}
			from[i].Spread, to[j].Spread = append(from[i].Spread, p), append(to[j].Spread, p)
		}
	}
}

// begun starts a mover of a spread and has it open its files.
func begun(t *testing.T, task Task) (*end, wire.Pin) {
	t.Helper()
	e := start(t, task)
	pin := e.until(Ready).Pin
	e.send(Command{Order: Open})
	e.until(Opened)
	return e, pin
}

// Two sources write to two targets. One target is given up before it is reached: the other gets
// everything, of both.
func TestSeveralSourcesFillTheTargetThatIsLeft(t *testing.T) {
	root := t.TempDir()
	var from, to []Task
	want := map[string][]byte{}
	for i := range 2 {
		dir := filepath.Join(root, fmt.Sprintf("src%d", i))
		for k := range 20 {
			path := filepath.Join(dir, fmt.Sprintf("d%d", k%3), fmt.Sprintf("f%d", k))
			data := bytes.Repeat([]byte{byte(k + i)}, 1<<k%(3<<20))
			want[fmt.Sprintf("src%d/d%d/f%d", i, k%3, k)] = data
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		from = append(from, Task{Read: []move.Raw{move.Raw(dir)}})
		to = append(to, Task{Write: move.Raw(filepath.Join(root, fmt.Sprintf("dst%d", i)))})
	}
	spreadTasks(t, from, to)
	var sources, targets [2]*end
	var fromPin, toPin [2]wire.Pin
	for i := range 2 {
		sources[i], fromPin[i] = begun(t, from[i])
		targets[i], toPin[i] = begun(t, to[i])
	}
	for i := range 2 {
		targets[0].send(Command{Order: Listen, Pair: i, At: netip.MustParseAddrPort("127.0.0.1:0"), Peer: fromPin[i]})
		at := targets[0].until(Listening)
		sources[i].send(Command{Order: Drop, Pair: 1})
		sources[i].send(Command{Order: Dial, Pair: 0, At: at.Addr, Peer: toPin[0]})
		targets[1].send(Command{Order: Drop, Pair: i})
		if at.Pair != i {
			t.Errorf("it listens for %d, want %d", at.Pair, i)
		}
	}
	for i := range 2 {
		if e := sources[i].until(Parted); e.Pair != 1 || e.Text == "" {
			t.Errorf("source %d: %+v", i, e)
		}
	}
	if w := targets[1].until(Over).Work; w.Moved.Files != 0 {
		t.Errorf("a target that was given up got %+v", w)
	}
	for i := range 2 {
		sources[i].until(Over)
	}
	w := targets[0].until(Over).Work
	if w.Moved.Files != int64(len(want)) || len(w.Pairs) != 2 || w.Pairs[0].Bytes == 0 || w.Pairs[1].Bytes == 0 {
		t.Errorf("the other got %+v", w)
	}
	for name, data := range want {
		if got, err := os.ReadFile(filepath.Join(root, "dst0", name)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes of %d: %v", name, len(got), len(data), err)
		}
	}
}

// A source whose end is gone in the middle ends its own pairs alone.
func TestASourceThatIsGoneLeavesTheOthers(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name, "file"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from := []Task{{Read: []move.Raw{move.Raw(root + "/a")}}, {Read: []move.Raw{move.Raw(root + "/b")}}}
	to := []Task{{Write: move.Raw(root + "/dst")}}
	spreadTasks(t, from, to)
	target, pin := begun(t, to[0])
	gone, gonePin := begun(t, from[0])
	stays, staysPin := begun(t, from[1])
	for i, p := range []wire.Pin{gonePin, staysPin} {
		target.send(Command{Order: Listen, Pair: i, At: netip.MustParseAddrPort("127.0.0.1:0"), Peer: p})
		at := target.until(Listening)
		if i == 0 {
			if err := gone.in.Close(); err != nil { // nobody is left who asked for it
				t.Fatal(err)
			}
			if err := <-gone.done; err != nil {
				t.Fatal(err)
			}
			target.send(Command{Order: Drop, Pair: 0})
			continue
		}
		stays.send(Command{Order: Dial, Pair: 0, At: at.Addr, Peer: pin})
	}
	stays.until(Over)
	if w := target.until(Over).Work; w.Moved.Files != 1 {
		t.Errorf("it got %+v", w)
	}
	if b, err := os.ReadFile(root + "/dst/b/file"); err != nil || string(b) != "b" {
		t.Errorf("%q, %v", b, err)
	}
}
