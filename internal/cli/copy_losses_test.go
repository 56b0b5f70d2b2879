package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"linerate/internal/app/copy"
)

// The terminal names the first losses of a copy and sends to the report for the others, which has
// them, or says where more are.
func TestLossLines(t *testing.T) {
	lost := func(n int, leftOut int64) *copy.Result {
		all := strings.Repeat(`{"what":"owner","path":"f","detail":"0 instead of 5"},`, n)
		r := &copy.Result{LeftOut: leftOut}
		if leftOut > 0 {
			r.LossesNamed = int64(n) + leftOut
		}
		if err := json.Unmarshal([]byte(`{"losses":[`+strings.TrimSuffix(all, ",")+`]}`), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		n, named int
		leftOut  int64
		lines    int
		last     string
	}{
		{20, namedLosses, 0, 20, "owner: f: 0 instead of 5"},
		{26, namedLosses, 0, 21, "and 6 more: linerate report names them"},
		{26, reportedLosses, 0, 26, "owner: f: 0 instead of 5"},
		{3000, namedLosses, 0, 21, "and 2980 more: linerate report names the first 2000"},
		{3000, reportedLosses, 7, 2001, "and 1007 more: results.json beside this report names the first 3000 of all, and losses.jsonl.zst beside it 3007"},
		{2000, namedLosses, 7, 21, "and 1987 more: linerate report names the first 2000, and losses.jsonl.zst beside it 2007"},
	} {
		got := lossLines(lost(c.n, c.leftOut), c.named)
		if len(got) != c.lines || got[len(got)-1] != c.last || !strings.HasPrefix(got[0], "owner: f: 0 ") {
			t.Errorf("%d losses, %d named: %d lines, the last %q", c.n, c.named, len(got), got[len(got)-1])
		}
	}
}

// A copy that makes or mends something has not found that there was nothing to do.
func TestHeadlineOfACopyThatMovesNoData(t *testing.T) {
	for moved, want := range map[string]string{
		`{"same_entries":3,"directories":1}`:                     "nothing to copy: the target has all of it (found in 1s)",
		`{"same_entries":3,"directories":1,"mended_entries":2}`:  "no data to copy: metadata of 2 entries set in 1s",
		`{"same_entries":3,"directories":2,"new_directories":1}`: "copied 0 B in 1s (0 B/s)",
		`{"same_entries":3,"directories":1,"deleted":1}`:         "copied 0 B in 1s (0 B/s)",
	} {
		var r copy.Result
		if err := json.Unmarshal([]byte(`{"state":"done","took_ns":1000000000,"moved":`+moved+`}`), &r); err != nil {
			t.Fatal(err)
		}
		if got := copyHeadline(&r); got != want {
			t.Errorf("%s: %q, want %q", moved, got, want)
		}
	}
}

// A rate that is not the bytes over the time beside it says over which time it is.
func TestHeadlineOfACopySaysWhatItsRateIsOver(t *testing.T) {
	for wire, want := range map[string]string{
		`null`:                   "copied 1000 B in 1s (500 B/s)",
		`{"moved_ns":990000000}`: "copied 1000 B in 1s (500 B/s)",
		`{"moved_ns":500000000}`: "copied 1000 B in 1s (500 B/s in the 500ms in which data moved)",
	} {
		var r copy.Result
		if err := json.Unmarshal([]byte(`{"state":"done","took_ns":1000000000,"rate_bps":4000,"moved":{"bytes":1000},"wire":`+wire+`}`), &r); err != nil {
			t.Fatal(err)
		}
		if got := copyHeadline(&r); got != want {
			t.Errorf("wire %s: %q, want %q", wire, got, want)
		}
	}
}
