package runs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/stat"
	"linerate/internal/study"
	"linerate/internal/watch/past"
)

// SwitchedStudy is what study history --json prints: what the history of a path shows of what
// was switched on and off. Nothing was applied, and nobody drew the order by lot.
type SwitchedStudy struct {
	V        int             `json:"v"`
	Path     string          `json:"path"`
	Baseline SwitchedLevel   `json:"baseline"` // its stretches alone
	Levels   []SwitchedLevel `json:"levels"`
	// Steady is by how much two stretches of the baseline that follow each other differ, as a
	// ratio above 1: the median and the most. Null: fewer than two moved data.
	Steady *Steady     `json:"baseline_differs"`
	Notes  []string    `json:"notes"`
	Marks  []past.Mark `json:"marks"` // what changed on hosts from the first stretch to the last
}

// Steady is what stretches of the same level differ by.
type Steady struct {
	Median float64 `json:"median_ratio"`
	Most   float64 `json:"most_ratio"`
}

// SwitchedLevel is what was in force in some stretches, beside the baseline.
type SwitchedLevel struct {
	Name       string            `json:"name"`
	Stretches  []SwitchedStretch `json:"stretches"`
	Groups     int               `json:"pairs_apart"` // pairs of which the time does not overlap
	Ratio      *float64          `json:"ratio"`       // geometric mean, level over baseline; null: no pair
	Low        *float64          `json:"ci_low"`
	High       *float64          `json:"ci_high"` // null, as Low: no interval
	P          float64           `json:"p"`       // corrected (Holm) for all levels
	Conclusion string            `json:"conclusion,omitempty"`
	Why        string            `json:"why,omitempty"` // there is no interval
}

// SwitchedStretch is one stretch of a level.
type SwitchedStretch struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Ratio *float64  `json:"ratio"` // over the baseline's stretch of that number; null: no common time
}

const levelGrammar = "write NAME=TIME,TIME,…, the baseline first, each with as many stretches; TIME as in history:PATH@TIME, e.g. off=2026-11-02T09:00/1h,2026-11-02T11:00/1h on=2026-11-02T10:00/1h,2026-11-02T12:00/1h"

// levelled is a level with what it names in history.
type levelled struct {
	name string
	all  []Stretch
}

// StudyHistory compares the stretches of each level with those of the first, one with one in
// order of time.
func StudyHistory(e app.Env, path string, levels []string) (SwitchedStudy, error) {
	s := SwitchedStudy{V: past.DigestVersion, Levels: []SwitchedLevel{}, Notes: []string{}, Marks: []past.Mark{}}
	all, err := openLevels(e, path, levels)
	if err != nil {
		return s, err
	}
	s.Path = all[0].all[0].Path
	read := map[time.Time][]moved{}
	wide := time.Second
	for _, l := range all {
		for _, x := range l.all {
			m, w, err := x.moving()
			if err != nil {
				return s, err
			}
			read[x.From], wide = m, max(wide, w)
			s.Notes = append(s.Notes, x.Problems...)
		}
	}
	var p []float64
	var found []study.Switched
	for _, l := range all[1:] {
		o := study.ObserveSwitched(besides(all[0].all, l.all, read, wide))
		found, p = append(found, o), append(p, o.P)
		s.Notes = append(s.Notes, doubts(all[0], l)...)
	}
	for i, corrected := range study.Holm(p) {
		s.Levels = append(s.Levels, levelOf(all[i+1], found[i], corrected))
	}
	s.Baseline = levelOf(all[0], study.Switched{Each: make([]*float64, len(all[0].all)), P: 1}, 1)
	s.Baseline.Conclusion = ""
	s.Steady = steady(all[0].all, read, wide)
	slices.Sort(s.Notes)
	s.Notes = slices.Compact(s.Notes)
	s.Marks, err = marksOver(all)
	return s, err
}

// openLevels reads what the levels name, and refuses what cannot be compared.
func openLevels(e app.Env, path string, levels []string) ([]levelled, error) {
	var all []levelled
	for _, text := range levels {
		name, times, ok := strings.Cut(text, "=")
		if !ok || name == "" || times == "" {
			return nil, failure.Of(failure.Usage, "%s: %s", text, levelGrammar)
		}
		l := levelled{name: name}
		for when := range strings.SplitSeq(times, ",") {
			x, err := OpenHistory(e, HistoryPrefix+path+"@"+when)
			if err != nil {
				return nil, err
			}
			l.all = append(l.all, x)
		}
		slices.SortFunc(l.all, func(a, b Stretch) int { return a.From.Compare(b.From) })
		all = append(all, l)
	}
	if len(all) < 2 {
		return nil, failure.Of(failure.Usage, "a study of history needs a baseline and a level beside it; %s", levelGrammar)
	}
	return all, comparable(all)
}

