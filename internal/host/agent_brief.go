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
}

const (
	// around is what a message has beside its data, at most.
	around = 130
	// fewest is how many units are told at least, however much a sample has beside them.
	fewest = 4
)

// room is how many packed bytes fit into a message, as base64.
func (b *brief) room() int { return (b.most - around) * 3 / 4 }

// addBrief makes a batch of one sample, with as many units as there is room for.
func (s *sampling) addBrief(sample model.Sample) error {
	now, b := time.Now(), &s.brief
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
		return s.batch(now, fresh, turns{})
	}
	t, told, text, err := s.fit(sample)
	if err != nil {
		return err
	}
	b.before, s.texts = told, [][]byte{text}
	return s.batch(now, false, t)
}

// fit chooses the units that are told: those whose turn it is, as many as there is room for.
func (s *sampling) fit(sample model.Sample) (t turns, told model.Sample, text []byte, err error) {
	b, n := &s.brief, units(sample)
	each := n
	if b.each > 0 {
		each = min(n, b.each+b.each/4+1) // there may be room for more than last time
	}
	for {
		t = turns{From: b.next, Told: each}
		if each >= n {
			t = turns{}
		}
		told = t.hold(sample, b.before)
		if text, err = json.Marshal(told); err != nil {
			return t, told, nil, fmt.Errorf("write sample: %w", err)
		}
		size, err := s.pack.Size(text)
		if err != nil {
			return t, told, nil, err
		}
		if size <= b.room() || each <= fewest {
			break
		}
		each = max(fewest, min(each-1, each*b.room()/size))
	}
	if n > 0 {
		b.next = (b.next + each) % n
	}
	b.each = each
	return t, told, text, nil
}
