package copy

import (
	"testing"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/mover"
)

// Nothing is deleted at any target before all have said how much that is and every source is done,
// nor where anything of the sources was not read, an end has failed, or all together is too much.
func TestWhenASpreadDeletes(t *testing.T) {
	said := func(n int, unread int64, text string) *mover.Event {
		return &mover.Event{Kind: mover.Doomed, Count: n, Unread: unread, Text: text}
	}
	for name, c := range map[string]struct {
		src, one, two spreadEnd
		parted        bool
		known         bool
		kind          failure.Kind
		deletes       bool
	}{
		"all have said":           {src: spreadEnd{over: true}, one: spreadEnd{doomed: said(3, 0, "")}, two: spreadEnd{doomed: said(2, 0, "")}, known: true, deletes: true},
		"a source is not done":    {one: spreadEnd{doomed: said(3, 0, "")}, two: spreadEnd{doomed: said(2, 0, "")}},
		"one target has not said": {src: spreadEnd{over: true}, one: spreadEnd{doomed: said(3, 0, "")}},
		"one target ended":        {src: spreadEnd{over: true}, one: spreadEnd{doomed: said(3, 0, "")}, two: spreadEnd{over: true}, known: true},
		"one target failed":       {one: spreadEnd{doomed: said(3, 0, "")}, two: spreadEnd{over: true, failed: true}, known: true},
		"a source failed":         {src: spreadEnd{over: true, failed: true}, one: spreadEnd{doomed: said(3, 0, "")}, two: spreadEnd{doomed: said(2, 0, "")}, known: true},
		"a pair has parted":       {one: spreadEnd{doomed: said(3, 0, "")}, parted: true, known: true},
		"something is unread":     {src: spreadEnd{over: true}, one: spreadEnd{doomed: said(0, 1, "")}, two: spreadEnd{doomed: said(0, 1, "")}, known: true},
		"together it is too much": {src: spreadEnd{over: true}, one: spreadEnd{doomed: said(3, 0, "")}, two: spreadEnd{doomed: said(3, 0, "")}, known: true, kind: failure.Usage},
		"one alone has too much":  {src: spreadEnd{over: true}, one: spreadEnd{doomed: said(0, 0, "more than 5")}, two: spreadEnd{doomed: said(0, 0, "")}, known: true, kind: failure.Usage},
	} {
		c.src.source = true
		s := &spreading{o: Options{Delete: true, MaxDelete: 5}, report: move.NewReport(nil), ends: []*spreadEnd{&c.src, &c.one, &c.two}}
		s.pairs = []*spreadPair{{from: &c.src, to: &c.one}, {from: &c.src, to: &c.two, over: c.parted}}
		known, not := s.deletes()
		if known != c.known || known && (not == nil) != c.deletes || c.kind != 0 && failure.KindOf(not) != c.kind {
			t.Errorf("%s: known %v, not for %v", name, known, not)
		}
		// What hinders is said as an error, or as something that was not done.
		s.deleting.not = not
		err := s.undeleted()
		if lost, _, _ := s.report.Losses(); not != nil && (err == nil) != (lost[move.Failed] == 1) {
			t.Errorf("%s: %v, lost %v", name, err, lost)
		}
	}
}

// The target is told of each of its answers once, also of one that comes after it was decided.
func TestEveryTargetIsAnsweredOnce(t *testing.T) {
	one, two := &fakeEnd{}, &fakeEnd{}
	s := &spreading{o: Options{Delete: true, MaxDelete: 5}, ends: []*spreadEnd{
		{source: true, over: true}, {side: side{m: one}, doomed: &mover.Event{Count: 9}}, {side: side{m: two}}, {over: true, failed: true}}}
	s.decide(t.Context())
	s.decide(t.Context())
	s.ends[2].doomed = &mover.Event{Count: 1}
	s.decide(t.Context())
	for i, f := range []*fakeEnd{one, two} {
		if got := f.orders(); len(got) != 1 || got[0] != mover.Spare {
			t.Errorf("target %d was told %v", i, got)
		}
	}
}
