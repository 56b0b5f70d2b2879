package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// primaries returns the comparisons of the declared outcome, without levels that were left out
// of the study.
func primaries(s *model.Study) []model.StudyComparison {
	return slices.DeleteFunc(slices.Clone(s.Comparisons), func(c model.StudyComparison) bool { return !c.Primary || c.Conclusion == model.StudyInForce })
}

// inForce returns the levels that were left out because the hosts had them already.
func inForce(s *model.Study) []model.StudyComparison {
	return slices.DeleteFunc(slices.Clone(s.Comparisons), func(c model.StudyComparison) bool {
		return !c.Primary || c.Conclusion != model.StudyInForce
	})
}

func with(cs []model.StudyComparison, conclusions ...string) []model.StudyComparison {
	var out []model.StudyComparison
	for _, c := range cs {
		if slices.Contains(conclusions, c.Conclusion) {
			out = append(out, c)
		}
	}
	return out
}

// byRatio sorts by ratio, the largest first; unknown ones last.
func byRatio(cs []model.StudyComparison) []model.StudyComparison {
	out := slices.Clone(cs)
	value := func(c model.StudyComparison) float64 {
		if c.Ratio == nil || !stat.Finite(*c.Ratio) {
			return -1
		}
		return *c.Ratio
	}
	slices.SortStableFunc(out, func(a, b model.StudyComparison) int { return cmp.Compare(value(b), value(a)) })
	return out
}

// headlineOf is the one-line answer for a reader who reads nothing else.
func headlineOf(s *model.Study) string {
	all := primaries(s)
	gains, losses := byRatio(with(all, model.StudyGain)), byRatio(with(all, model.StudyLoss))
	open := with(all, model.StudyUndecided, model.StudyNotConverged)
	head := ""
	switch {
	case len(all) == 0:
		return noiseHeadline(s)
	case len(gains) == 1:
		head = fmt.Sprintf("One of %d changes pays: %s (%s on %s)", len(all), prose(gains[0]), change(gains[0].Ratio), s.Primary)
	case len(gains) > 1:
		head = fmt.Sprintf("%d of %d changes pay, most of all %s (%s on %s)", len(gains), len(all), prose(gains[0]), change(gains[0].Ratio), s.Primary)
	case len(open) == len(all):
		head = "Not decided: no effect on " + s.Primary + " was shown, and none excluded"
	case len(open) > 0:
		head = fmt.Sprintf("No change was shown to pay on %s; %d of %d are not decided", s.Primary, len(open), len(all))
	case len(with(all, model.StudyNotInForce, model.StudyNotTried)) > 0 && len(losses) == 0:
		head = fmt.Sprintf("No change was shown to pay on %s; %d of %d were not measured", s.Primary, len(with(all, model.StudyNotInForce, model.StudyNotTried)), len(all))
	case len(all) == 1:
		head = fmt.Sprintf("%s does not pay on %s", prose(all[0]), s.Primary)
	default:
		head = fmt.Sprintf("None of %s pays on %s", unit.Count(len(all), "change"), s.Primary)
	}
	if n := len(losses); n > 0 {
		worst := losses[n-1]
		head += fmt.Sprintf("; %s costs %s", prose(worst), strings.TrimPrefix(change(worst.Ratio), "−"))
	}
	return head
}

// noiseHeadline is the one-line answer of a study that compares nothing: how much equal runs
// differ.
func noiseHeadline(s *model.Study) string {
	a := aaOf(s, s.Primary)
	if a.n == 0 {
		return "Nothing was compared"
	}
	return fmt.Sprintf("Two equal runs of %s differ by %s here, as a rule (n = %s)", s.Primary, shareText(a.noise), unit.Count(a.n, "pair"))
}

// named and prose name the state that was compared, in a table and in a sentence.
func named(c model.StudyComparison) string { return state{c.Factor, c.Level}.name() }
func prose(c model.StudyComparison) string { return state{c.Factor, c.Level}.prose() }

// maxItems is how many findings of a kind the first lines list.
const maxItems = 8

