package compare

import (
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Side is one of the two bundles.
type Side struct {
	ID      string
	Results *model.Results
	Facts   map[string]*model.Facts
}

// Version is the version of Comparison that this build writes.
const Version = 1

// Comparison is what compare --json prints. A ratio is B over A.
type Comparison struct {
	V    int     `json:"v"`
	A    Run     `json:"a"`
	B    Run     `json:"b"`
	Line string  `json:"line"` // the answer in one sentence
	Same bool    `json:"same"` // both measured something that can be set side by side
	Rate *Rate   `json:"rate"` // null: not both have a verdict
	Rung []Rung  `json:"ladder"`
	Gain *Effect `json:"proof"` // null: not both were proved
	// Figures are the numbers that two loads of one kind both gave.
	Figures []Figure `json:"figures"`
	// Effects are the comparisons of two studies, in the order of A's.
	Effects   []Effect     `json:"effects"`
	Baselines []Baseline   `json:"baselines"`
	Changed   []Difference `json:"changed"`
	Notes     []string     `json:"notes"`
}

// Run names one side.
type Run struct {
	ID      string    `json:"id"`
	Command string    `json:"command"`
	Kind    string    `json:"kind"` // "study", "load" or "run"
	Started time.Time `json:"started"`
	Build   string    `json:"build"`
}

// Rate is what the verdict of each side was drawn from: one run each.
type Rate struct {
	A        unit.BitRate    `json:"a_bps"`
	B        unit.BitRate    `json:"b_bps"`
	Ratio    *float64        `json:"ratio"` // null: A moved nothing
	ACeiling *unit.BitRate   `json:"a_ceiling_bps"`
	BCeiling *unit.BitRate   `json:"b_ceiling_bps"`
	ALimiter model.LimiterID `json:"a_limiter"`
	BLimiter model.LimiterID `json:"b_limiter"`
	N        int             `json:"n"` // runs of each: 1, so there is no interval
}

// Rung is one rung of both ladders.
type Rung struct {
	Rung  string        `json:"rung"`
	A     *unit.BitRate `json:"a_bps"` // null: not measured
	B     *unit.BitRate `json:"b_bps"`
	Ratio *float64      `json:"ratio"`
}

// Figure is a number that both loads gave, by its path in what the load's command
// prints with --json, whose unit it has.
type Figure struct {
	What  string   `json:"what"`
	A     float64  `json:"a"`
	B     float64  `json:"b"`
	Ratio *float64 `json:"ratio"` // null: A is 0
}

// Conclusions about an effect that both sides looked at.
const (
	Differ     = "differ"             // the two intervals do not touch
	MayDiffer  = "may differ"         // the interval of the ratio of ratios excludes 1, the two intervals overlap
	Equal      = "same within margin" // the interval of the ratio of ratios lies within the margin
	NotTold    = "not told apart"     // neither
	NoInterval = "no interval"        // a side has none, so nothing can be said
	NotSame    = "not the same"       // workload or change are not the same on both sides
	OneSide    = "measured on one side only"
	NoSide     = "measured on neither side"
)

// Effect is what both sides found of one change on one workload.
type Effect struct {
	Factor   string `json:"factor,omitempty"`
	Level    string `json:"level,omitempty"`
	Workload string `json:"workload,omitempty"`
	A        *Found `json:"a"` // null: that side did not look at it
	B        *Found `json:"b"`
	// Ratio is B's ratio over A's; its interval is by MOVER, see apart.
	Ratio      *float64 `json:"ratio"`
	CILow      *float64 `json:"ci_low"`
	CIHigh     *float64 `json:"ci_high"`
	Conclusion string   `json:"conclusion"`
	Why        string   `json:"why,omitempty"`
}

// Found is what one side found: treated over baseline.
type Found struct {
	Ratio      *float64 `json:"ratio"`
	CILow      *float64 `json:"ci_low"`
	CIHigh     *float64 `json:"ci_high"`
	N          int      `json:"n"`
	Conclusion string   `json:"conclusion"`
}

// Baseline is what a workload did in the baseline of both studies.
type Baseline struct {
	Workload string   `json:"workload"`
	Unit     string   `json:"unit"`
	A        float64  `json:"a"` // mean
	B        float64  `json:"b"`
	NA       int      `json:"a_n"`
	NB       int      `json:"b_n"`
	ALow     float64  `json:"a_low"`
	AHigh    float64  `json:"a_high"`
	BLow     float64  `json:"b_low"`
	BHigh    float64  `json:"b_high"`
	Ratio    *float64 `json:"ratio"`
}

// Difference is one thing that was not the same on both sides.
type Difference struct {
	Host string `json:"host"` // empty: of the run as a whole
	What string `json:"what"`
	A    string `json:"a"` // "not there" where it was not
	B    string `json:"b"`
}

// Compare sets b beside a.
func Compare(a, b Side) Comparison {
	c := Comparison{V: Version, A: run(a), B: run(b), Rung: []Rung{}, Figures: []Figure{}, Effects: []Effect{}, Baselines: []Baseline{}, Changed: changed(a, b), Notes: []string{}}
	switch sa, sb := a.Results.Study, b.Results.Study; {
	case sa != nil && sb != nil:
		c.studies(sa, sb)
	case a.Results.Load != nil && b.Results.Load != nil:
		c.loads(a.Results.Load, b.Results.Load)
	case sa == nil && sb == nil:
		c.runs(a.Results, b.Results)
	}
	if k, l := c.A.Kind, c.B.Kind; k != l {
		c.Notes = append(c.Notes, "A is a "+k+" and B a "+l+": only what was recorded of their hosts can be set side by side")
	}
	c.ladders(a.Results.Ladder, b.Results.Ladder)
	c.Same = c.Rate != nil || len(c.Figures) > 0 || c.Gain != nil || len(c.Rung) > 0 || measured(c.Effects) || len(c.Baselines) > 0
	c.Line = line(c)
	return c
}

func run(s Side) Run {
	r := Run{ID: s.ID, Command: s.Results.Command, Kind: "run", Started: s.Results.Started, Build: s.Results.Build}
	switch {
	case s.Results.Study != nil:
		r.Kind = "study"
	case s.Results.Load != nil:
		r.Kind = "load"
	}
	return r
}

// runs compares two verdicts and, where both changed something, their proofs.
func (c *Comparison) runs(a, b *model.Results) {
	if a.Verdict.Limiter != "" && b.Verdict.Limiter != "" {
		va, vb := a.Verdict, b.Verdict
		c.Rate = &Rate{A: va.Measured, B: vb.Measured, Ratio: over(float64(vb.Measured), float64(va.Measured)), ACeiling: va.Ceiling, BCeiling: vb.Ceiling, ALimiter: va.Limiter, BLimiter: vb.Limiter, N: 1}
		c.Notes = append(c.Notes, "each rate is of one run: how much two equal runs differ is not known from them, so no significance can be given")
	}
	if a.Proof == nil || b.Proof == nil {
		return
	}
	e := Effect{A: proved(a.Proof), B: proved(b.Proof)}
	if a.Proof.Treatment != b.Proof.Treatment {
		e.Conclusion, e.Why = NotSame, "A changed "+a.Proof.Treatment+"; B changed "+b.Proof.Treatment
	} else {
		e.judge(defaultMargin)
	}
	c.Gain = &e
}

// defaultMargin is the ratio below which a proof calls an effect of no use.
const defaultMargin = 1.02

func proved(p *model.Proof) *Found {
	return &Found{p.Ratio, p.CILow, p.CIHigh, p.Pairs, p.Effect}
}

func (c *Comparison) ladders(a, b []model.Rung) {
	for _, x := range a {
		for _, y := range b {
			if x.Rung != y.Rung || x.Measured == nil || y.Measured == nil {
				continue
			}
			c.Rung = append(c.Rung, Rung{x.Rung, x.Measured, y.Measured, over(float64(*y.Measured), float64(*x.Measured))})
		}
	}
	if len(c.Rung) > 0 {
		c.Notes = append(c.Notes, "each rung was measured once on each side: no significance can be given")
	}
}

// over is b / a; nil where that is no number.
func over(b, a float64) *float64 {
	if !(a > 0) || !(b >= 0) {
		return nil
	}
	v := b / a
	if v > 1e300 {
		return nil
	}
	return &v
}
