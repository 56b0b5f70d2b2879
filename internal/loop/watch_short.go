package loop

import (
	"context"
	"slices"

	"linerate/internal/explain"
	"linerate/internal/model"
)

// shortOnes looks once more if no connection lasts long enough to be watched: the host's counters
// may show that many come and go. They count all of the host's connections, to whatever peer. It
// returns nothing if they show none.
func (w *Watch) shortOnes(ctx context.Context, rec *Record, nothing *IdleError) error {
	if nothing.Ended || w.Target.PID > 0 || len(w.Target.Peers) == 0 {
		return nothing
	}
	started := w.Now()
	samples, err := w.sample(ctx, w.For)
	if err != nil {
		return err
	}
	end := &explain.End{Host: w.Host, Facts: rec.Facts[w.Host], Samples: samples, Peer: w.Target.Peers[0]}
	if !explain.ComeAndGo(end) {
		return nothing
	}
	forgetMount(samples)
	c := explain.Watched(end, w.LineRate)
	c.OneEnd = true
	c.Notes = append(slices.Clone(c.Notes), "connections and bytes are those of the whole host: its counters do not tell which peer they were with")
	run := model.Run{Label: "watched", Started: started, Window: w.For, Samples: map[string][]model.Sample{w.Host: samples}}
	rec.Results.Runs = append(rec.Results.Runs, run)
	w.conclude(rec, c)
	rec.Results.Runs[0].Goodput = rec.Results.Verdict.Measured
	return nil
}
