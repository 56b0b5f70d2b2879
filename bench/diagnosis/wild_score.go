package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"linerate/bench/kit"
	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/stat"
)

// worth classifies a verdict on a fault that is in no catalogue.
type worth string

// Worths. The first six are of a fault that binds; the last three of a path that is
// healthy, or whose fault costs less than leastGain.
const (
	right          worth = "right"
	rightSecond    worth = "second" // honest, or not confident; the first alternative is right
	honestly       worth = "honest" // undetermined, or below honest
	overlooked     worth = "missed" // said that nothing is wrong
	doubtful       worth = "wrong"  // between honest and confident
	confidentWrong worth = "confidently wrong"
	calm           worth = "quiet"
	alarm          worth = "false alarm"
	loudAlarm      worth = "confident false alarm"
)

// wildWorth classifies; a verdict counts as right whatever its confidence.
func wildWorth(r Result) worth {
	var may []model.LimiterID
	if r.Wild != nil {
		may = r.Wild.Right
	}
	switch {
	case !r.Binds && silent(r.Verdict), !r.Binds && r.Confidence < honest:
		return calm
	case !r.Binds && slices.Contains(may, r.Verdict):
		return calm // it is there, and costs less than can be measured
	case !r.Binds && r.Confidence >= confident:
		return loudAlarm
	case !r.Binds:
		return alarm
	case slices.Contains(may, r.Verdict):
		return right
	case r.Verdict == model.None && r.Confidence >= honest:
		return overlooked
	case !silent(r.Verdict) && r.Confidence >= confident:
		return confidentWrong
	case len(r.Alternatives) > 0 && slices.Contains(may, r.Alternatives[0]):
		return rightSecond
	case silent(r.Verdict) || r.Confidence < honest:
		return honestly
	}
	return doubtful
}

// WildTally is how the verdicts of some cases fared.
type WildTally struct {
	Cases            int `json:"cases"`
	Binding          int `json:"binding"`
	Right            int `json:"right"`
	Second           int `json:"second"`
	Honest           int `json:"honest"`
	Missed           int `json:"missed"`
	Wrong            int `json:"wrong"`
	ConfidentlyWrong int `json:"confidently_wrong"`
	FalseAlarms      int `json:"false_alarms"`
	ConfidentAlarms  int `json:"confident_false_alarms"`
}

func (t *WildTally) add(r Result) {
	t.Cases++
	if r.Binds {
		t.Binding++
	}
	switch wildWorth(r) {
	case right:
		t.Right++
	case rightSecond:
		t.Second++
	case honestly:
		t.Honest++
	case overlooked:
		t.Missed++
	case doubtful:
		t.Wrong++
	case confidentWrong:
		t.ConfidentlyWrong++
	case alarm:
		t.FalseAlarms++
	case loudAlarm:
		t.ConfidentAlarms++
	}
}

// WildScore is all of a draw.
type WildScore struct {
	WildTally
	By          map[string]*WildTally `json:"by"` // class
	Calibration []Stated              `json:"calibration"`
	Gains       Gains                 `json:"gains"`
	NotJudged   int                   `json:"not_judged"`
}

// Stated is how often verdicts were right that were stated with such a confidence.
type Stated struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Mean  float64 `json:"mean"`
	Cases int     `json:"cases"`
	Right int     `json:"right"`
}

// Gains is the goodput foretold without what was rightly named, against that measured.
type Gains struct {
	Cases       int     `json:"cases"`
	MedianError float64 `json:"median_error"`
	Ranges      int     `json:"ranges"` // that were stated
	Held        int     `json:"held"`
	Width       float64 `json:"mean_width"` // high over low
}

func scoreWild(results []Result) WildScore {
	s := WildScore{By: map[string]*WildTally{}}
	s.Calibration = []Stated{{From: 0, To: honest}, {From: honest, To: confident}, {From: confident, To: 0.9}, {From: 0.9, To: 1.01}}
	var errs []float64
	for _, r := range results {
		if r.Error != "" {
			s.NotJudged++
			continue
		}
		class := healthy
		if r.Wild != nil {
			class = r.Wild.Class
		}
		if s.By[class] == nil {
			s.By[class] = &WildTally{}
		}
		s.By[class].add(r)
		s.add(r)
		s.calibrate(r)
		errs = s.Gains.add(r, errs)
	}
	for i := range s.Calibration {
		if c := &s.Calibration[i]; c.Cases > 0 {
			c.Mean /= float64(c.Cases)
		}
	}
	if len(errs) > 0 {
		slices.Sort(errs)
		s.Gains.MedianError = stat.UpperMiddle(errs)
	}
	if s.Gains.Ranges > 0 {
		s.Gains.Width /= float64(s.Gains.Ranges)
	}
	return s
}

// calibrate counts verdicts that claim something.
func (s *WildScore) calibrate(r Result) {
	if r.Verdict == model.Undetermined || r.Verdict == model.StartUp {
		return
	}
	for i := range s.Calibration {
		c := &s.Calibration[i]
		if r.Confidence < c.From || r.Confidence >= c.To {
			continue
		}
		c.Cases++
		c.Mean += r.Confidence
		may := []model.LimiterID{model.None}
		if r.Binds && r.Wild != nil {
			may = r.Wild.Right
		}
		if slices.Contains(may, r.Verdict) {
			c.Right++
		}
	}
}

