package published

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"linerate/internal/unit"
)

// file is a paper as the YAML describes it: the values of a run share its conditions, and each
// value becomes a Result.
type file struct {
	Key     string   `yaml:"key"`
	Title   string   `yaml:"title"`
	Authors string   `yaml:"authors"`
	Year    int      `yaml:"year"`
	Printed string   `yaml:"printed"`
	Remarks []string `yaml:"remarks"`
	Gaps    []string `yaml:"gaps"`
	Runs    []run    `yaml:"runs"`
}

type run struct {
	ID       string   `yaml:"id"`
	Where    string   `yaml:"where"`
	Page     string   `yaml:"page"`
	Protocol string   `yaml:"protocol"`
	Version  string   `yaml:"version"`
	Tool     string   `yaml:"tool"`
	Link     string   `yaml:"link"`
	MTU      int      `yaml:"mtu"`
	Jumbo    bool     `yaml:"jumbo"`
	Block    string   `yaml:"block"`
	File     string   `yaml:"file"`
	Clients  string   `yaml:"clients"`
	Threads  int      `yaml:"threads"`
	Client   string   `yaml:"client"`
	Server   string   `yaml:"server"`
	Storage  string   `yaml:"storage"`
	Change   string   `yaml:"change"`
	Claim    bool     `yaml:"claim"`
	Doubts   []string `yaml:"doubts"`
	Unclear  string   `yaml:"unclear"`
	Values   []value  `yaml:"values"`
}

type value struct {
	ID        string   `yaml:"id"` // needed if direction or metric do not distinguish the values
	Metric    string   `yaml:"metric"`
	Direction string   `yaml:"direction"`
	As        string   `yaml:"as"`
	Value     *float64 `yaml:"value"` // nil: missing, which is an error
	To        float64  `yaml:"to"`
	Unit      string   `yaml:"unit"`
	Change    string   `yaml:"change"`
	Doubts    []string `yaml:"doubts"`
	Unclear   string   `yaml:"unclear"`
}

// units lists the units of each metric, as the papers spell them.
func units() map[Metric][]string {
	return map[Metric][]string{
		Throughput:  {"MB/s", "Gbps"},
		IOPS:        {"ops/s"},
		Latency:     {"ms"},
		CPU:         {"%"},
		CPUPerOp:    {"us"},
		Retransmits: {"%"},
		Change:      {"×", "% more", "% less", "% different", "% as much"},
	}
}

// Parse reads one paper. It refuses unknown fields, values without a number or with a unit
// that does not belong to their metric, a rate above the link's rate without an explanation,
// and two results with one id.
//
// YAML's tags are refused before it is decoded: the decoder panics at one that has no value.
func Parse(b []byte) (Paper, error) {
	for _, t := range lexer.Tokenize(string(b)) {
		if t.Type == token.TagType {
			return Paper{}, fmt.Errorf("parse results: line %d: %q: tags are not read", t.Position.Line, t.Value)
		}
	}
	var f file
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.DisallowUnknownField()).Decode(&f); err != nil {
		return Paper{}, fmt.Errorf("parse results: %w", err)
	}
	p := Paper{Key: f.Key, Title: f.Title, Authors: f.Authors, Year: f.Year, Printed: f.Printed, Remarks: f.Remarks, Gaps: f.Gaps}
	if f.Key == "" || f.Title == "" || f.Authors == "" || f.Printed == "" {
		return Paper{}, errors.New("parse results: key, title, authors and printed must all be given")
	}
	seen := map[string]bool{}
	for _, run := range f.Runs {
		if len(run.Values) == 0 {
			return Paper{}, fmt.Errorf("parse results: run %q: no values", run.ID)
		}
		for _, v := range run.Values {
			r, err := result(f.Key, run, v)
			if err == nil && seen[r.ID] {
				err = errors.New("there twice; give one of the values an id")
			}
			if err != nil {
				return Paper{}, fmt.Errorf("parse results: %s.%s: %w", f.Key, run.ID, err)
			}
			seen[r.ID] = true
			p.Results = append(p.Results, r)
		}
	}
	return p, nil
}