// answersOf groups the comparisons of the primary outcome by conclusion, and adds what was
// seen on other workloads.
func answersOf(s *model.Study) []document.Group {
	all := primaries(s)
	none := "Did nothing (" + conclusionWords(s, model.StudyNoEffect) + ")"
	if s.Protocol == "paper" {
		none = "Showed " + conclusionWords(s, model.StudyNoEffect) + ", which this protocol ignores; it excludes no effect"
	}
	var out []document.Group
	all = append(all, inForce(s)...)
	for _, g := range []struct {
		class, name string
		of          []string
	}{
		{"b1", "Pays", []string{model.StudyGain}}, {"b2", "Costs", []string{model.StudyLoss}}, {"b3", none, []string{model.StudyNoEffect}},
		{"b4", "Not decided", []string{model.StudyUndecided, model.StudyNotConverged}},
		{"b4", "Was not in force, so nothing is known of it", []string{model.StudyNotInForce}}, {"b4", "Not tried", []string{model.StudyNotTried}},
		{"b4", "In force already, so not compared", []string{model.StudyInForce}},
	} {
		a := document.Group{Class: g.class, Name: g.name}
		for i, c := range byRatio(with(all, g.of...)) {
			if i == maxItems && len(with(all, g.of...)) > maxItems+1 {
				a.Items = append(a.Items, fmt.Sprintf("and %d more, in the table of the primary outcome", len(with(all, g.of...))-maxItems))
				break
			}
			a.Items = append(a.Items, answerItem(s, c))
		}
		if len(a.Items) > 0 {
			out = append(out, a)
		}
	}
	return append(out, exploratory(s)...)
}

func answerItem(s *model.Study, c model.StudyComparison) string {
	text := prose(c)
	switch c.Conclusion {
	case model.StudyGain, model.StudyLoss, model.StudyNoEffect, model.StudyUndecided:
		text += " " + change(c.Ratio)
		if i := interval(c.CILow, c.CIHigh, change); i != "" {
			text += " (" + i + ")"
		}
		text += ", n = " + fmt.Sprint(c.N)
	}
	if c.Why != "" && c.Conclusion != model.StudyGain && c.Conclusion != model.StudyNoEffect && c.Conclusion != model.StudyInForce {
		text += ": " + c.Why
	}
	return text
}

// exploratory returns effects on workloads that were not declared primary: seen, not proved.
func exploratory(s *model.Study) []document.Group {
	a := document.Group{Class: "b4", Name: "Seen on other workloads, exploratory: a study of its own would have to confirm it"}
	for _, c := range s.Comparisons {
		if c.Primary || c.Conclusion != model.StudyGain && c.Conclusion != model.StudyLoss {
			continue
		}
		item := prose(c) + " on " + c.Workload + " " + change(c.Ratio)
		if i := interval(c.CILow, c.CIHigh, change); i != "" {
			item += " (" + i + ")"
		}
		a.Items = append(a.Items, item+", n = "+fmt.Sprint(c.N))
	}
	if len(a.Items) == 0 {
		return nil
	}
	if n := len(a.Items); n > maxItems+1 {
		a.Items = append(a.Items[:maxItems], fmt.Sprintf("and %d more, in the table of each workload", n-maxItems))
	}
	return []document.Group{a}
}

func (w *paperWriter) started() time.Time {
	if !w.s.Started.IsZero() {
		return w.s.Started
	}
	return w.r.Started
}

func (w *paperWriter) tiles() []document.Tile {
	all := primaries(w.s)
	gains := with(all, model.StudyGain)
	open := len(with(all, model.StudyUndecided, model.StudyNotConverged, model.StudyNotInForce, model.StudyNotTried))
	first := tile("Changes pay", fmt.Sprintf("%d of %d", len(gains), len(all)), "on "+w.s.Primary)
	if open > 0 {
		first.Note += fmt.Sprintf("; %d without an answer", open)
	}
	out := []document.Tile{first}
	counted, dropped := 0, droppedRuns(w.s)
	for _, r := range w.s.Runs {
		if r.Counted && !dropped[r.N] {
			counted++
		}
	}
	out = append(out, tile("Runs", fmt.Sprint(len(w.s.Runs)), fmt.Sprintf("%d counted, in %s", counted, duration(w.s.Took))))
	if a := aaOf(w.s, w.s.Primary); a.n > 0 {
		out = append(out, tile("A/A noise", shareText(a.noise), fmt.Sprintf("typical difference of two equal runs, n = %s", unit.Count(a.n, "pair"))))
	} else {
		out = append(out, tile("A/A noise", unknown, "no A/A runs were made"))
	}
	restored := tile("Settings", "restored", "every one is as it was found")
	switch {
	case w.s.Ended == model.StudyNotOver:
		restored = tile("Settings", unknown, "the study is not over: what is in force now is in the journals of its hosts")
	case !w.s.Restored:
		restored = tile("Settings", "NOT restored", "a change of this study is still in place: linerate tune undo")
	}
	out = append(out, restored)
	return out
}
