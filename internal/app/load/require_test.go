package load

import (
	"strings"
	"testing"

	"linerate/internal/load/block"
)

func TestRequire(t *testing.T) {
	made := &Made{Value: &BlockResult{Load: Summary{IOPS: 1000, BytesPerS: 4e6, Requests: 10, Failed: 2, Latency: &block.Quantiles{N: 10, P50: 1e6, P99: 5e6, P999: 6e6, Max: 7e6}}}}
	for text, met := range map[string]bool{
		"p99<5ms": false, "p99<=5ms": true, "p99 < 5.1ms": true, "P50<2ms": true, "p99.9<6.5ms": true, "max>1s": false, "iops>=1000": true, "iops>1000": false,
		"rate>3MB/s": true, "rate>4MB": false, "failed<1": false, "failed<=2": true,
	} {
		r, err := ParseRequirement(text, false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := made.Require([]Requirement{r}); len(got) != 1 || got[0].Met != met || got[0].Measured == "" {
			t.Errorf("%s: %+v, want met %v", text, got, met)
		}
	}
	if _, all := made.Value.Said(); len(all) != 1 {
		t.Errorf("what was required is not in the result: %+v", all)
	}
	none := &Made{Value: &BlockResult{}}
	for _, text := range []string{"p99<5ms", "rate<1GB", "iops<10"} {
		r, err := ParseRequirement(text, false)
		if got := none.Require([]Requirement{r}); err != nil || got[0].Met || got[0].Measured != "" {
			t.Errorf("without a request %s: %+v, %v", text, got, err)
		}
	}
	tcp := &Made{Value: &TCPResult{Load: TCPLoad{Goodput: 9.4e9}}}
	for text, met := range map[string]bool{"rate>9Gbit": true, "rate>9.5G": false} {
		if r, err := ParseRequirement(text, true); err != nil || tcp.Require([]Requirement{r})[0].Met != met {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, bad := range []string{"", "p99", "<5ms", "p98<5ms", "p99<5", "rate>x", "iops>-1", "iops>NaN", "p99=5ms"} {
		if _, err := ParseRequirement(bad, false); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := ParseRequirement("p99<5ms", true); err == nil || !strings.Contains(err.Error(), "this load has rate") {
		t.Errorf("TCP has no requests: %v", err)
	}
}

func TestBusyWords(t *testing.T) {
	for _, c := range []struct {
		pressure, average string
		busy              bool
	}{
		{"some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00\n", "9.00 1 1", false},
		{"some avg10=42.10 avg60=0.00 avg300=0.00 total=1\n", "0.0 0 0", true},
		{"", "0.40 0.1 0.1 1/100 5\n", false}, {"", "3.20 0.1 0.1 1/100 5\n", true}, {"", "", false}, {"some x", "y", false},
	} {
		if got := busyWords(c.pressure, c.average, 4); (got != "") != c.busy {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
