package runs

import (
	"fmt"
	"math"
	"time"

	"linerate/internal/study"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

// Observed is how the rate of a path while it moved data differs between two stretches of its
// history. Nothing was applied, so it is not the effect of anything.
type Observed struct {
	Ratio      *float64      `json:"ratio"` // geometric mean of the blocks' ratios, B over A; null: no blocks
	Low        *float64      `json:"ci_low"`
	High       *float64      `json:"ci_high"` // null, as Low: no interval
	P          float64       `json:"p"`
	Pairs      int           `json:"pairs"`
	Block      time.Duration `json:"block"`  // how long each is
	Memory     time.Duration `json:"memory"` // values nearer to each other than this are not independent
	Conclusion string        `json:"conclusion"`
	Why        string        `json:"why,omitempty"` // there is no interval
}

// Earlier is the A/A check of a comparison: the earlier stretch, beside one as long before it
// as the two are apart. It tells what such stretches differ by anyway.
type Earlier struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Observed
}

// Differs tells whether the rates of the two stretches differ by more than chance.
func (o Observed) Differs() bool {
	return o.Conclusion == study.ObservedHigher || o.Conclusion == study.ObservedLower
}

// compareMoving fills in what needs the records of both.
func (c *HistoryComparison) compareMoving(a, b Stretch) error {
	if a.Path != b.Path {
		o, err := observe(a, b)
		c.Moving, c.NoAA = o, "they are two paths"
		return err
	}
	early, late := a, b
	if b.From.Before(a.From) {
		early, late = b, a
	}
	if late.From.Before(early.To) {
		c.Moving = Observed{P: 1, Conclusion: study.Undecided, Why: "the two overlap"}
		c.NoAA = c.Moving.Why
		return nil
	}
	var err error
	if c.Moving, err = observe(a, b); err != nil {
		return err
	}
	between, err := late.set.Between(early.To, late.From, past.Width(late.From.Sub(early.To), 3000))
	if err != nil {
		return err
	}
	for _, r := range between.Records {
		for _, m := range r.Marks {
			if m.Host == "" || past.Ends(early.Path, m.Host) || past.Ends(late.Path, m.Host) {
				c.Between = append(c.Between, m)
			}
		}
	}
	apart := late.From.Sub(early.From)
	before := Stretch{Path: early.Path, From: early.From.Add(-apart), To: early.To.Add(-apart), set: early.set}
	o, err := observe(before, early)
	if err != nil {
		return err
	}
	c.AA = &Earlier{before.From, before.To, o}
	if o.Low == nil {
		c.NoAA = o.Why
	}
	return nil
}

// observe compares two stretches by slots of the same width: that of the widest record.
func observe(a, b Stretch) (Observed, error) {
	x, wide, err := a.moving()
	if err != nil {
		return Observed{}, err
	}
	y, wider, err := b.moving()
	if err != nil {
		return Observed{}, err
	}
	wide = max(wide, wider, time.Second)
	o := study.Observe(slots(x, a.From, wide), slots(y, b.From, wide))
	return Observed{Ratio: o.Ratio, Low: o.Low, High: o.High, P: o.P, Pairs: o.Pairs, Block: time.Duration(o.Block) * wide,
		Memory: time.Duration(math.Round(o.Memory * float64(wide))), Conclusion: o.Effect, Why: o.Why}, nil
}

// moved is what a record says of a path while it moved data.
type moved struct {
	middle time.Time
	study.Slot
}

// mostSlots bounds the records of a stretch: two days of the finest.
const mostSlots = 20000

// moving reads the stretch again in its finest records, an hour or more at a time, since of
// a day they would fill the memory; wide is the widest.
func (s Stretch) moving() (out []moved, wide time.Duration, err error) {
	width := past.Width(s.To.Sub(s.From), mostSlots)
	piece := max(time.Hour, 360*width)
	for at := s.From; at.Before(s.To); at = at.Add(piece) {
		end := at.Add(piece)
		if end.After(s.To) {
			end = s.To
		}
		read, err := s.set.Between(at, end, width)
		if err != nil {
			return nil, 0, fmt.Errorf("read history of %s: %w", s.Path, err)
		}
		for _, r := range read.Records {
			for _, p := range r.Paths {
				if p.Name == s.Path {
					out, wide = append(out, moved{r.At.Add(r.Span / 2), whileMoving(p)}), max(wide, r.Span)
				}
			}
		}
	}
	return out, wide, nil
}

func whileMoving(p past.Path) (s study.Slot) {
	for _, x := range p.Parts {
		if x.State == watch.Moving {
			s.Bytes, s.Seconds = s.Bytes+x.Bytes, s.Seconds+x.For.Seconds()
		}
	}
	return s
}

// slots adds up by the time since the stretch began.
func slots(all []moved, from time.Time, wide time.Duration) (out []study.Slot) {
	for _, m := range all {
		i := int(m.middle.Sub(from) / wide)
		for len(out) <= i {
			out = append(out, study.Slot{})
		}
		out[i].Bytes += m.Bytes
		out[i].Seconds += m.Seconds
	}
	return out
}
