package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/explain"
	"linerate/internal/failure"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// stage is a lab that is up, with the diagnosis and the workload in reach.
type stage interface {
	fault.Lab
	// Diagnose runs the workload and judges it. It knows the line rate of the
	// path and nothing of a fault. It also returns the case that the verdict
	// was concluded from; with storage, which is judged from the client, the
	// case also holds the server's end.
	Diagnose(ctx context.Context, w model.Workload) (model.Results, explain.Case, error)
	// Measure runs the workload for a short while; the goodput is all.
	Measure(ctx context.Context, w model.Workload) (unit.BitRate, error)
	Down(ctx context.Context) error
}

// judge runs cases one after the other.
type judge struct {
	build func(ctx context.Context, t topology.Topology) (stage, error)
	seed  uint64
	name  string // of the build that is judged
	now   func() time.Time
	cpu   func() (kit.CPU, error)
	say   func(format string, args ...any)
	// record keeps what a verdict was concluded from; nil: nothing is kept.
	record func(Case, explain.Case) error

	stage stage
	road  fault.Road
	left  stayed // labs that could not be taken down
}

// truthPairs is how often the goodput is measured with the fault and without.
const truthPairs = 2

// caseTime bounds a case that hangs.
const caseTime = 150 * time.Second

// moreTries is how often a case is judged again whose time the hypervisor took.
const moreTries = 2

// runQuiet judges a case, and again where the hypervisor took so much of this
// machine's CPU that the lab was not what it was to be. The last try counts.
func (j *judge) runQuiet(ctx context.Context, c Case) (Result, error) {
	for try := 0; ; try++ {
		before, err1 := j.cpu()
		r, err := j.run(ctx, c)
		after, err2 := j.cpu()
		cpu := after.Since(before)
		r.Stolen = cpu.Share(cpu.Stolen)
		err = errors.Join(err, err1, err2)
		if err != nil || ctx.Err() != nil || r.Stolen < kit.Spoiled || try == moreTries {
			return r, err
		}
		j.say("%s: judged again: the hypervisor took %.0f%% of this machine's CPU", c.Key(), 100*r.Stolen)
	}
}

// run judges a case. Its result says what went wrong with the case itself; the
// error is for what makes going on useless.
func (j *judge) run(ctx context.Context, c Case) (Result, error) {
	started := j.now()
	r := Result{V: resultVersion, Seed: j.seed, Case: c, Build: j.name, Limiter: model.None}
	within, cancel := context.WithTimeout(ctx, caseTime)
	defer cancel()
	err := j.judge(within, c, &r)
	r.Seconds = j.now().Sub(started).Seconds()
	if ctx.Err() != nil {
		return r, j.close() // an interrupted case does not count
	}
	if err != nil {
		// The lab may be in any state: the next case gets a new one.
		r.Error = failure.FirstLine(err)
		j.leave()
	}
	return r, nil
}

func (j *judge) judge(ctx context.Context, c Case, r *Result) error {
	if err := j.enter(ctx, c.road); err != nil {
		return err
	}
	t := &trial{stage: j.stage, workload: model.Workload{Streams: 1, CC: c.CC}, record: j.record}
	if c.Fault != healthy {
		if err := t.aim(c, r); err != nil {
			return err
		}
	}
	undoBeside := fault.Undo(func(context.Context) error { return nil })
	if t.beside != nil {
		var err error
		if undoBeside, err = t.beside.Inject(ctx, j.stage); err != nil {
			return err
		}
	}
	draw := rand.New(rand.NewPCG(j.seed, hash(c.Key())))
	var err error
	if r.Pair != nil {
		err = t.holdPair(ctx, r, draw)
	} else {
		err = t.hold(ctx, r, draw)
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), fault.UndoTime)
	defer cancel()
	return errors.Join(err, t.put(after, nothing), undoBeside(after))
}

// enter brings up the road's lab, unless it is the one that is up.
func (j *judge) enter(ctx context.Context, r fault.Road) error {
	if j.stage != nil && j.road == r {
		return nil
	}
	j.leave()
	s, err := j.build(ctx, road(r))
	if err != nil {
		return fmt.Errorf("build the %s road: %w", r, err)
	}
	j.stage, j.road = s, r
	return nil
}

// leave takes the lab down. One that does not go stays, and is told of in the end: labs
// share no name, address or group, so that the cases after it are not of it.
func (j *judge) leave() {
	if err := j.close(); err != nil {
		j.left = append(j.left, err)
		j.say("goes on beside a lab that stays: %s", failure.FirstLine(err))
	}
}

// stayed are the errors of labs that did not come down. All cases ran nevertheless.
type stayed []error

// Error implements error.
func (s stayed) Error() string {
	return fmt.Sprintf("%d labs did not come down; what is left of them goes with the next run of this program: %v", len(s), errors.Join(s...))
}

// close takes the lab down, if there is one.
func (j *judge) close() error {
	if j.stage == nil {
		return nil
	}
	s := j.stage
	j.stage = nil
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Down(ctx); err != nil {
		return fmt.Errorf("take the lab down: %w", err)
	}
	return nil
}

// trial is one fault, or two, in one lab.
type trial struct {
	stage    stage
	faults   []trouble
	undo     []fault.Undo     // of each fault; nil while it is out
	beside   *fault.Injection // what else is wrong throughout; nil: nothing
	workload model.Workload   // without a fault
	record   func(Case, explain.Case) error
}

