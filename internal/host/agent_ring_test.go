package host

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"linerate/internal/host/delta"
)

// What waits too long, or is too much, is dropped from the oldest on, up to a batch with which a
// stream begins; what is left can be read, and the numbers tell what is missing.
func TestRingDropsTheOldestUpToABeginning(t *testing.T) {
	for name, c := range map[string]struct {
		step    time.Duration // between two batches
		keep    time.Duration
		data    int // more bytes of each
		of      int
		atLeast int
	}{
		"it fits":      {time.Second, 10 * time.Minute, 0, 100, 100},
		"too old":      {time.Second, 20 * time.Second, 0, 100, 10},
		"too much":     {time.Second, 10 * time.Minute, ringBytes / 50, 100, 30},
		"all of it":    {time.Hour, time.Minute, 0, 100, 1},
		"all too much": {time.Second, 10 * time.Minute, ringBytes, 12, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRing(c.keep)
			w := &delta.Writer{}
			at := time.Unix(0, 0)
			for n := range c.of {
				at = at.Add(c.step)
				b, err := w.Pack([][]byte{fmt.Appendf(nil, "sample %d", n)}, r.trim(at) || n%10 == 0)
				if err != nil {
					t.Fatal(err)
				}
				p := batchPush{N: n, Count: 1, Fresh: b.Fresh, Bytes: b.Bytes, Data: b.Data}
				p.Data = append(p.Data, make([]byte, c.data)...)
				r.put(p, at)
			}
			r.trim(at)
			r.end()
			read := delta.NewReader(&delta.Decoder{})
			got := 0
			for b, ok := r.next(); ok; b, ok = r.next() {
				err := read.Unpack(delta.Batch{Fresh: b.Fresh, Bytes: b.Bytes, Data: b.Data[:len(b.Data)-c.data]}, func(text []byte) error {
					got++
					if want := fmt.Sprintf("sample %d", b.N); string(text) != want {
						return errors.New(string(text) + " is not " + want)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			if got < c.atLeast || got+r.lost() != c.of {
				t.Errorf("%d came out and %d were dropped", got, r.lost())
			}
		})
	}
}
