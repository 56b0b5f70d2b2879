package data

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"linerate/internal/model"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

type studyRun struct {
	Run           int64      `parquet:"run"`
	Label         string     `parquet:"label"`
	Stage         string     `parquet:"stage"`
	Block         int64      `parquet:"block"`
	Factor        string     `parquet:"factor"`
	Level         string     `parquet:"level"`
	Levels        string     `parquet:"levels"` // JSON object, of designs that vary several factors at once
	Steps         int64      `parquet:"baseline_steps"`
	Against       string     `parquet:"against"`
	Workload      string     `parquet:"workload"`
	Started       *time.Time `parquet:"started,optional,timestamp(nanosecond)"`
	Took          int64      `parquet:"took_ns"`
	Value         *float64   `parquet:"value,optional"`
	Unit          string     `parquet:"unit"`
	Counted       bool       `parquet:"counted"`
	Why           string     `parquet:"why"`
	Effective     *bool      `parquet:"effective,optional"`
	Retransmitted *float64   `parquet:"retransmitted,optional"`
	P50           *int64     `parquet:"p50_ns,optional"`
	P99           *int64     `parquet:"p99_ns,optional"`
	Max           *int64     `parquet:"max_ns,optional"`
	Warnings      int64      `parquet:"warnings"`
}

func studyRuns(s *model.Study) writer {
	var out rows[studyRun]
	for _, r := range s.Runs {
		levels := ""
		if b, err := json.Marshal(r.Levels); err == nil && len(r.Levels) > 0 { // a map of strings always marshals
			levels = string(b)
		}
		out = append(out, studyRun{int64(r.N), r.Label, r.Stage, int64(r.Block), r.Factor, r.Level, levels, int64(r.Steps), r.Against, r.Workload, moment(r.Started), int64(r.Took),
			r.Value, r.Unit, r.Counted, r.Why, r.Effective, r.Retransmitted, latency(r.P50), latency(r.P99), latency(r.Max), int64(len(r.Warnings))})
	}
	return out
}

// moment is null where there was none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// latency is null where none was measured.
func latency(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	n := int64(d)
	return &n
}

type comparison struct {
	Factor     string   `parquet:"factor"`
	Level      string   `parquet:"level"`
	Workload   string   `parquet:"workload"`
	Primary    bool     `parquet:"primary"`
	N          int64    `parquet:"n"`
	Made       int64    `parquet:"made"`
	Took       int64    `parquet:"took_ns"`
	Baseline   float64  `parquet:"baseline"`
	Treated    float64  `parquet:"treated"`
	Unit       string   `parquet:"unit"`
	Ratio      *float64 `parquet:"ratio,optional"`
	CILow      *float64 `parquet:"ci_low,optional"`
	CIHigh     *float64 `parquet:"ci_high,optional"`
	P          *float64 `parquet:"p,optional"`
	PHolm      *float64 `parquet:"p_holm,optional"`
	Effective  *bool    `parquet:"effective,optional"`
	Conclusion string   `parquet:"conclusion"`
	Why        string   `parquet:"why"`
	Smallest   *float64 `parquet:"smallest,optional"`
}

func comparisons(s *model.Study) writer {
	var out rows[comparison]
	for _, c := range s.Comparisons {
		out = append(out, comparison{c.Factor, c.Level, c.Workload, c.Primary, int64(c.N), int64(c.Made), int64(c.Took), c.Baseline, c.Treated, c.Unit,
			c.Ratio, c.CILow, c.CIHigh, c.P, c.PHolm, c.Effective, c.Conclusion, c.Why, c.Smallest})
	}
	return out
}

type second struct {
	Run    int64   `parquet:"run"`
	Second int64   `parquet:"second"` // from 1: the second that ends there
	Value  float64 `parquet:"value"`
	Unit   string  `parquet:"unit"`
}

func seconds(s *model.Study) writer {
	var out rows[second]
	for _, r := range s.Runs {
		for i, v := range r.PerSecond {
			out = append(out, second{int64(r.N), int64(i + 1), v, r.Unit})
		}
	}
	return out
}