// aim reads which faults the case is about.
func (t *trial) aim(c Case, r *Result) error {
	if c.wild != nil {
		t.faults, t.undo = []trouble{c.wild}, []fault.Undo{nil}
		r.Wild = &Wild{c.wild.class, c.wild.right}
		r.Limiter = model.Undetermined
		if len(c.wild.right) > 0 {
			r.Limiter = c.wild.right[0]
		}
		return nil
	}
	topo := t.stage.Topology()
	severities := strings.Split(c.Severity, beside)
	for i, id := range strings.Split(c.Fault, beside) {
		in, err := fault.Parse([]string{id, severities[i]}, topo)
		if err != nil {
			return err
		}
		f, err := fault.Find(id)
		if err != nil {
			return err
		}
		t.faults, t.undo = append(t.faults, in), append(t.undo, nil)
		if i == 1 {
			r.Pair = &Pair{Limiter: f.Limiter}
			break
		}
		r.Limiter, r.Beside = f.Limiter, f.Beside
		if f.Beside != "" {
			b, err := fault.Parse(strings.Fields(f.Beside), topo)
			if err != nil {
				return err
			}
			t.beside = &b
		}
	}
	return nil
}

// state is a set of the trial's faults, a bit for each.
type state int

// The states of a trial: bit i is fault i.
const (
	nothing state = 0
	first   state = 1
	other   state = 2
	both    state = first | other
)

func (s state) has(i int) bool { return s&(1<<i) != 0 }

// put leaves exactly the faults of the state in place.
func (t *trial) put(ctx context.Context, want state) error {
	for i := range t.faults {
		switch {
		case want.has(i) == (t.undo[i] != nil):
		case want.has(i):
			undo, err := t.faults[i].Inject(ctx, t.stage)
			if err != nil {
				return err
			}
			t.undo[i] = undo
		default:
			if err := t.undo[i](ctx); err != nil {
				return err
			}
			t.undo[i] = nil
		}
	}
	return nil
}

// workloadIn is the workload as the state's faults make the application run it.
func (t *trial) workloadIn(s state) (model.Workload, error) {
	w := t.workload
	for i, f := range t.faults {
		if s.has(i) {
			if err := f.Workload(&w, t.stage.Topology()); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// diagnose asks for the verdict on a state.
func (t *trial) diagnose(ctx context.Context, s state, r *Result) error {
	w, err := t.workloadIn(s)
	if err != nil {
		return err
	}
	if err := t.put(ctx, s); err != nil {
		return err
	}
	out, seen, err := t.stage.Diagnose(ctx, w)
	if err != nil {
		return err
	}
	r.take(out)
	if slices.Contains(storageRoads(), r.road) && seen.Sender != nil && seen.Receiver != nil {
		r.WithServer = secondView(explain.Judge(seen))
	}
	if t.record == nil {
		return nil
	}
	return t.record(r.Case, seen)
}

// measure measures the goodput in a state.
func (t *trial) measure(ctx context.Context, s state) (unit.BitRate, error) {
	w, err := t.workloadIn(s)
	if err != nil {
		return 0, err
	}
	if err := t.put(ctx, s); err != nil {
		return 0, err
	}
	return t.stage.Measure(ctx, w)
}

// hold asks for the verdict and then measures the truth, in pairs of runs whose
// order is drawn.
func (t *trial) hold(ctx context.Context, r *Result, draw *rand.Rand) error {
	in := state(1<<len(t.faults) - 1)
	if err := t.diagnose(ctx, in, r); err != nil {
		return err
	}
	if in == nothing {
		r.Without = []unit.BitRate{r.Measured}
		r.HealthyShare = r.Share
		return nil
	}
	truth, err := t.truth(ctx, draw, in, nothing)
	if err != nil {
		return err
	}
	// The verdict is about that run, so the run is part of the truth that it is
	// judged by.
	r.With, r.Without = append([]unit.BitRate{r.Measured}, truth[in]...), truth[nothing]
	r.Ratio, r.Binds = binds(r.With, r.Without)
	r.shareOf(r.Without)
	return nil
}

// truth measures the goodput in each state truthPairs times, in an order that is
// drawn.
func (t *trial) truth(ctx context.Context, draw *rand.Rand, states ...state) (map[state][]unit.BitRate, error) {
	out := map[state][]unit.BitRate{}
	for range truthPairs {
		draw.Shuffle(len(states), func(a, b int) { states[a], states[b] = states[b], states[a] })
		for _, s := range states {
			goodput, err := t.measure(ctx, s)
			if err != nil {
				return nil, err
			}
			out[s] = append(out[s], goodput)
		}
	}
	return out, nil
}

// shareOf enters the goodput without a fault as a share of the ceiling.
func (r *Result) shareOf(without []unit.BitRate) {
	if r.Ceiling != nil && *r.Ceiling > 0 {
		share := geometricMean(without) / float64(*r.Ceiling)
		r.HealthyShare = &share
	}
}

// take enters what the diagnosis said.
func (r *Result) take(out model.Results) {
	v := out.Verdict
	r.Verdict, r.Confidence, r.Share, r.Measured, r.Line = v.Limiter, v.Confidence, v.ShareOfCeiling, v.Measured, v.Line
	r.Ceiling = v.Ceiling
	for _, c := range v.Causes {
		r.Causes = append(r.Causes, c.Limiter)
	}
	if v.NextLimit != nil {
		r.Predicted, r.AloneLow, r.AloneHigh = &v.NextLimit.At, v.NextLimit.Low, v.NextLimit.High
	}
	if g := v.ExpectedGain; g != nil {
		r.PredictedLow, r.PredictedHigh = &g.Low, &g.High
	}
	for _, a := range v.Alternatives {
		r.Alternatives = append(r.Alternatives, a.Limiter)
	}
	for _, e := range v.Evidence {
		r.Evidence = append(r.Evidence, fmt.Sprintf("%s=%g", e.Metric, e.Value))
	}
	for _, w := range out.Warnings {
		r.Warnings = append(r.Warnings, w.ID)
	}
}

// hash is FNV-1a, which gives each case its own draws from one seed.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
