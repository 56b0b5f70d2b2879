package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"linerate/internal/explain"
	"linerate/internal/host/delta"
	"linerate/internal/kernel"
	"linerate/internal/measure"
	"linerate/internal/model"
)

// streams is how long a stream of samples lasts at least.
const streams = 10 * time.Second

// clocks are what hosts' clocks show more than this machine's; those of the last are set while they
// are watched.
func clocks() []time.Duration {
	return []time.Duration{0, time.Hour, -time.Hour, 90 * time.Second, -37 * time.Second, 3 * 24 * time.Hour, 1500 * time.Millisecond, 0}
}

// ahead is by how much the clock of a host is ahead at a beat.
func ahead(i, n int) time.Duration {
	all := clocks()
	kind := i % len(all)
	if kind == len(all)-1 && n/60%2 == 1 {
		return -3 * time.Minute
	}
	return all[kind]
}

// beats makes a sample of this machine's once a beat, packed once for all simulated hosts whose
// clocks show the same: what they cost is no part of the figures. Each host sends it at a moment of
// its own within the beat.
type beats struct {
	hosts         int           // of the site
	beat          time.Duration // between two samples of a host
	seed          uint64        // of the faults; 0: none
	sent, dropped atomic.Int64  // of the dropped those between two that were sent: before and after no view follows

	mu   sync.Mutex
	list map[chan beaten]bool
}

// beaten is one sample, and as a batch of its own for each kind of clock.
type beaten struct {
	at      time.Time
	n       int
	sample  model.Sample
	batches []delta.Batch
}

// phase is how long after a beat a host sends its sample.
func phase(beat time.Duration, i int) time.Duration {
	return time.Duration(i*619%997) * beat / 1000
}

// run reads and packs until ctx ends.
func (b *beats) run(ctx context.Context) error {
	reader, err := measure.NewSampler(kernel.Live{}, measure.Watch{Counters: explain.Counters()}, time.Now)
	if err != nil {
		return err
	}
	packers := make([]delta.Writer, len(clocks()))
	tick := time.NewTicker(b.beat)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		x := beaten{at: time.Now(), n: n}
		if x.sample, err = reader.Read(ctx); err != nil {
			return err
		}
		grow(&x.sample)
		for i := range packers {
			made, err := b.packed(&packers[i], x, i, nil, n%max(1, int(streams/b.beat)) == 0)
			if err != nil {
				return err
			}
			x.batches = append(x.batches, made)
		}
		b.mu.Lock()
		for c := range b.list {
			select {
			case c <- x:
			default: // that host does not come to send it: the gap shows
				b.dropped.Add(1)
			}
		}
		b.mu.Unlock()
	}
}

// coresOfAHost is how many cores a simulated host has: with them a sample has some 200 series, as the
// goals have it, whatever few this machine has.
const coresOfAHost = 16

// grow gives a sample the cores of a simulated host, each of which counts as one of this machine's.
func grow(s *model.Sample) {
	cpus, softnet := s.CPUs, s.Softnet
	for i := len(cpus); i < coresOfAHost && len(cpus) > 0; i++ {
		c := cpus[i%len(cpus)]
		c.CPU = i
		s.CPUs = append(s.CPUs, c)
	}
	for i := len(softnet); i < coresOfAHost && len(softnet) > 0; i++ {
		c := softnet[i%len(softnet)]
		c.CPU = i
		s.Softnet = append(s.Softnet, c)
	}
}

// packed is a beat's sample as the host with number i takes it.
func (b *beats) packed(pack *delta.Writer, x beaten, i int, conns []model.Conn, fresh bool) (delta.Batch, error) {
	s := x.sample
	s.At, s.HostAt, s.Conns = time.Duration(x.n)*b.beat, x.at.Add(ahead(i, x.n)).UTC(), conns
	text, err := json.Marshal(s)
	if err != nil {
		return delta.Batch{}, err
	}
	return pack.Pack([][]byte{text}, fresh)
}

func (b *beats) join() (c chan beaten, leave func()) {
	c = make(chan beaten, 32)
	b.mu.Lock()
	b.list[c] = true
	b.mu.Unlock()
	return c, func() {
		b.mu.Lock()
		delete(b.list, c)
		b.mu.Unlock()
	}
}

// tally is what a sampling of a host has sent, and what it did not.
type tally struct{ sent, dropped, between int }

// send is a sampling of one simulated host, until ctx ends. With faults it holds samples up now and
// then, and drops some up to the next that can be read alone, as a host does that has too many.
func (b *beats) send(ctx context.Context, s simulated, id int, write func(line []byte) error) (t tally) {
	in, leave := b.join()
	defer leave()
	defer func() { b.sent.Add(int64(t.sent)); b.dropped.Add(int64(t.between)) }()
	rng := rand.New(rand.NewPCG(b.seed, uint64(s.i)))
	first, dropping, row := -1, false, 0
	var own delta.Writer
	for {
		var x beaten
		select {
		case <-ctx.Done():
			return t
		case x = <-in:
		}
		batch, err := x.batches[s.i%len(x.batches)], error(nil)
		if s.moves {
			batch, err = b.packed(&own, x, s.i, s.conns(time.Duration(x.n)*b.beat), batch.Fresh)
		}
		if first < 0 && !batch.Fresh {
			continue
		}
		if first < 0 {
			first = x.n
		}
		wait := time.Until(x.at.Add(phase(b.beat, s.i)))
		if b.seed > 0 {
			if rng.IntN(300) == 0 {
				wait += time.Duration(2+rng.IntN(6)) * time.Second
			}
			dropping = rng.IntN(500) == 0 || dropping && !batch.Fresh
		}
		select {
		case <-ctx.Done():
			return t
		case <-time.After(wait):
		}
		if dropping {
			t.dropped++
			row++
			continue
		}
		line, jerr := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "samples", "params": map[string]any{
			"id": id, "n": x.n - first, "count": 1, "fresh": batch.Fresh, "bytes": batch.Bytes, "data": batch.Data}})
		if err != nil || jerr != nil || write(line) != nil {
			return t
		}
		if t.sent++; t.sent > 1 {
			t.between += row
		}
		row = 0
	}
}

// ownAddress is the one that a simulated host has alone.
func ownAddress(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 20, byte(i >> 8), byte(i)}) }

// conns is a host's connection to the one beside it, over which the first of two sends.
func (s simulated) conns(lasted time.Duration) []model.Conn {
	other := s.i ^ 1
	moved := int64(lasted/time.Millisecond) * 117_000
	c := model.Conn{Local: netip.AddrPortFrom(ownAddress(s.i), 2049), Remote: netip.AddrPortFrom(ownAddress(other), 2049), Inode: uint32(1 + s.i), CC: "cubic", InfoLen: 248, State: 1,
		RTO: 204 * time.Millisecond, SndMSS: 1448, RcvMSS: 1448, AdvMSS: 1448, PMTU: 1500, Cwnd: 100, RTT: time.Millisecond, MinRTT: 400 * time.Microsecond, RcvSpace: 14480,
		SndBuf: 4 << 20, RcvBuf: 6 << 20, SegsIn: moved / 1448, SegsOut: moved / 2896}
	if s.i%2 == 0 {
		c.BytesAcked, c.BytesSent, c.DataSegsOut, c.Busy = moved, moved, moved/1448, lasted
	} else {
		c.BytesReceived, c.DataSegsIn = moved, moved/1448
	}
	return []model.Conn{c}
}
