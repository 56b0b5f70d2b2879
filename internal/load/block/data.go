package block

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"linerate/internal/load/ring"
	"linerate/internal/unit"
)

// Stamp is what the first bytes of every sector of 4 KiB that a run writes say
// (and of every request, where that is smaller): which run wrote it, where it
// belongs, with which of the run's requests and when, and what follows. Five
// words little-endian and a sixth that mixes them, so that a stamp is told from
// chance.
type Stamp struct {
	Run     uint64
	Address uint64 // of the sector on the target
	Request uint64 // of the thread's writes, from 1; in the upper 16 bits the thread
	// Part says what the bytes after the stamp are: in the lower 32 bits which
	// sector of the thread's data, in the next 16 how many bytes from the stamp's
	// first on belong to it, and in the last 16 how many of a sector are random,
	// before zeroes that a compressor takes out; 0: all.
	Part uint64
	Time uint64 // when the request was handed over, nanoseconds since 1970
}

// StampSize is the length of a stamp in bytes, and sector what it is put on.
const (
	StampSize = 48
	sector    = 4096
)

// threadShift is where the thread's number begins in Stamp.Request.
const threadShift = 48

// Thread is the thread that wrote it.
func (s Stamp) Thread() int { return int(s.Request >> threadShift) }

// Number is which of the thread's writes it was, from 1.
func (s Stamp) Number() uint64 { return s.Request & (1<<threadShift - 1) }

// Covers is how many bytes from the stamp's first on belong to it.
func (s Stamp) Covers() int { return int(s.Part >> 32 & 0xffff) }

// Random is how many bytes of its sector are random.
func (s Stamp) Random() int {
	if n := int(s.Part >> 48); n > 0 {
		return n
	}
	return sector
}

// Written is when the request was handed over.
func (s Stamp) Written() time.Time { return time.Unix(0, int64(s.Time)) }

// put writes the stamp at the beginning of b.
func (s Stamp) put(b []byte) {
	_ = b[StampSize-1]
	binary.LittleEndian.PutUint64(b, s.Run)
	binary.LittleEndian.PutUint64(b[8:], s.Address)
	binary.LittleEndian.PutUint64(b[16:], s.Request)
	binary.LittleEndian.PutUint64(b[24:], s.Part)
	binary.LittleEndian.PutUint64(b[32:], s.Time)
	binary.LittleEndian.PutUint64(b[40:], s.check())
}

func (s Stamp) check() uint64 {
	hi, lo := bits.Mul64(s.Run^0x9e3779b97f4a7c15, s.Address^0xbf58476d1ce4e5b9)
	hi, lo = bits.Mul64(hi^lo^s.Request, 0x94d049bb133111eb)
	hi, lo = bits.Mul64(hi^lo^s.Part, 0xd6e8feb86659fd93)
	hi, lo = bits.Mul64(hi^lo^s.Time, 0xa0761d6478bd642f)
	return hi ^ lo
}

// ReadStamp returns the stamp at the beginning of b; false where there is none.
func ReadStamp(b []byte) (Stamp, bool) {
	if len(b) < StampSize {
		return Stamp{}, false
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	s := Stamp{word(0), word(1), word(2), word(3), word(4)}
	return s, word(5) == s.check() && s.Covers() >= StampSize && s.Covers() <= sector && s.Random() >= StampSize && s.Random() <= sector
}

// payload writes sector i of a thread's data to b, whose length is a multiple of 8:
// so many random bytes, and zeroes. They depend on the run, the thread and i alone, so
// that whoever reads a stamp knows what has to follow it.
func payload(b []byte, run uint64, thread int, i uint32, random int) {
	clear(b[random:])
	rng := rand.NewPCG(run, 1<<63|uint64(thread)<<32|uint64(i))
	for b = b[:random]; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, rng.Uint64())
	}
}

// data is the memory of a thread: for each request in flight a part with random
// bytes, from which a write takes a piece at another place every time. Unless a ratio
// was asked for, nothing in it compresses, and no two sectors that are written are
// alike: each has its own stamp, and those of different runs have other data besides,
// so that a target that knows what it holds already (a deduplicating one, or one that
// skips a write of the same bytes, as ZFS's nopwrite does) gains nothing by it.
//
// Reads have memory of their own before that, side by side: they must not land in
// what writes draw from, and the less memory they touch, the more of it is in the
// cache.
type data struct {
	memory []byte
	piece  int // bytes per slot that reads go to
	writes int // where the parts begin that writes draw from
	part   int // bytes of each
	shifts uint64
	rng    *rand.PCG
	stamp  Stamp
	thread int
	random int // bytes of each sector
	// same is where the pieces lie that are written again and again, without stamps,
	// and again the part of the writes that takes one of them.
	same  int
	again float64
}