func (g *Gains) add(r Result, errs []float64) []float64 {
	if wildWorth(r) != right || !r.Binds || len(r.Without) == 0 {
		return errs
	}
	truth := geometricMean(r.Without)
	if truth <= 0 {
		return errs
	}
	if r.Predicted == nil {
		return errs
	}
	g.Cases++
	if r.AloneHigh > 0 { // not of an earlier build
		g.Ranges++
		g.Width += float64(r.AloneHigh / r.AloneLow)
		if low, high := float64(r.AloneLow), float64(r.AloneHigh); truth >= low && truth <= high {
			g.Held++
		}
	}
	return append(errs, max(float64(*r.Predicted)/truth-1, 1-float64(*r.Predicted)/truth))
}

// The goal of what is foretold: the median error, and the share of ranges that hold.
const (
	mostOff   = 0.10
	leastHeld = 0.85
)

// goal says whether it is met by the count; a few cases prove nothing, as their interval shows.
func (g Gains) goal() string {
	switch {
	case g.Cases == 0 || g.Ranges == 0:
		return "nothing was foretold"
	case g.MedianError <= mostOff && float64(g.Held) >= leastHeld*float64(g.Ranges):
		return "met"
	}
	return "missed"
}

func (s WildScore) table() string {
	var b strings.Builder
	kit.Head(&b, "class", "cases", "binds", "right", "second", "honest", "missed", "wrong", "confidently wrong", "false alarms", "confident ones")
	row := func(name string, t WildTally) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, t.Cases, t.Binding, t.Right, t.Second, t.Honest, t.Missed, t.Wrong, t.ConfidentlyWrong, t.FalseAlarms, t.ConfidentAlarms)
	}
	for _, class := range slices.Sorted(maps.Keys(s.By)) {
		row(class, *s.By[class])
	}
	row("all", s.WildTally)
	fmt.Fprintf(&b, "\nConfidently wrong: %s of those that bind.\n\n", kit.Share(s.ConfidentlyWrong, s.Binding))
	kit.Head(&b, "confidence stated", "mean", "right")
	for _, c := range s.Calibration {
		fmt.Fprintf(&b, "| %.1f-%.1f | %.2f | %s |\n", c.From, min(1, c.To), c.Mean, kit.Share(c.Right, c.Cases))
	}
	fmt.Fprintf(&b, "\nGoodput foretold without what was rightly named: off by %.0f%% (median of %d); the range stated (high %.2f times low in the mean) held in %s.\n",
		100*s.Gains.MedianError, s.Gains.Cases, s.Gains.Width, kit.Share(s.Gains.Held, s.Gains.Ranges))
	fmt.Fprintf(&b, "Goal: off by at most %.0f%%, held in %.0f%% or more: %s.\n", 100*mostOff, 100*leastHeld, s.Gains.goal())
	if s.NotJudged > 0 {
		fmt.Fprintf(&b, "Not judged: %d.\n", s.NotJudged)
	}
	return b.String()
}

// printWild prints the score of files of results; where dir is not empty the recordings
// in it are judged anew by this build.
func printWild(files []string, dir string, asJSON bool, w io.Writer) error {
	var all []Result
	for _, f := range files {
		rs, err := readResults(f)
		if err != nil {
			return err
		}
		all = append(all, rs...)
	}
	if dir != "" {
		if err := judgeAnew(all, dir); err != nil {
			return err
		}
	}
	s := scoreWild(all)
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]any{"v": resultVersion, "wild": s})
	}
	for _, r := range all {
		fmt.Fprintf(w, "%s\n", wildLine(r))
	}
	_, err := io.WriteString(w, "\n"+s.table())
	return err
}

func wildLine(r Result) string {
	if r.Error != "" {
		return fmt.Sprintf("%s: not judged: %s", r.Key(), r.Error)
	}
	cost := "healthy"
	if r.Ratio != nil {
		cost = fmt.Sprintf("x%.2f without", *r.Ratio)
	}
	return fmt.Sprintf("%s: %s: %s %.2f at %s, %s", r.Key(), wildWorth(r), r.Verdict, r.Confidence, r.Measured, cost)
}

// judgeAnew replaces the verdicts by those of this build on what was recorded.
func judgeAnew(results []Result, dir string) error {
	for i := range results {
		r := &results[i]
		if r.Error != "" {
			continue
		}
		c, err := readRecording(filepath.Join(dir, recordingName(r.Case)+".json.zst"))
		if err != nil {
			return fmt.Errorf("judge %s anew: %w", r.Key(), err)
		}
		r.Causes, r.Alternatives, r.Evidence = nil, nil, nil
		r.Predicted, r.PredictedLow, r.PredictedHigh, r.AloneLow, r.AloneHigh = nil, nil, nil, 0, 0
		r.take(model.Results{Outcome: model.Outcome{Verdict: explain.Judge(c)}})
	}
	return nil
}