// result combines a value with the conditions of its run.
func result(key string, c run, v value) (Result, error) {
	if v.Value == nil {
		return Result{}, errors.New("a value without a number")
	}
	r := Result{
		Paper: key, Where: c.Where, Page: c.Page,
		Metric: Metric(v.Metric), As: As(v.As), Value: *v.Value, To: v.To, Unit: v.Unit,
		Protocol: c.Protocol, Version: c.Version, Direction: v.Direction, Tool: c.Tool,
		MTU: c.MTU, Jumbo: c.Jumbo, Clients: c.Clients, Threads: c.Threads,
		Client: c.Client, Server: c.Server, Storage: c.Storage, Change: c.Change,
		Claim: c.Claim, Doubts: append(slices.Clone(c.Doubts), v.Doubts...),
		Unclear: strings.TrimSpace(c.Unclear + " " + v.Unclear),
	}
	if r.Metric == "" {
		r.Metric = Throughput
	}
	if v.Change != "" {
		r.Change = v.Change
	}
	r.ID = strings.ToLower(key) + "." + c.ID + "." + valueID(v, r)
	if err := quantities(&r, c); err != nil {
		return Result{}, err
	}
	return r, check(r)
}

// valueID distinguishes the values of a run: by its own id, else by the direction of a
// throughput or a change, else by the metric.
func valueID(v value, r Result) string {
	switch {
	case v.ID != "":
		return v.ID
	case r.Direction != "" && (r.Metric == Throughput || r.Metric == Change):
		return r.Direction
	}
	return string(r.Metric)
}

func quantities(r *Result, c run) error {
	var err error
	if c.Link != "" {
		if r.Link, err = unit.ParseBitRate(c.Link); err != nil {
			return err
		}
	}
	if c.Block != "" {
		if r.Block, err = unit.ParseBytes(c.Block); err != nil {
			return err
		}
	}
	if c.File != "" {
		r.File, err = unit.ParseBytes(c.File)
	}
	return err
}

var resultID = regexp.MustCompile(`^[a-z]+\.[a-z0-9.-]+\.[a-z0-9_-]+$`)

// check refuses what cannot be a result.
func check(r Result) error {
	known, ok := units()[r.Metric]
	zero := r.Metric == Retransmits // the only metric for which zero is a result
	switch {
	case !resultID.MatchString(r.ID):
		return fmt.Errorf("id %q: want lower-case letters, digits, dashes and dots", r.ID)
	case r.Where == "":
		return errors.New("no place in the paper")
	case !ok:
		return fmt.Errorf("unknown metric %q", r.Metric)
	case !slices.Contains(known, r.Unit):
		return fmt.Errorf("%s in %q: want one of %s", r.Metric, r.Unit, strings.Join(known, ", "))
	case !(r.Value > 0 || zero && r.Value == 0) || math.IsInf(r.Value, 0):
		return fmt.Errorf("value %g: want a positive number", r.Value)
	case r.To != 0 && !(r.To > r.Value) || math.IsInf(r.To, 0):
		return fmt.Errorf("range %g to %g: want a rising one", r.Value, r.To)
	case math.IsInf(float64(max(r.Rate(), r.RateTo())*binaryMega), 0):
		return fmt.Errorf("%s: more than a rate can be", r.Amount())
	case !slices.Contains([]As{"", About, Almost, Over, Under, UpTo}, r.As):
		return fmt.Errorf("unknown qualifier %q", r.As)
	case !slices.Contains([]string{"", Read, Write, Mixed, Transfer}, r.Direction):
		return fmt.Errorf("unknown direction %q", r.Direction)
	case !slices.Contains([]string{"", "nfs", "smb", "iscsi", "tcp", "local"}, r.Protocol):
		return fmt.Errorf("unknown protocol %q", r.Protocol)
	case r.MTU < 0 || r.Threads < 0:
		return errors.New("a negative number of bytes or threads")
	}
	if r.Link > 0 && max(r.Rate(), r.RateTo()) > r.Link && len(r.Doubts) == 0 {
		return fmt.Errorf("%s on a link of %s: more than it carries, and no doubt says why", r.Amount(), r.Link)
	}
	return nil
}
