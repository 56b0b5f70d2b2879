package block

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// Fault is what is wrong with a part of a target.
type Fault string

// Damaged: a run's stamp, and then not what it wrote. Misdirected: what a run
// wrote for another address. Unstamped: neither a run's data nor zeroes.
//
// By a journal only. Lost: zeroes, or another run's data, where a write of the
// run was acknowledged. Stale: what the run wrote before the write that was
// acknowledged last. Torn: a block of which only a part is of that write.
const (
	Damaged     Fault = "damaged"
	Misdirected Fault = "misdirected"
	Unstamped   Fault = "unstamped"
	Lost        Fault = "lost"
	Stale       Fault = "stale"
	Torn        Fault = "torn"
)

// Place is a part of a target that does not hold what it must.
type Place struct {
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Fault  Fault  `json:"fault"`
	Detail string `json:"detail"`
}

// Written is what one run has left on a target.
type Written struct {
	Run         uint64
	Bytes       int64
	First, Last time.Time // when the requests were handed over
}

// owner is who wrote a grain, as far as its bytes tell.
type owner struct {
	stamp Stamp
	known bool  // stamp is of what lies here
	fault Fault // Damaged, Misdirected or Unstamped; empty: none
	blank bool  // zeroes
	at    int   // Damaged: the first byte of the grain that is wrong
}

// piece is a stamp that was met, and what has to follow it.
type piece struct {
	stamp   Stamp
	at      int // in the part that is looked at
	content []byte
}

// reader goes through a part of a target grain by grain.
type reader struct {
	bytes []byte
	base  int64 // address of its first byte
	met   []piece
	spare [][]byte
}

// covering returns the pieces that reach a place, the last one first.
func (r *reader) covering(at int) []piece {
	for len(r.met) > 0 && r.met[0].at+sector <= at {
		r.spare = append(r.spare, r.met[0].content)
		r.met = r.met[1:]
	}
	var out []piece
	for _, p := range slices.Backward(r.met) {
		if at < p.at+p.stamp.Covers() {
			out = append(out, p)
		}
	}
	return out
}

func (r *reader) meet(s Stamp, at int) piece {
	var content []byte
	if n := len(r.spare); n > 0 {
		content, r.spare = r.spare[n-1], r.spare[:n-1]
	} else {
		content = make([]byte, sector)
	}
	payload(content, s.Run, s.Thread(), uint32(s.Part), s.Random())
	s.put(content)
	p := piece{s, at, content}
	r.met = append(r.met, p)
	return p
}

// next tells the owner of the grain at a place. Places are asked for in order.
func (r *reader) next(at int) owner {
	b := r.bytes[at:min(at+grain, len(r.bytes))]
	reach := r.covering(at)
	if s, ok := ReadStamp(b); ok {
		reach = []piece{r.meet(s, at)}
	}
	for _, p := range reach {
		want := p.content[at-p.at : min(at-p.at+len(b), p.stamp.Covers())]
		if !bytes.Equal(b[:min(len(want), len(b))], want) {
			continue
		}
		o := owner{stamp: p.stamp, known: true}
		if p.stamp.Address != uint64(r.base)+uint64(p.at) {
			o.fault = Misdirected
		}
		return o
	}
	switch {
	case !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }):
		return owner{blank: true}
	case len(reach) == 0:
		return owner{fault: Unstamped}
	}
	p := reach[0]
	o := owner{stamp: p.stamp, known: true, fault: Damaged}
	for o.at < len(b)-1 && b[o.at] == p.content[at-p.at+o.at] {
		o.at++
	}
	return o
}

// detail says what lies at an address, for people.
func (o owner) detail(address int64) string {
	what := fmt.Sprintf("run %016x wrote it at %s (write %d of thread %d)", o.stamp.Run, o.stamp.Written().UTC().Format(stampTime), o.stamp.Number(), o.stamp.Thread())
	switch o.fault {
	case Unstamped:
		return "no stamp: no run has written this, or it is damaged from its first byte on"
	case Damaged:
		return fmt.Sprintf("%s, and from byte %d on it is not what was written", what, address+int64(o.at))
	case Misdirected:
		return fmt.Sprintf("%s to offset %d", what, o.stamp.Address)
	}
	if o.blank {
		return "zeroes"
	}
	return what
}

