package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"linerate/internal/failure"
	"linerate/internal/load/block"
	"linerate/internal/load/named"
	"linerate/internal/load/storage"
	"linerate/internal/unit"
)

// withResult is what load block --with --json prints.
type withResult struct {
	Targets [2]withTarget       `json:"targets"`
	Rounds  []storage.PoolRound `json:"rounds"`
	// Kept is what both together moved over what each moved alone, medians added.
	Kept        float64  `json:"kept_of_sum"`
	Interrupted bool     `json:"interrupted,omitempty"`
	Evidence    []string `json:"evidence"`
	Report      string   `json:"report,omitempty"`
}

type withTarget struct {
	Target       string               `json:"target"`
	Workload     string               `json:"workload"`
	Interference storage.Interference `json:"interference"`
}

// busyHost is the share of this host's cores from which on what two targets do to
// each other may be its doing.
const busyHost = 0.8

// rareChance is how often chance alone may bring what is called interference: 3
// rounds can show it.
const rareChance = 0.1

// withTask is the load on the second target: the same one, or another by its name.
func (f blockFlags) withTask(first storage.BlockTask) (storage.BlockTask, error) {
	second := first
	second.Spec.Path, second.Destroy = f.with, f.named(f.with)
	if f.withWorkload == "" {
		return second, nil
	}
	w, ok := named.Find(f.withWorkload)
	if !ok {
		return second, failure.Of(failure.Usage, "no workload is called %q; choose one of %s", f.withWorkload, strings.Join(workloadNames(), ", "))
	}
	second.Name, second.Spec.Threads, second.Spec.Depth = w.Name, w.Threads, w.Depth
	area := second.Spec.Shape.Area
	second.Spec.Shape = w.Shape
	second.Spec.Shape.Area = area
	return second, nil
}

// runBlockWith runs two targets, each alone and both at once.
func runBlockWith(ctx context.Context, env *environment, f blockFlags, s block.Spec, name string) (err error) {
	switch {
	case f.on != "" || f.journal != "":
		return failure.Of(failure.Usage, "--with goes with neither --on nor --journal")
	case s.Engine == block.Null:
		return failure.Of(failure.Usage, "--with --engine null: that is a load on nothing")
	case f.with == s.Path:
		return failure.Of(failure.Usage, "--with %s: that is the first target", f.with)
	}
	first := storage.BlockTask{Name: name, Spec: s, Destroy: f.named(s.Path), Fill: f.fill, DropCache: f.dropCache}
	second, err := f.withTask(first)
	if err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	hooks, unlimited, err := p.limited(f.ram)
	if err != nil {
		return refused(err)
	}
	defer func() { err = errors.Join(err, unlimited()) }()
	rounds, err := storage.Pools(ctx, hooks, [2]storage.BlockTask{first, second}, f.runs, nil)
	wrote := s.Shape.Read < 1 || second.Spec.Shape.Read < 1
	where := s.Path + " and " + f.with
	if len(rounds) == 0 || err != nil && ctx.Err() == nil {
		return interruptedLoad(ctx, refused(err), where, wrote)
	}
	out := withResult{Rounds: rounds, Interrupted: err != nil, Evidence: []string{}}
	for i, t := range []storage.BlockTask{first, second} {
		out.Targets[i] = withTarget{t.Spec.Path, t.Name, storage.Interfere(rounds, i)}
	}
	out.judge()
	if hooks.Memory != nil {
		out.Evidence = append(out.Evidence, fmt.Sprintf("this program and what the page cache held for it had at most %v of memory", f.ram))
	}
	text, terr := withText(out)
	if terr != nil {
		return terr
	}
	line := fmt.Sprintf("%s and %s together kept %.0f%% of what each moved alone (%s)", s.Path, f.with, 100*out.Kept, plural(len(rounds), "round"))
	if perr := concludeLoad(ctx, env, p, loadRecord{kind: "pools", command: "load block " + s.Path + " --with " + f.with, line: line, text: text, value: &out, hosts: []string{"local"}}); perr != nil {
		return perr
	}
	return interruptedLoad(ctx, err, where, wrote)
}

