package loop

import (
	"linerate/internal/model"
	"linerate/internal/report/compare"
	"linerate/internal/tune"
	"linerate/internal/watch"
)

// changes lists the differences between two readings of a host: new entries of linerate's journal,
// and facts that have changed. A fact that could not be read one of the two times is no change.
func changes(name string, before, after *model.Facts, journal, now []tune.Entry) (out []watch.Mark) {
	ours := map[string]bool{}
	old := map[int]tune.Entry{}
	for _, e := range journal {
		old[e.Seq] = e
	}
	for _, e := range now {
		was, known := old[e.Seq]
		done := watch.Mark{Host: name, What: e.Setting, From: e.Before, To: e.After}
		switch {
		case e.At.IsZero() || known && was.Ended.Equal(e.Ended):
			continue
		case !e.Ended.IsZero() && e.Ended.After(before.Taken):
			out = append(out, watch.Mark{At: e.Ended, Kind: watch.MarkUndone, Host: name, What: e.Setting, From: e.After, To: e.Before})
		}
		if !known && e.At.After(before.Taken) {
			done.At, done.Kind = e.At, watch.MarkTuned
			out = append(out, done)
		}
		ours[e.Setting] = true
	}
	for _, d := range compare.Hosts(name, before, after) {
		if !ours[d.What] && d.A != string(model.Denied) && d.B != string(model.Denied) {
			out = append(out, watch.Mark{At: after.Taken, Kind: watch.MarkHost, Host: name, What: d.What, From: d.A, To: d.B})
		}
	}
	return out
}
