package data

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"linerate/internal/model"
	"linerate/internal/report/studytest"
)

// examples are results with samples of every kind of bundle.
func examples() map[string]studytest.Example {
	watched := studytest.Example{Results: &model.Results{Runs: []model.Run{{Label: "diagnosis", Goodput: 118e6, Bytes: 59e6, Window: 4 * time.Second, Workload: model.Workload{Sender: "a", Receiver: "b", Streams: 1}}}},
		Samples: map[string]map[string][]model.Sample{"diagnosis": studytest.Clients().Samples["run 1"]}}
	return map[string]studytest.Example{"study": studytest.Adapter("linerate"), "paper": studytest.Adapter("paper"), "clients": studytest.Clients(), "windows": studytest.Windows(), "frames": studytest.Frames(), "run": watched,
		"load": {Results: &model.Results{Load: &model.Load{Series: []model.LoadSeries{{Name: "x", Unit: "B/s", Each: 10, Values: []float64{1e6, 2e6}}}}}}}
}

// TestBothFormsSayTheSame reads every table back, of both forms, cell by cell.
func TestBothFormsSayTheSame(t *testing.T) {
	filled := map[string]bool{}
	for kind, e := range examples() {
		for _, table := range Tables(e.Results) {
			var c, p bytes.Buffer
			if err := table.CSV(&c, e.Results, e.Samples); err != nil {
				t.Fatal(err)
			}
			if err := table.Parquet(&p, e.Results, e.Samples); err != nil {
				t.Fatal(err)
			}
			lines, err := csv.NewReader(&c).ReadAll()
			if err != nil {
				t.Fatalf("%s %s: %v", kind, table.Name, err)
			}
			f, err := parquet.OpenFile(bytes.NewReader(p.Bytes()), int64(p.Len()))
			if err != nil {
				t.Fatalf("%s %s: %v", kind, table.Name, err)
			}
			compare(t, kind+" "+table.Name, lines, f)
			filled[table.Name] = filled[table.Name] || len(lines) > 1
		}
	}
	for name, ok := range filled {
		if !ok {
			t.Errorf("%s: no example fills it", name)
		}
	}
}

func compare(t *testing.T, what string, lines [][]string, f *parquet.File) {
	t.Helper()
	var names []string
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name())
	}
	at := map[string]int{}
	for i, n := range lines[0] {
		at[n] = i
	}
	if len(at) != len(names) || int(f.NumRows()) != len(lines)-1 {
		t.Fatalf("%s: %d columns and %d rows in CSV, %d and %d in Parquet", what, len(at), len(lines)-1, len(names), f.NumRows())
	}
	rows := parquet.NewReader(f)
	for i := 1; i < len(lines); i++ {
		row := map[string]any{}
		if err := rows.Read(&row); err != nil {
			t.Fatalf("%s row %d: %v", what, i, err)
		}
		for _, n := range names {
			if ns, ok := row[n].(int64); ok && n == "started" {
				row[n] = time.Unix(0, ns)
			}
			if got, want := lines[i][at[n]], shown(row[n]); got != want {
				t.Fatalf("%s row %d, %s: %q in CSV, %q in Parquet", what, i, n, got, want)
			}
		}
	}
}

func shown(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

func TestRunsSayWhatTheStudyHas(t *testing.T) {
	e := studytest.Adapter("linerate")
	var buf bytes.Buffer
	table, err := Find(e.Results, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := table.CSV(&buf, e.Results, nil); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := e.Results.Study.Runs
	if len(lines) != len(all)+1 {
		t.Fatalf("%d lines for %d runs", len(lines), len(all))
	}
	for i, r := range all {
		row := map[string]string{}
		for j, n := range lines[0] {
			row[n] = lines[i+1][j]
		}
		v, err := strconv.ParseFloat(row["value"], 64)
		if err != nil || v != *r.Value || row["counted"] != strconv.FormatBool(r.Counted) || row["started"] != r.Started.Format(time.RFC3339Nano) || row["took_ns"] != strconv.FormatInt(int64(r.Took), 10) {
			t.Fatalf("run %d: %v", r.N, row)
		}
	}
}

func TestWhatIsNotKnownIsEmpty(t *testing.T) {
	s := &model.Study{Runs: []model.StudyRun{{N: 1}}, Comparisons: []model.StudyComparison{{Conclusion: model.StudyNotTried}}}
	for _, name := range []string{"runs", "comparisons"} {
		table, err := Find(&model.Results{Study: s}, name)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := table.CSV(&buf, &model.Results{Study: s}, nil); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&buf).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range lines[0] {
			switch n {
			case "value", "ratio", "ci_low", "ci_high", "p", "p_holm", "effective", "smallest", "retransmitted", "p50_ns", "started":
				if lines[1][i] != "" {
					t.Errorf("%s of %s is %q", n, name, lines[1][i])
				}
			}
		}
	}
}

func TestATextIsNoFormula(t *testing.T) {
	for in, want := range map[string]string{"=HYPERLINK(1)": "'=HYPERLINK(1)", "-1+cmd": "'-1+cmd", "@x": "'@x", "client1": "client1", "": ""} {
		if got := cell(reflect.ValueOf(in)); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
	if got := cell(reflect.ValueOf(-0.5)); got != "-0.5" {
		t.Errorf("a number became %q", got)
	}
	if got := cell(reflect.ValueOf(math.Pi)); got != "3.141592653589793" {
		t.Errorf("a number was rounded to %q", got)
	}
}

func TestAnUnknownTableIsRefusedByName(t *testing.T) {
	_, err := Find(&model.Results{}, "comparisons")
	if err == nil || !strings.Contains(err.Error(), `"comparisons"`) || !strings.Contains(err.Error(), "runs, connections") {
		t.Errorf("%v", err)
	}
}
