package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// resultVersion is the version of a line of results.
const resultVersion = 2

// Result is what came of one case: one line of the file of results.
type Result struct {
	V    int    `json:"v"`
	Seed uint64 `json:"seed"`
	Case
	// Limiter is what the fault is an instance of.
	Limiter model.LimiterID `json:"limiter"`
	// Beside is what else was wrong, with the fault and without it.
	Beside string `json:"beside,omitempty"`
	// Binds: taking the fault out raised the goodput (see binds).
	Binds   bool           `json:"binds"`
	With    []unit.BitRate `json:"with_bps"`
	Without []unit.BitRate `json:"without_bps"`
	Ratio   *float64       `json:"ratio"` // without over with; null when nothing moved with the fault

	// Wild is of a fault that is in no catalogue.
	Wild *Wild `json:"wild,omitempty"`
	// Pair is of a second fault beside the first.
	Pair *Pair `json:"pair,omitempty"`

	Verdict model.LimiterID `json:"verdict"`
	// Causes are all that the verdict named, in its order.
	Causes       []model.LimiterID `json:"causes,omitempty"`
	Alternatives []model.LimiterID `json:"alternatives,omitempty"`
	Confidence   float64           `json:"confidence"`
	Share        *float64          `json:"share_of_ceiling"`
	Measured     unit.BitRate      `json:"measured_bps"`
	Ceiling      *unit.BitRate     `json:"ceiling_bps"`
	// Predicted is the goodput without the named limiter as the verdict
	// foretells it, PredictedLow and PredictedHigh the range that it states.
	Predicted     *unit.BitRate `json:"predicted_bps"`
	PredictedLow  *unit.BitRate `json:"predicted_low_bps"`
	PredictedHigh *unit.BitRate `json:"predicted_high_bps"`
	// AloneLow and AloneHigh are the range around Predicted.
	AloneLow  unit.BitRate `json:"alone_low_bps,omitempty"`
	AloneHigh unit.BitRate `json:"alone_high_bps,omitempty"`
	// HealthyShare is the goodput without the fault over the ceiling.
	HealthyShare *float64 `json:"healthy_share"`
	Warnings     []string `json:"warnings,omitempty"`
	Line         string   `json:"line"`
	// WithServer is the verdict on the same run with the server in view as well;
	// nil where only one view was judged.
	WithServer *SecondView `json:"with_server,omitempty"`
	Evidence   []string    `json:"evidence,omitempty"` // metric=value
	Build      string      `json:"build"`
	Seconds    float64     `json:"seconds"`
	// Stolen is the share of the machine's CPU that the hypervisor took meanwhile.
	Stolen float64 `json:"stolen"`
	Error  string  `json:"error,omitempty"` // the case could not be judged
}

// SecondView is a verdict on the run that a Result is about, seen otherwise.
type SecondView struct {
	Verdict      model.LimiterID   `json:"verdict"`
	Alternatives []model.LimiterID `json:"alternatives,omitempty"`
	Confidence   float64           `json:"confidence"`
	Line         string            `json:"line"`
	Evidence     []string          `json:"evidence,omitempty"`
}

// secondView enters a verdict.
func secondView(v model.Verdict) *SecondView {
	var r Result
	r.take(model.Results{Outcome: model.Outcome{Verdict: v}})
	return &SecondView{r.Verdict, r.Alternatives, r.Confidence, r.Line, r.Evidence}
}

// leastGain is the rise of goodput from which a fault counts as limiting.
const leastGain = 1.05

// binds tells whether taking the fault out raised the goodput by leastGain or
// more in the mean, and clear of the noise for the run that was judged, the
// first one with the fault: each run without it was better by that much. A
// fault may strike so seldom that other runs with it are spared.
func binds(with, without []unit.BitRate) (ratio *float64, yes bool) {
	if len(with) == 0 || len(without) == 0 {
		return nil, false
	}
	worst := slices.Min(without)
	clear := worst > 0 && worst >= leastGain*with[0]
	a, b := geometricMean(with), geometricMean(without)
	if a <= 0 {
		return nil, clear
	}
	r := b / a
	return &r, clear && r >= leastGain
}

func geometricMean(v []unit.BitRate) float64 {
	var sum float64
	for _, x := range v {
		sum += math.Log(float64(x))
	}
	return math.Exp(sum / float64(len(v)))
}

// readResults reads the lines there are; of a case the last one counts. A last
// line without an end was being written when the judge was killed: it is left
// out, and that case is run again.
func readResults(path string) ([]Result, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	return decodeResults(bufio.NewReader(f), path)
}

func decodeResults(r *bufio.Reader, name string) ([]Result, error) {
	byKey := map[string]int{}
	var out []Result
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		var res Result
		if err := json.Unmarshal(line, &res); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if res.V != resultVersion {
			return nil, fmt.Errorf("%s:%d: version %d, this judge reads %d: start a new file", name, n, res.V, resultVersion)
		}
		if at, seen := byKey[res.Key()]; seen {
			out[at] = res
			continue
		}
		byKey[res.Key()] = len(out)
		out = append(out, res)
	}
}

// journal appends results to a file, one line each.
type journal struct{ f *os.File }

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open results: %w", err)
	}
	if err := dropPart(f); err != nil {
		return nil, errors.Join(fmt.Errorf("open results: %w", err), f.Close())
	}
	return &journal{f}, nil
}

// dropPart cuts off a last line that has no end and goes to the end.
func dropPart(f *os.File) error {
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	whole := int64(0)
	for i, c := range b {
		if c == '\n' {
			whole = int64(i + 1)
		}
	}
	if err := f.Truncate(whole); err != nil {
		return err
	}
	_, err = f.Seek(whole, io.SeekStart)
	return err
}

func (j *journal) add(r Result) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	if _, err := j.f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

func (j *journal) close() error { return j.f.Close() }
