package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/lab/labtest"
	"linerate/internal/move"
)

// attack changes what a proxy passes on; at is how far into the stream the piece begins.
type attack func(piece []byte, at int64) (pass []byte, more bool)

// proxy passes connections on, and attacks what the connection with this number, counted
// from 0, carries in one direction.
func proxy(t *testing.T, to netip.AddrPort, victim int32, up bool, a attack) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	var n atomic.Int32
	n.Store(-1)
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to.String())
			if err != nil {
				_ = c.Close()
				continue
			}
			mine := n.Add(1) == victim
			pass := func(from, to net.Conn, a attack) {
				defer from.Close()
				defer to.Close()
				buf, at := make([]byte, 32<<10), int64(0)
				for {
					k, err := from.Read(buf)
					piece, more := buf[:k], true
					if a != nil && k > 0 {
						piece, more = a(piece, at)
					}
					at += int64(k)
					if _, werr := to.Write(piece); werr != nil || err != nil || !more {
						return
					}
				}
			}
			var upward, downward attack
			if mine && up {
				upward = a
			} else if mine {
				downward = a
			}
			all.Go(func() { pass(c, far, upward) })
			all.Go(func() { pass(far, c, downward) })
		}
	})
	addr, _ := netip.ParseAddrPort(l.Addr().String())
	return addr
}

// attacks that begin after so many bytes.
func attacks(after int64) map[string]attack {
	var once atomic.Bool
	var held []byte
	hit := func(at int64) bool { return at >= after && once.CompareAndSwap(false, true) }
	return map[string]attack{
		"flip": func(b []byte, at int64) ([]byte, bool) {
			if hit(at) {
				b[len(b)/2] ^= 0x10
			}
			return b, true
		},
		"drop": func(b []byte, at int64) ([]byte, bool) {
			if hit(at) {
				return b[:0], true
			}
			return b, true
		},
		"repeat": func(b []byte, at int64) ([]byte, bool) {
			if hit(at) {
				return append(append([]byte(nil), b...), b...), true
			}
			return b, true
		},
		"reorder": func(b []byte, at int64) ([]byte, bool) {
			if hit(at) {
				held = append([]byte(nil), b...)
				return nil, true
			}
			if held != nil {
				out := append(append([]byte(nil), b...), held...)
				held = nil
				return out, true
			}
			return b, true
		},
		"truncate": func(b []byte, at int64) ([]byte, bool) {
			if hit(at) {
				return b[:len(b)/2], false
			}
			return b, true
		},
	}
}

// whole tells whether nothing wrong stands in the sink.
func whole(t *testing.T, m *memoryTree, s *memorySink) {
	t.Helper()
	for path, e := range s.entries {
		if e.Kind == move.File && string(s.data[path]) != string(m.data[path]) {
			t.Errorf("%q arrived wrong", path)
		}
	}
}

// Somebody on the way who changes anything ends the run. Where data go in the clear, blocks
// that were changed are sent again and small files fail by name; never is a file wrong, or
// missing without being named.
func TestWhoeverChangesWhatIsOnTheWayIsRefused(t *testing.T) {
	// Most of their time they wait for what was dropped: -parallel, which counts busy tests,
	// is not what bounds them, but their memory.
	var g errgroup.Group
	g.SetLimit(8)
	defer func() { _ = g.Wait() }() // the tests say what failed
	for name, plain := range map[string]bool{"tls": false, "plain": true} {
		for kind := range attacks(0) {
			for _, where := range []struct {
				name   string
				victim int32
				up     bool
				after  int64
			}{{"handshake", 0, true, 0}, {"control", 0, true, 3000}, {"answers", 0, false, 1500}, {"data", 1, true, 300000}} {
				attacked := func(t *testing.T) {
					if where.name != "data" || kind == "drop" || kind == "reorder" {
						labtest.Long(t)
					}
					a, b := keysOf(t, plain)
					l, err := Listen(loopback, a)
					if err != nil {
						t.Fatal(err)
					}
					defer l.Close()
					via := proxy(t, l.Addr(), where.victim, where.up, attacks(where.after)[kind])
					m, s := sampleTree(20), newMemorySink()
					_, received, send, receive := runEnds(t, &Dialler{Keys: b, Connect: To(via, netip.Addr{})}, l, m, s, Options{Streams: 2})
					whole(t, m, s)
					lost := failures(received)
					switch {
					case send == nil && receive == nil && len(lost) == 0:
						same(t, m, s) // the attack was made good, or hit nothing
						if !plain && where.victim == 0 && where.after == 0 {
							t.Error("a changed handshake was accepted")
						}
					case send == nil && receive == nil: // small files that arrived changed
						if len(s.entries)+len(lost) != len(m.entries) || !plain {
							t.Errorf("%d entries arrived and %d were reported as lost, of %d", len(s.entries), len(lost), len(m.entries))
						}
					case send == nil:
						t.Error("the sender takes it for done:", receive)
					}
				}
				g.Go(func() error { t.Run(name+" "+kind+" "+where.name, attacked); return nil })
			}
		}
	}
}

