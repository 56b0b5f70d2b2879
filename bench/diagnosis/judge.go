package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// stage is a lab that is up, with the diagnosis and the workload in reach.
type stage interface {
	fault.Lab
	// Diagnose runs the workload and judges it. It is told the line rate of
	// the path and nothing of a fault.
	Diagnose(ctx context.Context, w model.Workload) (model.Results, error)
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
	say   func(format string, args ...any)

	stage stage
	road  fault.Road
}

// truthPairs is how often the goodput is measured with the fault and without.
const truthPairs = 2

// caseTime bounds a case that hangs.
const caseTime = 150 * time.Second

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
		return r, j.close() // half a case is none
	}
	if err != nil {
		// Whatever state that left the lab in, the next case gets another.
		r.Error = firstLine(err)
		return r, j.close()
	}
	return r, nil
}

func (j *judge) judge(ctx context.Context, c Case, r *Result) error {
	if err := j.enter(ctx, c.road); err != nil {
		return err
	}
	t := &trial{stage: j.stage, workload: model.Workload{Streams: 1, CC: c.CC}}
	t.faulty = t.workload
	if c.Fault != healthy {
		if err := t.aim(c, r); err != nil {
			return err
		}
	}
	undoBeside, err := t.beside.Inject(ctx, j.stage)
	if err != nil {
		return err
	}
	err = t.hold(ctx, r, rand.New(rand.NewPCG(j.seed, hash(c.Key()))))
	after := context.WithoutCancel(ctx)
	return errors.Join(err, t.without(after), undoBeside(after))
}

// enter brings up the road's lab, unless it is the one that is up.
func (j *judge) enter(ctx context.Context, r fault.Road) error {
	if j.stage != nil && j.road == r {
		return nil
	}
	if err := j.close(); err != nil {
		return err
	}
	s, err := j.build(ctx, road(r))
	if err != nil {
		return fmt.Errorf("build the %s road: %w", r, err)
	}
	j.stage, j.road = s, r
	return nil
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

// trial is one fault in one lab.
type trial struct {
	stage    stage
	fault    fault.Injection
	beside   injector
	workload model.Workload // without the fault
	faulty   model.Workload // with it
	undo     fault.Undo     // nil while the fault is out
}

// injector is a fault.Injection, or nothing.
type injector struct{ injections []fault.Injection }

func (i injector) Inject(ctx context.Context, l fault.Lab) (fault.Undo, error) {
	if len(i.injections) == 0 {
		return func(context.Context) error { return nil }, nil
	}
	return i.injections[0].Inject(ctx, l)
}

func (t *trial) aim(c Case, r *Result) error {
	topo := t.stage.Topology()
	var err error
	if t.fault, err = fault.Parse([]string{c.Fault, c.Severity}, topo); err != nil {
		return err
	}
	f, err := fault.Find(c.Fault)
	if err != nil {
		return err
	}
	r.Limiter, r.Beside = f.Limiter, f.Beside
	if f.Beside != "" {
		b, err := fault.Parse(strings.Fields(f.Beside), topo)
		if err != nil {
			return err
		}
		t.beside.injections = []fault.Injection{b}
	}
	return t.fault.Workload(&t.faulty, topo)
}

// with puts the fault in, without takes it out; both do nothing when it is so.
func (t *trial) with(ctx context.Context) (err error) {
	if t.undo == nil && t.fault.Fault != "" {
		t.undo, err = t.fault.Inject(ctx, t.stage)
	}
	return err
}

func (t *trial) without(ctx context.Context) error {
	if t.undo == nil {
		return nil
	}
	if err := t.undo(ctx); err != nil {
		return err
	}
	t.undo = nil
	return nil
}

// hold asks for the verdict and then measures the truth, in pairs whose order
// is drawn.
func (t *trial) hold(ctx context.Context, r *Result, draw *rand.Rand) error {
	if err := t.with(ctx); err != nil {
		return err
	}
	out, err := t.stage.Diagnose(ctx, t.faulty)
	if err != nil {
		return err
	}
	r.take(out)
	if t.fault.Fault == "" {
		r.Without = []unit.BitRate{r.Measured}
		r.HealthyShare = r.Share
		return nil
	}
	// The verdict is about that run: a truth that it does not share would
	// judge it by another one's.
	r.With = append(r.With, r.Measured)
	for range truthPairs {
		order := []bool{true, false}
		draw.Shuffle(2, func(a, b int) { order[a], order[b] = order[b], order[a] })
		for _, with := range order {
			if err := t.measure(ctx, r, with); err != nil {
				return err
			}
		}
	}
	r.Ratio, r.Binds = binds(r.With, r.Without)
	if v := out.Verdict; v.Ceiling != nil && *v.Ceiling > 0 {
		share := geometricMean(r.Without) / float64(*v.Ceiling)
		r.HealthyShare = &share
	}
	return nil
}

func (t *trial) measure(ctx context.Context, r *Result, with bool) error {
	change, w, into := t.without, t.workload, &r.Without
	if with {
		change, w, into = t.with, t.faulty, &r.With
	}
	if err := change(ctx); err != nil {
		return err
	}
	goodput, err := t.stage.Measure(ctx, w)
	if err != nil {
		return err
	}
	*into = append(*into, goodput)
	return nil
}

// take enters what the diagnosis said.
func (r *Result) take(out model.Results) {
	v := out.Verdict
	r.Verdict, r.Confidence, r.Share, r.Measured, r.Line = v.Limiter, v.Confidence, v.ShareOfCeiling, v.Measured, v.Line
	for _, a := range v.Alternatives {
		r.Alternatives = append(r.Alternatives, a.Limiter)
	}
	for _, w := range out.Warnings {
		r.Warnings = append(r.Warnings, w.ID)
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// hash is FNV-1a, which gives each case its own draws from one seed.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
