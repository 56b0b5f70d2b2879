package data

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"linerate/internal/model"
	"linerate/internal/report/document"
)

// Samples are by run label and host.
type Samples map[string]map[string][]model.Sample

// Table is one table that a bundle has.
type Table struct {
	Name string
	What string // what a row is
	// Counters: its rows come from the samples of the bundle.
	Counters bool
	rows     func(*model.Results, Samples) writer
}

// writer writes rows in either form.
type writer interface {
	csv(io.Writer) error
	parquet(io.Writer) error
}

// Tables are the tables of a bundle with these results, the first the one that
// is written when none is named.
func Tables(r *model.Results) []Table {
	counters := []Table{
		{"connections", "one TCP connection at one moment, as tcp_info has it", true, func(r *model.Results, s Samples) writer { return connections(labels(r, s), s) }},
		{"cpus", "one CPU at one moment, cumulative times", true, func(r *model.Results, s Samples) writer { return cpus(labels(r, s), s) }},
		{"interfaces", "one network interface at one moment, cumulative counters", true, func(r *model.Results, s Samples) writer { return interfaces(labels(r, s), s) }},
	}
	if r.Load != nil {
		return []Table{{"series", "the rate of a load over some seconds", false, func(r *model.Results, _ Samples) writer { return series(r.Load) }}}
	}
	if r.Study == nil {
		return append([]Table{{"runs", "one run", false, func(r *model.Results, _ Samples) writer { return runs(r.Runs) }}}, counters...)
	}
	study := func(name, what string, f func(*model.Study) writer) Table {
		return Table{name, what, false, func(r *model.Results, _ Samples) writer { return f(r.Study) }}
	}
	return append([]Table{
		study("runs", "one run of one workload in one state, also those that do not count", studyRuns),
		study("comparisons", "one level of one factor on one workload", comparisons),
		study("seconds", "one second of one run", seconds),
		study("frames", "one frame of one run, or the slowest of several", videoFrames),
		study("hosts", "the processors of one host in one run", hostShares),
		study("cores", "one core of one host in one run", cores),
		study("clients", "one client of one run", clients),
		study("settings", "one setting that was changed, and whether it is recommended", settings),
		study("discarded", "one run of a group that did not agree", discarded),
	}, counters...)
}

// Find returns the table of that name; of none the first. The error names those
// that this bundle has.
func Find(r *model.Results, name string) (Table, error) {
	all := Tables(r)
	if name == "" {
		return all[0], nil
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Table{}, fmt.Errorf("find table %q: this run has %s", name, strings.Join(names, ", "))
}

// CSV writes the table with a first line of names. It fails only when w does.
func (t Table) CSV(w io.Writer, r *model.Results, s Samples) error {
	if err := t.rows(r, s).csv(w); err != nil {
		return fmt.Errorf("write CSV of %s: %w", t.Name, err)
	}
	return nil
}

// Parquet writes the table, compressed by zstd. It fails only when w does.
func (t Table) Parquet(w io.Writer, r *model.Results, s Samples) error {
	if err := t.rows(r, s).parquet(w); err != nil {
		return fmt.Errorf("write Parquet of %s: %w", t.Name, err)
	}
	return nil
}

// rows are the rows of a table. The names of the columns are the parquet tags
// of T, whose fields are string, bool, int64, float64, time.Time, or a pointer
// to one of these where a value may be missing.
type rows[T any] []T

func (rs rows[T]) parquet(w io.Writer) error {
	p := parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd))
	if _, err := p.Write(rs); err != nil {
		return err
	}
	return p.Close()
}

func (rs rows[T]) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	t := reflect.TypeFor[T]()
	var head []string
	for i := range t.NumField() {
		head = append(head, column(t.Field(i)))
	}
	if err := c.Write(head); err != nil {
		return err
	}
	line := make([]string, len(head))
	for _, r := range rs {
		v := reflect.ValueOf(r)
		for i := range line {
			line[i] = cell(v.Field(i))
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func column(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
	return name
}

func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if at, ok := v.Interface().(time.Time); ok {
		return at.UTC().Format(time.RFC3339Nano)
	}
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return text(v.String())
}

// text keeps a spreadsheet from taking a text for a formula, which it would run: a text that begins
// like one gets an apostrophe, as in spreadsheet programs themselves. Characters that could steer a
// terminal become spaces. Names of hosts and settings never begin like a formula.
func text(s string) string {
	s = document.Plain(s)
	if begin := strings.TrimLeft(s, " "); begin != "" && strings.ContainsRune("=+-@", rune(begin[0])) {
		return "'" + s
	}
	return s
}

// labels are the labels of runs with samples, in the order the runs were made;
// what is in no list of runs comes last, by name.
func labels(r *model.Results, s Samples) []string {
	var out []string
	add := func(l string) {
		if s[l] != nil && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	if r.Study != nil {
		for _, run := range r.Study.Runs {
			add(run.Label)
		}
	}
	for _, run := range r.Runs {
		add(run.Label)
	}
	for _, l := range sorted(s) {
		add(l)
	}
	return out
}
