package host

import (
	"encoding/json"
	"fmt"
	"time"

	"linerate/internal/model"
)

// brief is how a sampling tells units in turns.
type brief struct {
	most   int          // bytes of a message; 0: all are told
	before model.Sample // as its text had it
	next   int          // the unit that is told next
	each   int          // how many at once; 0: all
	share  int          // how many samples' room the last one took
	coarse bool         // what grew in a connection is told rounded
}

const (
	// around is what a message has beside its data, at most.
	around = 130
	// fewest is how many units are told at least, however much a sample has beside them.
	fewest = 4
	// mostShare is how many samples' room one takes at most, however many connections it has: then it is
	// longer. Views know a host by what it did in ten seconds.
	mostShare = 10
	// inTurn is in how many samples' time all units are told where one takes the room of several: views
	// remember for a minute what was told of a core before (internal/watch).
	inTurn = 25
	// coarseTurn is that where growths are rounded.
	coarseTurn = 50
)

// room is how many packed bytes fit into a message of so many samples' room, as base64.
func (b *brief) room(share int) int { return (b.most*share - around) * 3 / 4 }

// addBrief makes a batch of one sample, with as many units as there is room for.
func (s *sampling) addBrief(sample model.Sample) error {
	now, b, whole := time.Now(), &s.brief, sample
	sample = s.crowd.tell(whole)
	long := briefTime
	if s.ring.waits() > 1 { // so that what is dropped is little
		long = streamTime
	}
	fresh := s.begins(now, long)
	if fresh || !sameUnits(b.before, sample) {
		*b = brief{most: b.most, before: sample}
		text, err := json.Marshal(sample)
		if err != nil {
			return fmt.Errorf("write sample: %w", err)
		}
		s.texts = [][]byte{text}
		return s.batch(now, fresh, turns{}, 0)
	}
	t, told, text, fits, err := s.fit(sample)
	for err == nil && !fits && s.crowd.fewer() {
		t, told, text, fits, err = s.fit(s.crowd.tell(whole))
	}
	if err != nil {
		return err
	}
	b.before, s.texts, s.skip = told, [][]byte{text}, b.share-1
	return s.batch(now, false, t, s.skip)
}

// fit chooses the units that are told: those whose turn it is, as many as there is room for. Where the
// room of one sample is too little for the fewest, it takes that of several; and where that of the most
// is too little, growths are rounded until the stream ends; fits is false where that does not help either.
func (s *sampling) fit(sample model.Sample) (t turns, told model.Sample, text []byte, fits bool, err error) {
	b := &s.brief
	if !b.coarse {
		share, err := s.least(sample)
		if err == nil {
			t, told, text, fits, err = s.fitFrom(sample, share)
		}
		if fits || err != nil {
			return t, told, text, fits, err
		}
		b.coarse, b.each = true, 0
	}
	share, err := s.least(sample)
	if err == nil {
		t, told, text, fits, err = s.fitFrom(sample, share)
	}
	return t, told, text, fits, err
}

// least is the room of how many samples one takes at least, if the one before took that of several.
func (s *sampling) least(sample model.Sample) (int, error) {
	b := &s.brief
	if b.share <= 1 {
		return 1, nil
	}
	_, _, _, size, err := s.tell(sample, min(fewest, units(sample)))
	return min((size*4/3+around)/b.most+1, mostShare), err
}

// fitFrom is fit with the room of so many samples or more; fits is false where that of the most is too
// little for the fewest units.
func (s *sampling) fitFrom(sample model.Sample, share int) (t turns, told model.Sample, text []byte, fits bool, err error) {
	b, n := &s.brief, units(sample)
	turn := inTurn
	if b.coarse {
		turn = coarseTurn
	}
	most := n
	if b.each > 0 {
		most = min(n, b.each+b.each/4+1) // there may be room for more than last time
	}
	for ; ; share++ {
		least := min(n, max(fewest, n*(share-1)/turn))
		each := max(most, least)
		for {
			var size int
			if t, told, text, size, err = s.tell(sample, each); err != nil {
				return t, told, nil, false, err
			}
			if fits = size <= b.room(share); fits || each <= least && share == mostShare {
				b.next, b.each, b.share = (b.next+each)%max(n, 1), each, share
				return t, told, text, fits, nil
			}
			if each <= least {
				break
			}
			each = max(least, min(each-1, each*b.room(share)/size))
		}
	}
}

// tell is a sample that tells so many units, as a text that packs into so many bytes.
func (s *sampling) tell(sample model.Sample, each int) (t turns, told model.Sample, text []byte, size int, err error) {
	b := &s.brief
	if each < units(sample) {
		t = turns{From: b.next, Told: each}
	}
	told = t.hold(sample, b.before)
	if b.coarse {
		told = roundGrowths(told, b.before)
	}
	if text, err = json.Marshal(told); err != nil {
		return t, told, nil, 0, fmt.Errorf("write sample: %w", err)
	}
	size, err = s.pack.Size(text)
	return t, told, text, size, err
}
