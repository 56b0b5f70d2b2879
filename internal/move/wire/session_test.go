package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"linerate/internal/move"
)

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// parties are a listener and a dialler of one run on loopback.
func parties(t testing.TB, plain bool) (*Listener, *Dialler) {
	t.Helper()
	a, b := keysOf(t, plain)
	l, err := Listen(loopback, a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, &Dialler{Keys: b, Connect: To(l.Addr(), netip.Addr{}), Ahead: 2}
}

func TestATreeArrivesAsItIsWhicheverEndDials(t *testing.T) {
	for name, plain := range map[string]bool{"tls": false, "plain": true} {
		for _, sends := range []string{"dialler", "listener"} {
			t.Run(name+" "+sends+" sends", func(t *testing.T) {
				l, d := parties(t, plain)
				m, s := sampleTree(7), newMemorySink()
				var from, to Party = d, l
				if sends == "listener" {
					from, to = l, d
				}
				sent, received, send, receive := runEnds(t, from, to, m, s, Options{Streams: 3})
				if send != nil || receive != nil {
					t.Fatal(send, receive)
				}
				same(t, m, s)
				wantFailures(t, sent)
				wantFailures(t, received)
			})
		}
	}
}

func TestBlocksThatAreThereAreNotSent(t *testing.T) {
	l, d := parties(t, true)
	m, s := sampleTree(8), newMemorySink()
	f, err := m.Open(t.Context(), m.entries[2])
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int64{0, 2} {
		b, err := f.Read(t.Context(), i, make([]byte, move.BlockSize))
		if err != nil {
			t.Fatal(err)
		}
		s.have["large"] = append(s.have["large"], move.Leaf{Index: i, Hash: b.Hash})
	}
	clear(m.reads)
	if _, _, send, receive := runEnds(t, d, l, m, s, Options{}); send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	if m.reads["large"] != 2 || len(s.wrong) > 0 || s.entries["large"] == nil {
		t.Errorf("%d blocks were read, want 2; wrong %q", m.reads["large"], s.wrong)
	}
}

func TestABlockThatArrivesSpoiledIsSentAgain(t *testing.T) {
	l, d := parties(t, true)
	m, s := sampleTree(9), newMemorySink()
	spoiled := map[int64]bool{}
	s.spoil = func(path string, b *move.Block) {
		if path == "large" && !spoiled[b.Index] {
			spoiled[b.Index] = true
			b.Data[5] ^= 1
		}
	}
	if _, _, send, receive := runEnds(t, d, l, m, s, Options{Streams: 2}); send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	same(t, m, s)
	if m.reads["large"] != 8 {
		t.Errorf("%d blocks were read, want each of 4 twice", m.reads["large"])
	}
}

func TestABlockThatIsAlwaysSpoiledFailsItsFileAlone(t *testing.T) {
	l, d := parties(t, true)
	m, s := sampleTree(10), newMemorySink()
	s.spoil = func(path string, b *move.Block) {
		if path == "large" && b.Index == 1 {
			b.Data[5] ^= 1
		}
	}
	sent, _, send, receive := runEnds(t, d, l, m, s, Options{Streams: 2})
	if send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	// Its further name has no first one then, is sent as a file, and arrives.
	wantFailures(t, sent, "large")
	if s.entries["large"] != nil || s.entries["d/middle"] == nil || s.entries["again"] == nil || s.kept["large"] != 1 {
		t.Errorf("large %v, again %v, kept %v", s.entries["large"], s.entries["again"], s.kept)
	}
}

func TestASourceThatChangesIsReadOnceMoreAndThenFails(t *testing.T) {
	l, d := parties(t, true)
	m, s := sampleTree(11), newMemorySink()
	small := m.entries[5].Path
	m.changes["large"], m.changes[small] = 1, 1
	m.changes["d/middle"], m.changes["empty"] = 2, 2
	sent, received, send, receive := runEnds(t, d, l, m, s, Options{})
	if send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	wantFailures(t, sent, "d/middle", "empty")
	wantFailures(t, received)
	if n := sent.Summary().Retried; n != 4 {
		t.Errorf("%d files were read once more, want 4", n)
	}
	if s.entries["large"] == nil || s.entries[small] == nil || s.entries["d/middle"] != nil || s.entries["empty"] != nil {
		t.Error("what arrived is not what did not change twice")
	}
}

func TestWhatTheSinkRefusesFailsByNameAndTheRestArrives(t *testing.T) {
	l, d := parties(t, true)
	m, s := sampleTree(12), newMemorySink()
	no := errors.New("no")
	small := m.entries[5].Path
	s.refuse["link"], s.refuse[small], s.refuse["d/middle"], s.refuse["large write"] = no, no, no, no
	delete(m.data, "d/sparse") // cannot be read
	sent, received, send, receive := runEnds(t, d, l, m, s, Options{})
	if send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	wantFailures(t, sent, "d/sparse")
	wantFailures(t, received, "d/middle", small, "large", "link")
	if s.entries["again"] == nil || s.entries["large"] != nil {
		t.Error("a further name of what failed was not sent as a file")
	}
}

func TestAFullTargetEndsTheRunAtBothEnds(t *testing.T) {
	for _, what := range []string{"large write", "large", "d", "d/middle", "again"} {
		t.Run(what, func(t *testing.T) {
			l, d := parties(t, true)
			m, s := sampleTree(13), newMemorySink()
			s.refuse[what] = errors.Join(move.ErrSink, errors.New("no space left on device"))
			_, _, send, receive := runEnds(t, d, l, m, s, Options{})
			if send == nil || receive == nil || s.finished {
				t.Fatal("a full target was taken for a good end:", send, receive)
			}
			if !strings.Contains(send.Error(), "no space left") || strings.Contains(send.Error(), "end: the other end") {
				t.Errorf("the sender says %q", send)
			}
			// The receiver gives the sink's own reason, not what the sender repeats of it.
			if text := receive.Error(); !errors.Is(receive, move.ErrSink) || !strings.Contains(text, "no space left") || strings.Contains(text, "the other end") {
				t.Errorf("the receiver says %q", text)
			}
		})
	}
}

func TestAnEndThatIsInterruptedTellsTheOther(t *testing.T) {
	l, d := parties(t, false)
	m, s := sampleTree(14), newMemorySink()
	ctx, cancel := context.WithCancel(t.Context())
	s.spoil = func(string, *move.Block) { cancel() }
	done := make(chan error, 1)
	go func() { done <- Receive(t.Context(), l, s, move.NewReport(nil), Near{}, &Stats{}) }()
	send := Send(ctx, d, m, move.NewReport(nil), Options{}, &Stats{})
	receive := <-done
	if send == nil || receive == nil || s.finished {
		t.Fatal(send, receive)
	}
	if !strings.Contains(receive.Error(), wasStopped) {
		t.Errorf("the receiver says %q", receive)
	}
}

// gathering is a source that opens no file before as many are asked for as are read at once.
type gathering struct {
	*memoryTree
	t    *testing.T
	n    atomic.Int64
	here chan struct{}
}

func (g *gathering) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	if g.n.Add(1) == smallReaders {
		close(g.here)
	}
	select {
	case <-g.here:
	case <-time.After(30 * time.Second):
		g.t.Errorf("fewer than %d small files are read at once", smallReaders)
	}
	return g.memoryTree.Open(ctx, e)
}

