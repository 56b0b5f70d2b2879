package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/runs"
	"linerate/internal/failure"
	"linerate/internal/report/compare"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func studyHistoryCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "history PATH BASELINE=TIME,… LEVEL=TIME,…",
		Short: "What history shows of something that was switched on and off",
		Long: `history reads what linerate serve kept of a path, and compares the stretches of each
level with those of the baseline, one with one in order of time: which you ran
with a setting, and which without. PATH and TIME are those of history:PATH@TIME.

Each pair is one value, however long it is, since the records of one day resemble each
other; it takes 8 pairs that do not overlap. Nothing was applied and nobody drew
the order by lot: the answer is "higher" or "lower", never a gain. For two single
stretches use linerate compare; linerate study run measures an effect. The
exit code is 3 if no pair moved data at a common time.`,
		Example: `  linerate study history nas1 off=2026-11-02T09:00/1h,2026-11-02T11:00/1h on=2026-11-02T10:00/1h,2026-11-02T12:00/1h
  linerate study history nas1 cubic=2026-11-02,2026-11-04 bbr=2026-11-03,2026-11-05 --json`,
		Args: usage(cobra.MinimumNArgs(3)),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := runs.StudyHistory(env.Env, args[0], args[1:])
			if err != nil {
				return err
			}
			if env.json {
				err = printJSON(env, s)
			} else {
				err = printDocument(env, switchedPage(s))
			}
			if err != nil {
				return err
			}
			for _, l := range s.Levels {
				if l.Ratio != nil {
					return nil
				}
			}
			return failure.As(failure.Nothing, errors.New("study history: no pair of stretches moved data at a common time"))
		},
	}
}

func switchedPage(s runs.SwitchedStudy) document.Document {
	found := document.Table{Head: document.Columns("Level", "Over "+s.Baseline.Name+" (95% interval)", "#Pairs apart", "#p", "Conclusion")}
	for _, l := range s.Levels {
		said := l.Conclusion
		if l.Why != "" {
			said += ": " + l.Why
		}
		found.Row(l.Name, withInterval(l.Ratio, l.Low, l.High), fmt.Sprint(l.Groups), fmt.Sprintf("%.3g", l.P), said)
	}
	d := document.Document{Title: s.Path, Headline: switchedLine(s), Lead: []document.Block{found.Block()}}
	for _, l := range s.Levels {
		d.Add(l.Name, pairsOf(s, l).Block())
	}
	if s.Steady != nil {
		d.Sections = append(d.Sections, document.Paragraph(fmt.Sprintf("One stretch of %s and the next differ by %s in the median and %s at most: a difference of that size needs no reason.",
			s.Baseline.Name, above(s.Steady.Median), above(s.Steady.Most))))
	}
	d.Sections = append(d.Sections, document.Paragraph("Observed, not applied, and not in random order: whatever else differed between the stretches, such as the files, the hosts and the demand, looks like an effect. linerate study run applies a change and measures its effect."))
	for _, n := range s.Notes {
		d.Sections = append(d.Sections, document.Paragraph("note: "+n))
	}
	seen := []string{"nothing was seen"}
	if len(s.Marks) > 0 {
		seen = marksOf(runs.Digest{From: s.Baseline.Stretches[0].From, Marks: s.Marks})
	}
	d.Add("What changed on hosts in that time, as far as it was watched", document.List("", seen...))
	return d
}

// switchedLine is the answer in one sentence.
func switchedLine(s runs.SwitchedStudy) string {
	if len(s.Levels) > 1 {
		return fmt.Sprintf("%s beside %s, of what was watched", unit.Count(len(s.Levels), "level"), s.Baseline.Name)
	}
	l := s.Levels[0]
	text := fmt.Sprintf("%s beside %s: %s", l.Name, s.Baseline.Name, l.Conclusion)
	if l.Ratio != nil {
		text += ", " + withInterval(l.Ratio, l.Low, l.High)
	}
	return text
}

func pairsOf(s runs.SwitchedStudy, l runs.SwitchedLevel) document.Table {
	t := document.Table{Head: document.Columns(s.Baseline.Name, l.Name, "#Ratio")}
	for i, x := range l.Stretches {
		a := s.Baseline.Stretches[i]
		ratio := "no common time"
		if x.Ratio != nil {
			ratio = compare.RatioText(x.Ratio)
		}
		t.Row(stretchText(a), stretchText(x), ratio)
	}
	return t
}

func stretchText(x runs.SwitchedStretch) string {
	end := "15:04"
	if x.To.Format(time.DateOnly) != x.From.Format(time.DateOnly) {
		end = "2006-01-02 15:04"
	}
	return x.From.Format("Mon 2006-01-02 15:04") + " to " + x.To.Format(end)
}

// above is by how much a ratio is above 1.
func above(ratio float64) string { return unit.PercentTenths(ratio - 1) }