// comparable refuses levels of several names or paths, of other numbers of stretches than the
// baseline's, and stretches that overlap.
func comparable(all []levelled) error {
	var whole []Stretch
	names := map[string]bool{}
	for _, l := range all {
		if names[l.name] {
			return failure.Of(failure.Usage, "%s: there are two levels of that name; write all its stretches behind one", l.name)
		}
		names[l.name] = true
		if len(l.all) != len(all[0].all) {
			return failure.Of(failure.Usage, "%s has %d stretches, and %s %d: each is compared with one of the baseline, so write as many", l.name, len(l.all), all[0].name, len(all[0].all))
		}
		whole = append(whole, l.all...)
	}
	slices.SortFunc(whole, func(a, b Stretch) int { return a.From.Compare(b.From) })
	for i, x := range whole[1:] {
		if before := whole[i]; x.From.Before(before.To) {
			return failure.Of(failure.Usage, "the stretches from %s and from %s overlap: each moment can belong to one level only", before.From.Format(time.DateTime), x.From.Format(time.DateTime))
		}
		if x.Path != whole[0].Path {
			return failure.Of(failure.Usage, "%q means %s in one stretch and %s in another; write more of the path's name", x.Path, whole[0].Path, x.Path)
		}
	}
	return nil
}

// besides are the stretches of a level, each beside that of the baseline, by slots of one width.
func besides(base, level []Stretch, read map[time.Time][]moved, wide time.Duration) (out []study.Beside) {
	for i, b := range level {
		a := base[i]
		x := study.Beside{A: slots(read[a.From], a.From, wide), B: slots(read[b.From], b.From, wide), From: a.From, To: b.To}
		if b.From.Before(a.From) {
			x.From, x.To = b.From, a.To
		}
		out = append(out, x)
	}
	return out
}

func levelOf(l levelled, o study.Switched, corrected float64) SwitchedLevel {
	out := SwitchedLevel{Name: l.name, Groups: o.Groups, Ratio: o.Ratio, Low: o.Low, High: o.High, P: corrected, Conclusion: o.Conclude(corrected), Why: o.Why}
	for i, x := range l.all {
		out.Stretches = append(out.Stretches, SwitchedStretch{x.From, x.To, o.Each[i]})
	}
	return out
}

// doubts are what makes it doubtful that only the level differs between its pairs.
func doubts(base, level levelled) (out []string) {
	later, elsewhen := 0, 0
	for i, b := range level.all {
		a := base.all[i]
		if b.From.After(a.From) {
			later++
		}
		if day := a.From.Sub(b.From).Abs() % (24 * time.Hour); min(day, 24*time.Hour-day) > 2*time.Hour {
			elsewhen++
		}
	}
	if n := len(level.all); n > 1 && (later == 0 || later == n) {
		out = append(out, fmt.Sprintf("%s lies on the same side of %s in all %d pairs: a path that becomes faster or slower by itself would look like its effect; let one and then the other come first", level.name, base.name, n))
	}
	if elsewhen > 0 {
		out = append(out, fmt.Sprintf("%s is set beside another time of day in %d of %d pairs: the demand may differ", level.name, elsewhen, len(level.all)))
	}
	return out
}

// steady is what the stretches of the baseline differ by from one to the next.
func steady(base []Stretch, read map[time.Time][]moved, wide time.Duration) *Steady {
	var all []float64
	for i := 1; i < len(base); i++ {
		o := study.ObserveSwitched(besides(base[i-1:i], base[i:i+1], read, wide))
		if o.Ratio != nil && *o.Ratio > 0 {
			all = append(all, max(*o.Ratio, 1 / *o.Ratio))
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &Steady{Median: stat.UpperMiddle(all), Most: all[len(all)-1]}
}

// marksOver are what changed on hosts from the first stretch to the last.
func marksOver(all []levelled) ([]past.Mark, error) {
	var first, last Stretch
	for _, l := range all {
		if b := l.all[0]; first.From.IsZero() || b.From.Before(first.From) {
			first = b
		}
		if b := l.all[len(l.all)-1]; b.To.After(last.To) {
			last = b
		}
	}
	read, err := last.set.Between(first.From, last.To, past.Width(last.To.Sub(first.From), 3000))
	if err != nil {
		return nil, fmt.Errorf("read history of %s: %w", last.Path, err)
	}
	out := []past.Mark{}
	for _, r := range read.Records {
		out = append(out, past.MarksOf(r.Marks, last.Path)...)
	}
	return out, nil
}
