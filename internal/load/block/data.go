package block

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"linerate/internal/load/ring"
	"linerate/internal/unit"
)

// Stamp is what the first bytes of every sector of 4 KiB that a run writes say
// (and of every request, where that is smaller): which run wrote it, where it
// belongs, and with which of the run's requests. Three words little-endian and a
// fourth that mixes them, so that a stamp is told from chance.
type Stamp struct {
	Run     uint64
	Address uint64 // of the sector on the target
	Request uint64 // of the thread's writes, from 1; in the upper 8 bits the thread
}

// StampSize is the length of a stamp in bytes, and sector what it is put on.
const (
	StampSize = 32
	sector    = 4096
)

// put writes the stamp at the beginning of b.
func (s Stamp) put(b []byte) {
	binary.LittleEndian.PutUint64(b, s.Run)
	binary.LittleEndian.PutUint64(b[8:], s.Address)
	binary.LittleEndian.PutUint64(b[16:], s.Request)
	binary.LittleEndian.PutUint64(b[24:], s.check())
}

func (s Stamp) check() uint64 {
	hi, lo := bits.Mul64(s.Run^0x9e3779b97f4a7c15, s.Address^0xbf58476d1ce4e5b9)
	hi, lo = bits.Mul64(hi^lo^s.Request, 0x94d049bb133111eb)
	return hi ^ lo
}

// ReadStamp returns the stamp at the beginning of b; false where there is none.
func ReadStamp(b []byte) (Stamp, bool) {
	if len(b) < StampSize {
		return Stamp{}, false
	}
	s := Stamp{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
	return s, binary.LittleEndian.Uint64(b[24:]) == s.check()
}

// data is the memory of a thread: for each request in flight a part with random
// bytes, from which a write takes a piece at another place every time. Nothing
// in it compresses, and no two sectors that are written are alike: each has its
// own stamp.
type data struct {
	memory []byte
	part   int // bytes per slot
	most   int // of a request
	shifts uint64
	rng    *rand.PCG
	stamp  Stamp
}

// shift is the grain of the pieces: what O_DIRECT asks of an address in memory.
const shift = 4096

// leastData is what the parts of a thread have together.
const leastData = 16 * unit.MiB

func newData(s Spec, thread, depth int) (*data, error) {
	most := (int(s.Shape.Largest()) + shift - 1) / shift * shift
	slack := int(s.Slack)
	if slack == 0 && s.Shape.Read < 1 {
		slack = int(leastData) / depth
	}
	slack = slack / shift * shift
	d := &data{part: most + slack, most: most, shifts: uint64(slack/shift) + 1, rng: rand.NewPCG(s.Seed, 1<<32+uint64(thread))}
	d.stamp = Stamp{Run: s.Seed, Request: uint64(thread) << 56}
	var err error
	if d.memory, err = ring.Memory(d.part * depth); err != nil {
		return nil, fmt.Errorf("get buffers of thread %d: %w", thread, err)
	}
	if s.Shape.Read < 1 {
		for i := 0; i+8 <= len(d.memory); i += 8 {
			binary.LittleEndian.PutUint64(d.memory[i:], d.rng.Uint64())
		}
	}
	return d, nil
}

// read is where slot i reads to.
func (d *data) read(i int) int { return i * d.part }

// write prepares what slot i writes at an offset of the target and says where
// it lies.
func (d *data) write(i int, offset int64, size int) int {
	from := i * d.part
	if d.shifts > 1 {
		n, _ := bits.Mul64(d.rng.Uint64(), d.shifts)
		from += int(n) * shift
	}
	d.stamp.Request++
	for at := 0; at+StampSize <= size; at += sector {
		d.stamp.Address = uint64(offset) + uint64(at)
		d.stamp.put(d.memory[from+at:])
	}
	return from
}

func (d *data) free() error { return ring.Free(d.memory) }
