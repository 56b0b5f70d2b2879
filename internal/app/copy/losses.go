package copy

import (
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/store"
)

// losing makes a report that keeps every loss, so that the bundle can name them all.
func (r *Result) losing() *move.Report {
	r.named = &lines[move.Loss]{}
	return move.NewReport(func(l move.Loss) error {
		r.named.add(l) // it counts what it could not store, which the result says
		return nil
	})
}

// settleNames says how many losses are named where; all is their number.
func (r *Result) settleNames(all int64) {
	r.LeftOut = all - int64(len(r.Losses))
	if r.named == nil || r.LeftOut == 0 || r.State == "planned" { // a plan has no bundle
		return
	}
	r.named.mu.Lock()
	n, why := r.named.n, r.named.err
	r.named.mu.Unlock()
	r.LossesNamed = n
	if n == all {
		return
	}
	text := fmt.Sprintf("of %d losses %d are named nowhere, only counted", all, all-max(n, int64(len(r.Losses))))
	if why != nil {
		text += ": " + why.Error()
	}
	r.Warnings = append(r.Warnings, text)
}

// keepNames writes the losses that the results do not name into a file of the bundle.
func (r *Result) keepNames(w *store.Writer) error {
	if r.LossesNamed == 0 {
		return nil
	}
	return w.Losses(func(out io.Writer) error { return r.named.copyTo(out) })
}

// found holds losses that several ends may report, and each round again.
type found struct{ lines[mover.Loss] }

// uniqueAtOnce losses are told apart in one pass over all: memory does not grow with their number.
const uniqueAtOnce = 1 << 20

// unique calls yield once for every path and kind of loss: those of one pass in the order in which
// they were found.
func (f *found) unique(atOnce int64, yield func(mover.Loss)) error {
	passes := uint64(f.n/atOnce) + 1
	for pass := range passes {
		seen := map[xxh3.Uint128]bool{}
		err := f.each(func(l mover.Loss) {
			h := xxh3.HashString128(l.What + "\x00" + string(l.Path))
			if h.Lo%passes != pass || seen[h] {
				return
			}
			seen[h] = true
			yield(l)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
