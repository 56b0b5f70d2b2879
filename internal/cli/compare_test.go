package cli

import (
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"linerate/internal/kernel/golden"
)

// fixtures are the committed bundles of every version.
func fixtures(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../store/testdata/v*/*")
	if err != nil || len(all) < 3 {
		t.Fatalf("found fixtures %q: %v", all, err)
	}
	return all
}

func fixture(name string) string { return filepath.Join("../store/testdata/v1", name) }

const (
	aDemo  = "20261120-234501-demo-x7k2"
	aStudy = "20261121-093000-study-c5rt"
	later  = "20261124-093000-study-m7qa"
)

func TestCompareGolden(t *testing.T) {
	for name, pair := range map[string][2]string{"studies": {aStudy, later}, "runs": {aDemo, aDemo}, "mixed": {aDemo, aStudy}} {
		code, out, errs := typed(t, "compare", fixture(pair[0]), fixture(pair[1]))
		if want := map[bool]int{true: ExitNothing, false: ExitOK}[name == "mixed"]; code != want {
			t.Errorf("%s: exit code %d, %s", name, code, errs)
		}
		golden.Same(t, filepath.Join("testdata", "compare", name+".txt"), out)
	}
}

// TestEveryVersionCompares sets each fixture beside each, in both orders.
func TestEveryVersionCompares(t *testing.T) {
	for _, a := range fixtures(t) {
		for _, b := range fixtures(t) {
			code, out, errs := typed(t, "compare", a, b, "--json")
			var c struct {
				V    int
				Line string
				Same bool
				A, B struct{ ID string }
			}
			if err := json.Unmarshal([]byte(out), &c); err != nil || c.V != 1 || c.Line == "" || c.A.ID != filepath.Base(a) || c.B.ID != filepath.Base(b) {
				t.Errorf("%s beside %s: %v %+v", a, b, err, c)
			}
			if want := map[bool]int{true: ExitOK, false: ExitNothing}[c.Same]; code != want {
				t.Errorf("%s beside %s: exit code %d, %s", a, b, code, errs)
			}
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	for want, args := range map[int][]string{ExitUsage: {"compare", "last"}, ExitFailed: {"compare", fixture(aDemo), t.TempDir()}} {
		if code, _, errs := typed(t, args...); code != want || !strings.HasPrefix(errs, "linerate: ") {
			t.Errorf("%v: exit code %d, %q", args, code, errs)
		}
	}
}

// TestReportFormats renders every fixture in every format.
func TestReportFormats(t *testing.T) {
	for _, dir := range fixtures(t) {
		for format, want := range map[string]string{"text": "", "html": "<!doctype html>", "md": "#", "json": "{", "csv": ",", "parquet": "PAR1"} {
			code, out, errs := typed(t, "report", dir, "--format", format)
			if code != ExitOK || !strings.Contains(out[:min(200, len(out))], want) || len(out) < 40 {
				t.Errorf("%s as %s: exit code %d, %s, %.80q", dir, format, code, errs, out)
			}
		}
	}
}

func TestReportTables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.parquet")
	if code, _, errs := typed(t, "report", fixture(aStudy), "--table", "clients", "-o", file); code != ExitOK || !strings.Contains(errs, "wrote ") {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	rows, err := parquet.ReadFile[struct {
		Host  string  `parquet:"host"`
		Value float64 `parquet:"value"`
	}](file)
	if err != nil || len(rows) != 8*(1+2+3+4+5) || rows[0].Host != "client1" || rows[0].Value < 2e8 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	code, out, _ := typed(t, "report", fixture(aStudy), "--format", "csv", "--table", "connections")
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != ExitOK || err != nil || len(lines) != 11 {
		t.Errorf("exit code %d, %d lines, %v", code, len(lines), err)
	}
	for want, args := range map[string][]string{
		`table "comparisons": this run has runs, connections, cpus, interfaces`: {"report", fixture(aDemo), "--format", "csv", "--table", "comparisons"},
		"only csv and parquet have tables":                                      {"report", fixture(aDemo), "--table", "runs"},
		`unknown format "pdf"`:                                                  {"report", fixture(aDemo), "--format", "pdf"},
	} {
		if code, _, errs := typed(t, args...); code != ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, %q", args, code, errs)
		}
	}
}
