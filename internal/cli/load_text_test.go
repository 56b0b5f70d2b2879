package cli

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/app/load"
)

// A load on hosts of which one had no answer, and whose first run nobody reads twice.
func TestLoadDocument(t *testing.T) {
	few := &load.Quantiles{N: 10, P50: 1234567, P99: 2e6, P999: 3e6, Max: 3e6}
	run := load.JobResult{Flush: 5 * time.Millisecond, Notes: []string{"a note"}, BlockResult: load.BlockResult{
		Load: load.Summary{Workload: "w", Interrupted: true, IOPS: 10, BytesPerS: 40960, Requests: 10, Latency: few, Failed: 2, Failures: []string{"write at offset 0: \x1b[2J"}},
		Spec: load.Ran{Target: "f", Engine: "ring", Direct: true, Threads: 1, Depth: 2, Duration: 1e9, Run: "ab", Compress: 2},
		Hosts: []load.Host{{Name: "a", HostFigures: &load.HostFigures{IOPS: 10, BytesPerS: 40960, Latency: few, Done: time.Second}},
			{Name: "b", HostFigures: &load.HostFigures{}}},
		Together: &load.Together{FirstDone: time.Second, LastDone: time.Second, SumOfHosts: 40960},
	}}
	d, read := loadDocument(&load.JobsResult{Runs: []load.JobResult{run}})
	if read != 1 || len(d.Sections) != 2 {
		t.Fatalf("%d of %d sections are read", read, len(d.Sections))
	}
	var b strings.Builder
	if err := d.Text(&b, false, 80); err != nil {
		t.Fatal(err)
	}
	if b.String() != wantLoad {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	d.Sections, d.Saved = d.Sections[read:], "/r.html"
	if err := d.Text(&b, false, 80); err != nil || b.String() != "report        /r.html\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

const wantLoad = `w on f (io_uring, direct, no sync, 2 requests in flight)
Interrupted: these figures are of the 1s that were measured
10 requests per second, 40 KiB per second over 1s (10 requests)

              P50  P99  P99.9  MAX  REQUESTS
  latency  1.23ms  2ms   3ms*  3ms        10
* of fewer than 1000 requests the slowest

  HOST  REQUESTS/S  PER SECOND     P50  P99  MAX  BEGAN  DONE
  a             10      40 KiB  1.23ms  2ms  3ms     0s    1s
  b              0         0 B       –    –    –     0s    0s
began within 0s (± 0s); first done after 1s, last after 1s; the hosts' own rates
add up to 40 KiB per second

What was written is stamped with run ab; it compresses by 2

Generator limited: no

2 requests failed
  - write at offset 0: [2J
The sync at the end took 5ms of the time
  - a note
`