type videoFrame struct {
	Run   int64   `parquet:"run"`
	Frame int64   `parquet:"frame"` // from 1; of several the last
	Value float64 `parquet:"value"` // 0: dropped
	Unit  string  `parquet:"unit"`
}

func videoFrames(s *model.Study) writer {
	var out rows[videoFrame]
	for _, r := range s.Runs {
		for i, v := range r.PerFrame {
			out = append(out, videoFrame{int64(r.N), int64((i + 1) * max(1, r.FramesEach)), v, r.Unit})
		}
	}
	return out
}

type hostShare struct {
	Run     int64    `parquet:"run"`
	Host    string   `parquet:"host"`
	Busy    float64  `parquet:"busy"` // of all its cores, 0 to 1
	Softirq *float64 `parquet:"softirq,optional"`
	Scope   string   `parquet:"scope"` // machine: of all hosts together
}

func hostShares(s *model.Study) writer {
	var out rows[hostShare]
	for _, r := range s.Runs {
		for _, h := range sorted(r.CPU) {
			x := hostShare{int64(r.N), h, r.CPU[h], nil, r.Scope}
			if v, ok := r.Softirq[h]; ok {
				x.Softirq = &v
			}
			out = append(out, x)
		}
	}
	return out
}

type core struct {
	Run   int64   `parquet:"run"`
	Host  string  `parquet:"host"`
	Core  int64   `parquet:"core"`
	Busy  float64 `parquet:"busy"`
	Scope string  `parquet:"scope"`
}

func cores(s *model.Study) writer {
	var out rows[core]
	for _, r := range s.Runs {
		for _, h := range sorted(r.PerCore) {
			for i, v := range r.PerCore[h] {
				out = append(out, core{int64(r.N), h, int64(i), v, r.Scope})
			}
		}
	}
	return out
}

type client struct {
	Run   int64   `parquet:"run"`
	Host  string  `parquet:"host"`
	Value float64 `parquet:"value"`
	Unit  string  `parquet:"unit"`
}

func clients(s *model.Study) writer {
	var out rows[client]
	for _, r := range s.Runs {
		for _, h := range sorted(r.PerClient) {
			out = append(out, client{int64(r.N), h, r.PerClient[h], r.Unit})
		}
	}
	return out
}

type setting struct {
	Host        string `parquet:"host"`
	Setting     string `parquet:"setting"`
	Target      string `parquet:"target"`
	Instruct    string `parquet:"instruct"`
	Default     string `parquet:"default"` // empty: not known
	Before      string `parquet:"before"`
	Value       string `parquet:"value"`
	Factor      string `parquet:"factor"`
	Recommended bool   `parquet:"recommended"`
	Why         string `parquet:"why"`
}

func settings(s *model.Study) writer {
	var out rows[setting]
	add := func(list []model.StudyAdvice, recommended bool) {
		for _, a := range list {
			out = append(out, setting{a.Host, a.Setting, a.Target, a.Instruct, a.Default, a.Before, a.Value, a.Factor, recommended, a.Why})
		}
	}
	add(s.Recommended, true)
	for _, a := range s.Reverted {
		same := func(r model.StudyAdvice) bool {
			return r.Host == a.Host && r.Setting == a.Setting && r.Target == a.Target && r.Value == a.Value && r.Instruct == a.Instruct
		}
		if !slices.ContainsFunc(s.Recommended, same) {
			add([]model.StudyAdvice{a}, false)
		}
	}
	return out
}

type discardedRun struct {
	Factor   string  `parquet:"factor"`
	Level    string  `parquet:"level"`
	Workload string  `parquet:"workload"`
	Group    int64   `parquet:"group"` // from 1, in their order
	Run      *int64  `parquet:"run,optional"`
	Value    float64 `parquet:"value"`
	RSD      float64 `parquet:"rsd"` // of the group
}

func discarded(s *model.Study) writer {
	var out rows[discardedRun]
	for i, d := range s.Discarded {
		for j, v := range d.Values {
			x := discardedRun{d.Factor, d.Level, d.Workload, int64(i + 1), nil, v, d.RSD}
			if j < len(d.Runs) {
				n := int64(d.Runs[j])
				x.Run = &n
			}
			out = append(out, x)
		}
	}
	return out
}