func TestManySmallFilesAreReadAtOnce(t *testing.T) {
	l, d := parties(t, true)
	m, s, r := newMemoryTree(), newMemorySink(), rand.NewChaCha8([32]byte{1})
	for i := range 2 * smallReaders {
		m.file(fmt.Sprint(i), 16<<10, r)
	}
	g := &gathering{memoryTree: m, t: t, here: make(chan struct{})}
	if _, _, send, receive := runEnds(t, d, l, g, s, Options{}); send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	same(t, m, s)
}

func TestAPortThatNobodyHearsIsUnreached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := netip.ParseAddrPort(l.Addr().String())
	_ = l.Close()
	_, k := keysOf(t, false)
	err = Send(t.Context(), &Dialler{Keys: k, Connect: To(addr, netip.Addr{})}, sampleTree(1), move.NewReport(nil), Options{}, &Stats{})
	var not *UnreachedError
	if !errors.As(err, &not) {
		t.Errorf("%v, want an UnreachedError", err)
	}
}

// How busy the readers are is judged by how many there are of what was read: both are told apart.
func TestReadersAreCountedByWhatTheyRead(t *testing.T) {
	var s Stats
	for _, m := range []*move.Meter{&s.Read, &s.ReadSmall} {
		m.Begin()
		for m.Sum() == 0 {
		}
		m.End()
	}
	l := s.Look()
	if l = l.Plus(l); l.Lanes != Readers || l.LanesSmall != smallReaders || l.ReadingSmall != 2*s.ReadSmall.Sum() || l.Reading != 2*(s.Read.Sum()+s.ReadSmall.Sum()) {
		t.Errorf("%+v of %v in blocks and %v in small files", l, s.Read.Sum(), s.ReadSmall.Sum())
	}
}