// shift is the grain of the pieces: what O_DIRECT asks of an address in memory,
// and a sector, so that stamps fall on stamps.
const shift = sector

// leastData is what the parts of a thread have together, and mostData those of
// all threads, unless requests are large. It is more than a file system or an
// array compresses at once (ZFS's records are at most 16 MiB and usually 1), and
// little enough to stay in a processor's cache.
const (
	leastData = 4 * unit.MiB
	mostData  = 512 * unit.MiB
)

// piece is the largest request in whole shifts.
func (s Spec) piece() unit.Bytes { return (s.Shape.Largest() + shift - 1) / shift * shift }

// reads and writes are the memory that a request in flight has of each kind.
func (s Spec) reads() unit.Bytes {
	if s.Shape.Read <= 0 {
		return 0
	}
	return s.piece()
}

func (s Spec) writes() unit.Bytes {
	if s.Shape.Read >= 1 {
		return 0
	}
	slack := s.Slack
	if slack == 0 {
		slack = min(leastData/unit.Bytes(s.Depth), mostData/unit.Bytes(s.Depth*s.Threads))
	}
	return s.piece() + slack/shift*shift
}

// samePieces is how many different pieces a thread writes again and again, where
// some of what is written is to be found twice.
const samePieces = 8

// Memory is what all requests in flight have.
func (s Spec) Memory() unit.Bytes { return s.ofThread() * unit.Bytes(s.Threads) }

// ofThread is what a thread has of it.
func (s Spec) ofThread() unit.Bytes {
	n := s.part() * unit.Bytes(s.Depth)
	if s.Dedup > 1 && s.Shape.Read < 1 {
		n += samePieces * s.piece()
	}
	return n
}

// random is how many bytes of a sector are random, so that the rest compresses to
// next to nothing and the whole by the ratio asked for.
func (s Spec) random() int {
	if s.Compress <= 1 {
		return sector
	}
	return max(StampSize, int(sector/s.Compress)/8*8)
}

// part is the memory that one request in flight has.
func (s Spec) part() unit.Bytes { return s.reads() + s.writes() }

func newData(s Spec, thread, depth int) (*data, error) {
	d := &data{piece: int(s.reads()), writes: int(s.reads()) * depth, part: int(s.writes()), rng: rand.NewPCG(s.Run, 1<<32+uint64(thread)), thread: thread}
	d.shifts = uint64(max(0, d.part-int(s.piece())))/shift + 1
	d.stamp = Stamp{Run: s.Run, Request: uint64(thread) << threadShift}
	d.random, d.same = s.random(), int(s.part())*depth
	if s.Dedup > 1 {
		d.again = 1 - 1/s.Dedup
	}
	s.Depth = depth
	var err error
	if d.memory, err = ring.Memory(int(s.ofThread())); err != nil {
		return nil, fmt.Errorf("get buffers of thread %d: %w", thread, err)
	}
	if s.Shape.Read < 1 {
		for i := d.writes / sector; i < len(d.memory)/sector; i++ {
			payload(d.memory[i*sector:(i+1)*sector], s.Run, thread, uint32(i), d.random)
		}
	}
	return d, nil
}

// read is where slot i reads to.
func (d *data) read(i int) int { return i * d.piece }

// write prepares what slot i writes at an offset of the target, at a time, and
// says where it lies.
func (d *data) write(i int, offset int64, size int, at time.Duration) int {
	if d.again > 0 && float64(d.rng.Uint64()>>11)/(1<<53) < d.again {
		piece := (len(d.memory) - d.same) / samePieces
		n, _ := bits.Mul64(d.rng.Uint64(), samePieces)
		return d.same + int(n)*piece
	}
	from := d.writes + i*d.part
	if d.shifts > 1 {
		n, _ := bits.Mul64(d.rng.Uint64(), d.shifts)
		from += int(n) * shift
	}
	d.stamp.Request++
	stamp := d.stamp
	stamp.Time += uint64(at)
	for at := 0; at+StampSize <= size; at += sector {
		stamp.Address = uint64(offset) + uint64(at)
		stamp.Part = uint64(min(sector, size-at))<<32 | uint64((from+at)/sector)
		if d.random < sector {
			stamp.Part |= uint64(d.random) << 48
		}
		stamp.put(d.memory[from+at:])
	}
	return from
}

// began says when the run did: times of stamps count from it.
func (d *data) began(t time.Time) { d.stamp.Time = uint64(t.UnixNano()) }

func (d *data) free() error { return ring.Free(d.memory) }