func TestAStrangerIsLetGoAfterItsFirstBytes(t *testing.T) {
	l, d := parties(t, false)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET / HT")); err != nil { // 8 bytes, and not one more
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a stranger gets %v, want to be closed", err)
	}
	m, s := sampleTree(21), newMemorySink()
	if _, _, send, receive := runEnds(t, d, l, m, s, Options{}); send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	_ = l.Close() // after which all that knocked are counted
	if l.Strangers.Load() != 1 {
		t.Errorf("%d strangers, want 1", l.Strangers.Load())
	}
}

func TestOnlyTheRunsOwnEndIsLetIn(t *testing.T) {
	for _, plain := range []bool{false, true} {
		a, b := keysOf(t, plain)
		other, _ := keysOf(t, plain)
		spoil := map[string]func(k *Keys, h *hello){
			"own key":     func(k *Keys, _ *hello) { k.Self = other.Self },
			"other peer":  func(k *Keys, _ *hello) { k.Peer = other.Peer },
			"own secret":  func(k *Keys, _ *hello) { k.Secret = other.Secret },
			"another run": func(k *Keys, _ *hello) { k.Run = other.Run },
			"other mode":  func(k *Keys, _ *hello) { k.Plain = !k.Plain },
		}
		for name, f := range spoil {
			if plain && (name == "own key" || name == "other peer") {
				continue // there are no certificates
			}
			l, err := Listen(loopback, a)
			if err != nil {
				t.Fatal(err)
			}
			k := *b
			f(&k, nil)
			c, err := (&Dialler{Keys: &k, Connect: To(l.Addr(), netip.Addr{})}).Stream(t.Context(), 0)
			if err == nil {
				// In TLS 1.3 who dials hears of its refusal with the first answer; with
				// another secret each end takes the other's frames for changed.
				_ = c.send(frame{kind: kindEnd})
				if name == "own secret" && !plain {
					s, serr := l.Stream(t.Context(), 0)
					if serr != nil {
						t.Fatal(serr)
					}
					_, _, _, err = s.receive()
				} else {
					_, _, _, err = c.receive()
				}
			}
			if err == nil {
				t.Errorf("plain %v: with %s it was let in", plain, name)
			}
			_ = l.Close()
		}
	}
}

