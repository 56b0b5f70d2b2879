package dialect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/load/shape"
)

// rd is a run definition: it becomes jobs.
func (v *vdbench) rd(d definition) error {
	r := vdRun{elapsed: vdElapsed, interval: vdInterval, warmup: -1, arrivals: shape.Exponential, rates: []float64{0}, points: defaultPoints(), wds: slices.Clone(v.order.wds)}
	for _, w := range d.words {
		if w.name == "wd" {
			var err error
			if r.wds, err = namesOf(w, v.order.wds); err != nil {
				return err
			}
			continue
		}
		if err := r.word(w); err != nil {
			return wrong(w.line, "rd=%s: %s=%s: %v", d.name, w.name, strings.Join(w.values, ","), err)
		}
	}
	switch {
	case len(r.wds) == 0:
		return wrong(d.line, "rd=%s has no wd", d.name)
	case r.curve && !v.alone():
		return wrong(d.line, "rd=%s: iorate=curve on several hosts is not supported: write the rates", d.name)
	case r.curveAt > 0 && !r.curve:
		return wrong(r.curveAt, "rd=%s: curve= says which points a curve has: add iorate=curve", d.name)
	case r.elapsed <= 0 || r.warmup < 0 && r.elapsed <= r.interval:
		return wrong(d.line, "rd=%s: nothing is left of elapsed=%v but the first interval of %v, which does not count", d.name, r.elapsed, r.interval)
	}
	s, sds, direct, err := v.mix(d.line, r.wds)
	if err != nil {
		return err
	}
	direct = direct || r.direct
	for _, threads := range r.each(r.threads) {
		var bad error
		add := func(rate float64, c *Curve) {
			j := v.job(d.name, r, s, sds, direct, rate, threads, c)
			bad = cmp.Or(bad, v.parts(d.line, r.wds[0], &j), v.put(&j))
			v.share(&j)
			v.jobs = append(v.jobs, j)
		}
		if r.curve {
			add(0, &Curve{})
			for _, p := range r.points {
				add(0, &Curve{Percent: p})
			}
			if bad != nil {
				return bad
			}
			continue
		}
		for _, rate := range r.rates {
			add(rate, nil)
		}
		if bad != nil {
			return bad
		}
	}
	if len(v.jobs) > maxJobs {
		return wrong(d.line, "more than %d runs", maxJobs)
	}
	return nil
}

// vdRun is what a run definition says.
type vdRun struct {
	elapsed, interval, warmup time.Duration
	arrivals                  shape.Arrivals
	rates                     []float64 // 0: max
	curve                     bool      // rates are points of a curve
	curveAt                   int       // the line of curve=; 0: there is none
	points                    []float64 // percent
	threads                   []int
	wds                       []string
	direct                    bool
}

func (r *vdRun) each(list []int) []int {
	if len(list) == 0 {
		return []int{0}
	}
	return list
}

func (r *vdRun) word(w word) (err error) {
	value := w.values[0]
	switch w.name {
	case "iorate":
		r.curve = len(w.values) == 1 && strings.EqualFold(w.values[0], "curve")
		if !r.curve {
			r.rates, err = ratesOf(w.values)
		}
	case "curve":
		r.curveAt = w.line
		r.points, err = pointsOf(w.values)
	case "elapsed":
		r.elapsed, err = parseTime(value)
	case "interval":
		r.interval, err = parseTime(value)
	case "warmup":
		r.warmup, err = parseTime(value)
	case "threads", "forthreads":
		r.threads = nil
		for _, t := range w.values {
			n, err := parseCount(t, 1024)
			if err != nil {
				return err
			}
			r.threads = append(r.threads, n)
		}
	case "distribution":
		switch strings.ToLower(value) {
		case "exponential", "e":
			r.arrivals = shape.Exponential
		case "deterministic", "d":
			r.arrivals = shape.Uniform
		default:
			return fmt.Errorf("want exponential or deterministic")
		}
	case "openflags":
		r.direct, err = openFlags(w)
	default:
		return fmt.Errorf("it is not supported")
	}
	return err
}

func ratesOf(values []string) ([]float64, error) {
	return numbersOf(values, func(text string) (float64, error) {
		if strings.EqualFold(text, "max") {
			return 0, nil
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 1 && n <= 1e8) {
			return 0, fmt.Errorf("%q: want max, curve, or requests per second: numbers, ranges with a step as (100-1000,100), or doubling as (100-6400,d)", text)
		}
		return n, nil
	})
}

// defaultPoints of a curve (insertCurveRuns, Vdb/RD_entry.java of vdbench 5.04.06).
func defaultPoints() []float64 { return []float64{10, 50, 70, 80, 90, 100} }

func pointsOf(values []string) ([]float64, error) {
	return numbersOf(values, func(text string) (float64, error) {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 1 && n <= 1000) || n != math.Trunc(n) {
			return 0, fmt.Errorf("%q: want whole percentages from 1 to 1000: a list as (10,50,100), or a range with a step as (10-100,10)", text)
		}
		return n, nil
	})
}