// stampTime is how times of stamps are printed.
const stampTime = "2006-01-02T15:04:05.000000Z"

// tally is what was found in a part of a target.
type tally struct {
	checked, proven, blank, wrong int64
	runs                          map[uint64]*Written
	places                        []Place
	unsure                        int64 // bytes of blocks whose last write was not heard of
}

// count adds a grain.
func (t *tally) count(o owner, address int64, size int) {
	t.checked += int64(size)
	switch {
	case o.fault != "":
		t.fault(o.fault, address, size, o.detail(address))
	case o.blank:
		t.blank += int64(size)
	default:
		t.proven += int64(size)
		t.written(o.stamp, size)
	}
}

func (t *tally) written(s Stamp, size int) {
	w := t.runs[s.Run]
	if w == nil {
		w = &Written{Run: s.Run, First: s.Written(), Last: s.Written()}
		t.runs[s.Run] = w
	}
	w.Bytes += int64(size)
	if at := s.Written(); at.Before(w.First) {
		w.First = at
	} else if at.After(w.Last) {
		w.Last = at
	}
}

// fault notes a place, or makes the last one longer.
func (t *tally) fault(f Fault, address int64, size int, detail string) {
	t.wrong += int64(size)
	if n := len(t.places); n > 0 && t.places[n-1].Fault == f && t.places[n-1].Offset+t.places[n-1].Bytes == address {
		t.places[n-1].Bytes += int64(size)
		return
	}
	t.places = append(t.places, Place{address, int64(size), f, detail})
}

// look judges the bytes of a part from an address on: what comes before it in b
// tells only which stamps reach over.
func look(b []byte, base, from int64, j *Journal) *tally {
	t := &tally{runs: map[uint64]*Written{}}
	r := &reader{bytes: b, base: base}
	var block []grainOf
	for at := 0; at < len(b); at += grain {
		o, address := r.next(at), base+int64(at)
		if address < from {
			continue
		}
		g := grainOf{o, address, min(grain, len(b)-at)}
		if j == nil {
			t.count(o, address, g.size)
			continue
		}
		if len(block) > 0 && (address-int64(j.From))%int64(j.Block) == 0 {
			t.judge(block, j)
			block = block[:0]
		}
		block = append(block, g)
	}
	if len(block) > 0 {
		t.judge(block, j)
	}
	return t
}

// grainOf is a grain with its owner.
type grainOf struct {
	owner
	address int64
	size    int
}

// judge compares a block with what the journal says of it.
func (t *tally) judge(block []grainOf, j *Journal) {
	request, sure := j.Last(block[0].address)
	held := 0
	for _, g := range block {
		if g.holds(j.Run, request) {
			held++
		}
	}
	for _, g := range block {
		switch {
		case !sure:
			if j.marked(g.address) {
				t.unsure += int64(g.size)
			}
			t.count(g.owner, g.address, g.size)
		case g.holds(j.Run, request) || g.fault != "":
			t.count(g.owner, g.address, g.size)
		default:
			t.checked += int64(g.size)
			t.fault(g.missing(held > 0, j.Run), g.address, g.size, fmt.Sprintf("write %d of thread %d was acknowledged last; here: %s",
				Stamp{Request: request}.Number(), Stamp{Request: request}.Thread(), g.detail(g.address)))
		}
	}
}

func (g grainOf) holds(run, request uint64) bool {
	return g.known && g.fault == "" && g.stamp.Run == run && g.stamp.Request == request
}

// missing names what a grain is that does not hold the write that it must.
func (g grainOf) missing(partly bool, run uint64) Fault {
	switch {
	case partly:
		return Torn
	case g.known && g.stamp.Run == run:
		return Stale
	}
	return Lost
}