// What one connection carried is worth nothing on another, not even of the same run.
func TestAReplayIsRefused(t *testing.T) {
	a, b := keysOf(t, true)
	l, err := Listen(loopback, a)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var kept []byte
	var mu sync.Mutex
	via := proxy(t, l.Addr(), 0, true, func(p []byte, _ int64) ([]byte, bool) {
		mu.Lock()
		defer mu.Unlock()
		kept = append(kept, p...)
		return p, true
	})
	c, err := (&Dialler{Keys: b, Connect: To(via, netip.Addr{})}).Stream(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.send(frame{kind: kindFail, meta: appendText(nil, "x")}); err != nil {
		t.Fatal(err)
	}
	s, err := l.Stream(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.receive(); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	again, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	mu.Lock()
	binary.BigEndian.PutUint32(kept[12:], 4) // a stream that is free
	_, _ = again.Write(kept)
	mu.Unlock()
	_ = again.SetReadDeadline(time.Now().Add(20 * time.Second))
	rest, _ := io.ReadAll(again) // the nonce, and nothing more
	_ = l.Close()                // after which all that knocked are counted
	if len(rest) > nonceSize || l.Strangers.Load() == 0 {
		t.Errorf("a replay was answered by %d bytes, and %d strangers were let go", len(rest), l.Strangers.Load())
	}
}

func FuzzMessages(f *testing.F) {
	e := &move.Entry{ID: 4, Path: "a/b", Kind: move.File, Size: 9}
	b := move.Block{Extents: []move.Extent{{Offset: 0, Length: 9}}}
	f.Add(fileMessage{1, e}.append(nil), uint16(0))
	f.Add(haveMessage{id: 1, leaves: []move.Leaf{{Index: 1}, {Index: 7}}}.append(nil), uint16(0))
	f.Add(blockMessage{1, b}.append(nil), uint16(9))
	f.Add(appendPacked(binary.AppendUvarint(binary.AppendUvarint(nil, 3), 1), packed{e, b}), uint16(9))
	f.Add(commitMessage{1, 2, move.Hash{}}.append(nil), uint16(0))
	f.Add(doneMessage{1, outcomeFailed, "x"}.append(nil), uint16(0))
	f.Add(pairMessage{1, 2}.append(nil), uint16(0))
	f.Add(askMessage{{Path: "a/b", Directory: true}}.append(nil), uint16(0))
	f.Add(toldMessage{unread: 1, keeps: []bool{true, false}, failed: "x"}.append(nil), uint16(0))
	f.Add(lookMessage{e}.append(nil), uint16(0))
	f.Add(lookedMessage{have: []move.Presence{move.Differs, move.Absent}, failed: "x"}.append(nil), uint16(0))
	f.Add(hello{stream: 3}.append(nil)[len(magic):], uint16(0))
	f.Add(make([]byte, headSize), uint16(0))
	f.Fuzz(func(t *testing.T, text []byte, data uint16) {
		if m, err := parseFile(text); err == nil && m.entry.Check() != nil {
			t.Error("an entry passes that its own check refuses")
		}
		if m, err := parseLook(text); err == nil && len(m) > len(text) {
			t.Error("more entries than there are bytes")
		}
		if m, err := parseLooked(text); err == nil && len(m.have) > len(text) {
			t.Error("more answers than there are bytes")
		}
		if m, err := parseHave(text); err == nil && len(m.leaves)*33 > len(text) {
			t.Error("more leaves than there are bytes")
		}
		if m, err := parseBlockFrame(text, int(data)); err == nil {
			m.Data = make([]byte, data)
			size := (m.Index + 1) * move.BlockSize
			m.Hash = move.Sum(move.Fast, m.Extents, m.Data)
			_ = m.Check(move.Fast, size) // must not panic
		}
		if m, err := parsePack(text, int(data)); err == nil && len(m.files) > maxPacked {
			t.Error("more files than a pack may have")
		}
		if m, err := parseAsk(text); err == nil {
			for _, n := range m {
				if move.CheckPath(n.Path) != nil {
					t.Error("a name passes that no path may have")
				}
			}
		}
		if m, err := parseTold(text); err == nil && len(m.keeps) > maxAsked {
			t.Error("more answers than there can be questions")
		}
		_, _ = parseCommit(text)
		_, _ = parseDone(text)
		_, _ = parsePair(text)
		_, _ = parseStream(text)
		if s, err := parseText(text); err == nil && len(s) > 4*maxText {
			t.Error("a text without a bound")
		}
		_, _ = parseHello(text)
		if len(text) >= macAt {
			if _, m, d, err := parseHead(text[:macAt], uint64(data)); err == nil && (m > maxMeta || d > MaxData) {
				t.Error("a frame out of bounds")
			}
		}
	})
}