// numbersOf reads a list with ranges: a-b and behind it a step, or d for doubling
// (halving, where b is below a), as vdbench has them (handle_num,
// Vdb/Var_parms.java of 5.04.06).
func numbersOf(values []string, one func(string) (float64, error)) (out []float64, err error) {
	for i := 0; i < len(values); i++ {
		from, to, isRange := strings.Cut(values[i], "-")
		if !isRange || from == "" {
			n, err := one(values[i])
			if err != nil {
				return nil, err
			}
			out = append(out, n)
			continue
		}
		a, err1 := one(from)
		b, err2 := one(to)
		if err := cmp.Or(err1, err2); err != nil {
			return nil, err
		}
		if i++; i == len(values) {
			return nil, fmt.Errorf("the range %s has no step: write (%s,%g) or (%s,d)", values[i-1], values[i-1], max(1, (b-a)/10), values[i-1])
		}
		row, err := rangeOf(a, b, values[i])
		if err != nil {
			return nil, err
		}
		if out = append(out, row...); len(out) > maxJobs {
			return nil, fmt.Errorf("more than %d values", maxJobs)
		}
	}
	return out, nil
}

// rangeOf goes from a to b by a step.
func rangeOf(a, b float64, step string) (out []float64, err error) {
	next := func(x float64) float64 { return 2 * x }
	by, err := strconv.ParseFloat(step, 64)
	switch {
	case a <= 0 || b <= 0:
		return nil, fmt.Errorf("a range is of numbers")
	case strings.EqualFold(step, "d") && b < a:
		for x := a; x >= b; x /= 2 {
			out = append(out, x)
		}
		return out, nil
	case strings.EqualFold(step, "d"):
	case err != nil || !(by > 0) || b < a:
		return nil, fmt.Errorf("the range from %g to %g has the step %q: want a number above 0, or d", a, b, step)
	default:
		next = func(x float64) float64 { return x + by }
	}
	for x := a; x <= b && len(out) <= maxJobs; x = next(x) {
		out = append(out, x)
	}
	return out, nil
}

// parts narrows the targets of a job to the ranges of their sds, and of the workload.
func (v *vdbench) parts(line int, workload string, j *Job) error {
	for i, t := range j.Targets {
		t, err := v.sds[t.Name].part.within(t)
		if err == nil {
			t, err = v.wds[workload].part.within(t)
		}
		if err != nil {
			return wrong(line, "rd=%s: %v", j.Name, err)
		}
		if j.Targets[i] = t; t.From > 0 {
			j.Notes = append(j.Notes, fmt.Sprintf("%s is used from %v on, for %v", t.Name, t.From, t.Size))
		}
	}
	return nil
}

func (v *vdbench) job(name string, r vdRun, s shape.Shape, sds []string, direct bool, rate float64, threads int, c *Curve) Job {
	j := Job{Name: name, Shape: s, Direct: direct, Curve: c}
	if r.curve || len(r.rates) > 1 {
		j.Rates = name
	}
	if rate > 0 {
		j.Name += fmt.Sprintf(" at %g/s", rate)
		j.Shape.Rate, j.Shape.Arrivals = rate, r.arrivals
	}
	if c != nil {
		j.curve(r.arrivals)
	}
	for _, n := range sds {
		t := v.sds[n].target
		if threads > 0 {
			t.Depth = threads
		}
		j.Direct = j.Direct || v.sds[n].direct
		j.Targets = append(j.Targets, t)
		j.Notes = append(j.Notes, fmt.Sprintf("%s is %s, %d in flight", n, t.Path, t.Depth))
	}
	if len(r.threads) > 1 {
		with := fmt.Sprintf(" with %d threads", threads)
		j.Name += with
		if j.Rates != "" {
			j.Rates += with
		}
	}
	if j.Warmup, j.Duration = r.warmup, r.elapsed; r.warmup < 0 {
		// The first interval does not count.
		j.Warmup, j.Duration = r.interval, r.elapsed-r.interval
		j.Notes = append(j.Notes, fmt.Sprintf("no warmup=: the first interval of %v does not count", r.interval))
	}
	if len(r.wds) > 1 {
		j.Notes = append(j.Notes, fmt.Sprintf("%s become one mix, drawn by chance", strings.Join(r.wds, ", ")))
	}
	return j
}

// curve is a job's place on a curve.
func (j *Job) curve(arrivals shape.Arrivals) {
	if j.Curve.Percent == 0 {
		j.Name += " at any rate"
		j.Notes = append(j.Notes, "iorate=curve: without a rate first; what that reaches is 100%")
		return
	}
	j.Name += fmt.Sprintf(" at %g%%", j.Curve.Percent)
	j.Shape.Arrivals = arrivals
	j.Notes = append(j.Notes, "latency counts from when a request was due; vdbench's response time leaves out what it waited until it began")
}
