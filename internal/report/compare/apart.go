package compare

import (
	"fmt"
	"math"

	"linerate/internal/model"
)

// judge fills what the two intervals say of each other.
//
// The interval of the ratio of ratios is MOVER's (G. Y. Zou, A. Donner,
// Statistics in Medicine 27 (2008) 1693), on logarithms: for a difference
// θb − θa of independent estimates with intervals (l, u)
//
//	L = θb − θa − √((θb − lb)² + (ua − θa)²)
//	U = θb − θa + √((ub − θb)² + (θa − la)²)
//
// It is not corrected for the number of comparisons. Therefore two effects are
// said to differ only where their intervals do not even touch: with intervals of
// equal width at 95% that happens by chance about once in 180 comparisons.
func (e *Effect) judge(margin float64) {
	a, b := e.A, e.B
	switch whyA, whyB := missing("A", a), missing("B", b); {
	case whyA != "" && whyB != "":
		e.Conclusion, e.Why = NoSide, whyA+"; "+whyB
		return
	case whyA+whyB != "":
		e.Conclusion, e.Why = OneSide, whyA+whyB
		return
	}
	e.Ratio = over(*b.Ratio, *a.Ratio)
	la, ua, oka := ends(a)
	lb, ub, okb := ends(b)
	if !oka || !okb || e.Ratio == nil {
		e.Conclusion = NoInterval
		return
	}
	ta, tb := math.Log(*a.Ratio), math.Log(*b.Ratio)
	lo := math.Exp(tb - ta - math.Hypot(tb-lb, ua-ta))
	hi := math.Exp(tb - ta + math.Hypot(ub-tb, ta-la))
	e.CILow, e.CIHigh = &lo, &hi
	switch {
	case lb > ua || ub < la:
		e.Conclusion = Differ
	case lo > 1 || hi < 1:
		e.Conclusion = MayDiffer
	case margin > 1 && lo > 1/margin && hi < margin:
		e.Conclusion = Equal
	default:
		e.Conclusion = NotTold
	}
}

// ends are the logarithms of an interval that holds its estimate; false: there
// is none.
func ends(f *Found) (lo, hi float64, ok bool) {
	if f.CILow == nil || f.CIHigh == nil || !(*f.CILow > 0) || !(*f.Ratio > 0) || *f.CILow > *f.Ratio || *f.CIHigh < *f.Ratio || math.IsInf(*f.CIHigh, 1) {
		return 0, 0, false
	}
	return math.Log(*f.CILow), math.Log(*f.CIHigh), true
}

// missing says why a side has no value; empty: it has one.
func missing(side string, f *Found) string {
	switch {
	case f == nil:
		return side + " did not look at it"
	case f.Ratio == nil:
		return side + ": " + f.Conclusion
	}
	return ""
}

// studies compares two studies, comparison by comparison.
func (c *Comparison) studies(a, b *model.Study) {
	margin := math.Max(a.File.Protocol.Margin, b.File.Protocol.Margin)
	for _, x := range a.Comparisons {
		e := Effect{Factor: x.Factor, Level: x.Level, Workload: x.Workload, A: found(x)}
		for _, y := range b.Comparisons {
			if y.Factor == x.Factor && y.Level == x.Level && y.Workload == x.Workload {
				e.B = found(y)
			}
		}
		if e.judge(margin); e.A != nil && e.B != nil {
			e.distrust(a, b)
		}
		c.Effects = append(c.Effects, e)
	}
	for _, y := range b.Comparisons {
		if !looked(a, y) {
			e := Effect{Factor: y.Factor, Level: y.Level, Workload: y.Workload, B: found(y)}
			e.judge(margin)
			c.Effects = append(c.Effects, e)
		}
	}
	c.baselines(a, b)
	pa, pb := a.File.Protocol, b.File.Protocol
	if a.Protocol != b.Protocol {
		c.Notes = append(c.Notes, fmt.Sprintf("A was judged by protocol %s, B by %s: their conclusions do not mean the same", a.Protocol, b.Protocol))
	} else if pa.Alpha != pb.Alpha {
		c.Notes = append(c.Notes, fmt.Sprintf("the intervals are at different levels: α %g and %g", pa.Alpha, pb.Alpha))
	}
	if len(c.Baselines) > 0 {
		c.Notes = append(c.Notes, "baselines were measured at different times: a difference between them may be the path, the hosts or the day, and is not tested")
	}
	if len(c.Effects) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d effects are set side by side without correction for their number: %q is said only where the intervals do not touch", len(c.Effects), Differ))
	}
}

func found(c model.StudyComparison) *Found {
	return &Found{c.Ratio, c.CILow, c.CIHigh, c.N, c.Conclusion}
}

func looked(s *model.Study, c model.StudyComparison) bool {
	for _, x := range s.Comparisons {
		if x.Factor == c.Factor && x.Level == c.Level && x.Workload == c.Workload {
			return true
		}
	}
	return false
}

// distrust takes back what was said of two effects that have the same name but are not of the same
// thing.
func (e *Effect) distrust(a, b *model.Study) {
	why := ""
	switch {
	case workload(a, e.Workload) != workload(b, e.Workload):
		why = "workload " + e.Workload + " is not the same"
	case level(a, e) != level(b, e):
		why = "the change of that name is not the same"
	default:
		return
	}
	e.Ratio, e.CILow, e.CIHigh, e.Conclusion, e.Why = nil, nil, nil, NotSame, why
}

// workload describes a workload by everything but where it runs.
func workload(s *model.Study, name string) string {
	for _, w := range s.File.Workloads {
		if w.Name == name {
			w.Senders, w.Receivers, w.Hosts = make([]string, len(w.Senders)), make([]string, len(w.Receivers)), make([]string, len(w.Hosts))
			return fmt.Sprintf("%+v", w)
		}
	}
	return ""
}

// level describes a change by the settings and the fields that it changes.
func level(s *model.Study, e *Effect) string {
	lists := [][]model.StudyLevel{s.File.Baseline}
	for _, f := range s.File.Factors {
		if f.Name == e.Factor {
			lists = [][]model.StudyLevel{f.Levels}
		}
	}
	for _, l := range lists[0] {
		if l.Name == e.Level {
			return fmt.Sprintf("%v %v %s", l.Set, l.Workload, l.Instruct)
		}
	}
	return ""
}

// baselines are the counted runs without any change, all steps of the baseline
// in force.
func (c *Comparison) baselines(a, b *model.Study) {
	for _, w := range a.File.Workloads {
		if workload(a, w.Name) != workload(b, w.Name) {
			continue
		}
		x, unit := baseline(a, w.Name)
		y, _ := baseline(b, w.Name)
		if x.n == 0 || y.n == 0 {
			continue
		}
		c.Baselines = append(c.Baselines, Baseline{w.Name, unit, x.mean, y.mean, x.n, y.n, x.low, x.high, y.low, y.high, over(y.mean, x.mean)})
	}
}

type spread struct {
	n               int
	mean, low, high float64
}

func baseline(s *model.Study, workload string) (spread, string) {
	steps := 0
	for _, r := range s.Runs {
		steps = max(steps, r.Steps)
	}
	var out spread
	unit := ""
	for _, r := range s.Runs {
		if r.Workload != workload || r.Factor != "" || len(r.Levels) > 0 || r.Steps != steps || !r.Counted || r.Value == nil {
			continue
		}
		v := *r.Value
		if out.n == 0 {
			out.low, out.high = v, v
		}
		out.n++
		out.mean += (v - out.mean) / float64(out.n)
		out.low, out.high, unit = min(out.low, v), max(out.high, v), r.Unit
	}
	return out, unit
}
