package experiment

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
)

// Several clients begin at one instant, and each is counted.
func TestSeveralClients(t *testing.T) {
	w, f := newWorld(), example()
	f.Hosts["other"], f.Baseline = "lab:other", nil
	f.Workloads[0].Receivers, f.Workloads[0].Clients = []string{"client", "other"}, 1
	f.Factors = []model.StudyFactor{{Name: "clients", Levels: []model.StudyLevel{{Name: "2", Workload: map[string]string{"clients": "2"}}}}}
	out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Runs {
		switch {
		case !r.Counted:
			t.Errorf("%+v", r)
		case r.Factor == "" && (r.PerClient != nil || *r.Value > 1.1e8):
			t.Errorf("one client: %+v", r)
		case r.Factor != "" && (len(r.PerClient) != 2 || *r.Value != r.PerClient["client"]+r.PerClient["other"]):
			t.Errorf("two clients: %v, %v", *r.Value, r.PerClient)
		}
	}
	all := strings.Join(w.log, " ")
	if !strings.Contains(all, "connected connected connected connected go") {
		t.Errorf("two pairs began one by one: %s", all)
	}
}

// Requests on a file of two hosts: outcomes add up, latencies are the worst's.
func TestRequestsOnFiles(t *testing.T) {
	w, f := newWorld(), example()
	f.Factors = []model.StudyFactor{{Name: "depth", Levels: []model.StudyLevel{{Name: "4", Workload: map[string]string{"depth": "4"}}}}}
	f.Workloads[0] = model.StudyWorkload{Name: "bulk", Kind: "block", Hosts: []string{"client", "server"}, Path: "/x", Pattern: "random", Read: 100, Block: 4096, Depth: 1, Threads: 1, Duration: time.Second}
	before := w.state()
	out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, w.state()); d != "" || strings.Count(strings.Join(w.log, " "), "stop") != 8 {
		t.Errorf("%s %v", d, w.log)
	}
	for _, r := range out.Runs {
		depth := 1.0
		if r.Factor != "" {
			depth = 4
		}
		if !r.Counted || *r.Value != 200*depth || r.Unit != "1/s" || r.P99 != time.Duration(depth*1e6) || r.PerClient["server"] != 100*depth || len(r.PerSecond) != 1 || r.PerSecond[0] != 200 {
			t.Errorf("%+v", r)
		}
		if len(r.Warnings) != 1 || r.Warnings[0].What != "at least 97% of what server read came from its own page cache" {
			t.Errorf("%+v", r.Warnings)
		}
	}
}

// Video on two hosts: rates of streams add up, of each frame the slower host's counts,
// and dropped frames are said while the run counts.
func TestFramesOnFiles(t *testing.T) {
	w, f := newWorld(), example()
	f.Factors = []model.StudyFactor{{Name: "files", Levels: []model.StudyLevel{{Name: "each", Workload: map[string]string{"file_per_frame": "true"}}}}}
	f.Workloads[0] = model.StudyWorkload{Name: "bulk", Kind: "frames", Hosts: []string{"client", "server"}, Path: "/x", Format: "hd-yuv10", FPS: "25", Streams: 1, Buffer: 4, Play: true, Direct: true, Duration: time.Second}
	out, err := begun(t, w, f, t.TempDir(), "").Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Runs {
		if !r.Counted || *r.Value != 2e9 || r.Unit != "bit/s" || r.P99 != 2*time.Millisecond || !slices.Equal(r.PerFrame, []float64{1e9, 1.5e9}) || r.FramesEach != 1 {
			t.Errorf("%+v", r)
		}
		if len(r.Warnings) != 2 || r.Warnings[0].What != "1 of 10 frames were not in time on client, 0 of them failed" || !strings.HasSuffix(r.Warnings[1].What, "page cache of server: their rate is its memory's; the storage had all of them 1.5s after the last") {
			t.Errorf("%+v", r.Warnings)
		}
	}
}