// judge says what the rounds show, and what they cannot.
func (r *withResult) judge() {
	alone, together := 0.0, 0.0
	for i, t := range r.Targets {
		x := t.Interference
		alone, together = alone+x.Alone, together+x.Together
		switch {
		case x.Apart && x.Chance > rareChance:
			r.Evidence = append(r.Evidence, fmt.Sprintf("%s: every run beside %s differs from every run alone, but %s cannot tell that from chance: make at least 3", t.Target, r.Targets[1-i].Target, plural(x.N, "round")))
		case x.Apart:
			r.Evidence = append(r.Evidence, fmt.Sprintf("%s: every run beside %s differs from every run alone; by chance that would come in %.2g of all cases (%d rounds)", t.Target, r.Targets[1-i].Target, x.Chance, x.N))
		default:
			r.Evidence = append(r.Evidence, fmt.Sprintf("%s: the runs beside %s overlap with those alone (%s): no interference is shown", t.Target, r.Targets[1-i].Target, plural(x.N, "round")))
		}
	}
	if alone > 0 {
		r.Kept = together / alone
	}
	busy, cached, failed := 0.0, 0.0, int64(0)
	for _, round := range r.Rounds {
		busy = max(busy, round.Busy)
		for i := range 2 {
			for _, run := range []storage.RunFigures{round.Alone[i], round.Together[i]} {
				if run.FromCache != nil {
					cached = max(cached, *run.FromCache)
				}
				failed += run.Failed
			}
		}
	}
	if busy >= busyHost {
		r.Evidence = append(r.Evidence, fmt.Sprintf("the load took %.0f%% of this host's cores while both ran: what they do to each other may be this host's doing; run them from two hosts (--on)", 100*busy))
	}
	if cached > 0.05 {
		r.Evidence = append(r.Evidence, fmt.Sprintf("at least %.0f%% of what was read came from this host's page cache: use --direct or --drop-cache to measure the targets", 100*cached))
	}
	if failed > 0 {
		r.Evidence = append(r.Evidence, plural(int(failed), "request")+" failed")
	}
}

func withText(r withResult) (string, error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "TARGET\tWORKLOAD\tALONE\tRANGE\tTOGETHER\tRANGE\tKEPT\tRANGE\tP99 ALONE\tTOGETHER")
	for i, t := range r.Targets {
		x := t.Interference
		var p99 [2]string
		for k, runs := range [][]storage.RunFigures{pick(r.Rounds, i, false), pick(r.Rounds, i, true)} {
			p99[k] = medianP99(runs)
		}
		fmt.Fprintf(w, "%s\t%s\t%v/s\t%s\t%v/s\t%s\t%.0f%%\t%.0f–%.0f%%\t%s\t%s\n", t.Target, t.Workload, unit.Bytes(x.Alone), span(x.AloneRange),
			unit.Bytes(x.Together), span(x.TogetherRange), 100*x.Kept, 100*x.KeptRange[0], 100*x.KeptRange[1], p99[0], p99[1])
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\nTogether they moved %.0f%% of what each moved alone, added up (medians of %s)\n", 100*r.Kept, plural(len(r.Rounds), "round"))
	for _, e := range r.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	return b.String(), nil
}

func span(r [2]float64) string { return fmt.Sprintf("%v–%v", unit.Bytes(r[0]), unit.Bytes(r[1])) }

// pick is a target's runs, alone or together.
func pick(rounds []storage.PoolRound, i int, together bool) (out []storage.RunFigures) {
	for _, r := range rounds {
		if together {
			out = append(out, r.Together[i])
		} else {
			out = append(out, r.Alone[i])
		}
	}
	return out
}

// medianP99 is the median run's 99th percentile; of the runs, not of requests.
func medianP99(runs []storage.RunFigures) string {
	var all []int64
	for _, r := range runs {
		if r.Latency != nil {
			all = append(all, r.Latency.P99)
		}
	}
	if len(all) == 0 {
		return "–"
	}
	slices.Sort(all)
	return short(all[(len(all)-1)/2]).String()
}
