package explain

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/model"
	"linerate/internal/unit"
)

const watchedDir = "../../testdata/hosts/uml-nfs-client/watched"

// readWatched is what explain sampled on an NFS client under one condition.
func readWatched(t testing.TB, name string) Case {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(watchedDir, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	e := &End{Host: "client", Facts: &model.Facts{}}
	if err := json.Unmarshal(raw, e.Facts); err != nil {
		t.Fatal(err)
	}
	if name == "window" {
		e.Facts.Settings[rmemSetting] = model.Known("4096 131072 262144")
	}
	f, err := os.Open(filepath.Join(watchedDir, name+".jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	lines := bufio.NewScanner(d)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct{ Sample model.Sample }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		e.Samples = append(e.Samples, l.Sample)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for i := range e.Samples { // the host's clock is the finer one
		e.Samples[i].At = e.Samples[i].HostAt.Sub(e.Samples[0].HostAt)
	}
	return Watched(e, model.Fact[bitRate]{})
}

// A full window is one even where nothing tells what keeps it small.
func TestWatchedWindowWithoutSettings(t *testing.T) {
	c := readWatched(t, "window")
	c.Receiver.Facts = nil
	v := Judge(c)
	if v.Limiter != model.ReceiverWindow || v.Confidence > 0.5 || v.Fix.Kind != model.FixOperator {
		t.Errorf("got %s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
	}
	checkVerdict(t, c, v)
}

// TestWatchedClient replays what explain saw of an NFS client alone: right, or right
// among the alternatives and not sure of it.
func TestWatchedClient(t *testing.T) {
	for _, tc := range []struct {
		name string
		want []model.LimiterID
	}{
		{"plain", []model.LimiterID{model.ReceiverCPU, model.SenderCPU, model.PacketCost, model.NFSConcurrency, model.ServerTime}},
		{"link-300", []model.LimiterID{model.LinkRate}},
		{"window", []model.LimiterID{model.ReceiverWindow}},
		{"loss", []model.LimiterID{model.PathLoss}},
		{"readahead", []model.LimiterID{model.NFSConcurrency}},
		{"slow-disk", []model.LimiterID{model.ServerTime}},
		{"slow-reader", []model.LimiterID{model.ApplicationSink}},
	} {
		whole := readWatched(t, tc.name)
		if tc.name == "link-300" { // a path that is full is slow only against what it should carry
			whole.LineRate = model.Known(unit.Gbit)
		}
		for _, part := range []struct{ from, to time.Duration }{{0, time.Minute}, {0, 5 * time.Second}, {6 * time.Second, 12 * time.Second}, {4 * time.Second, 7 * time.Second}} {
			c := cut(whole, part.from, part.to)
			v := Judge(c)
			checkVerdict(t, c, v)
			l := label{Want: tc.want, Ambiguous: true}
			t.Logf("%-12s %v-%v %s (%.2f) %v: %s", tc.name, part.from, part.to, v.Limiter, v.Confidence, v.Alternatives, v.Line)
			if !l.right(v) || v.Confidence > nfsOneEnd || v.Confidence >= nfsOneEnd && !slices.Contains(tc.want, v.Limiter) {
				t.Errorf("%s from %v to %v: want %v, got %s (%.2f): %s", tc.name, part.from, part.to, tc.want, v.Limiter, v.Confidence, v.Line)
			}
			if part.to == time.Minute && !slices.Contains(tc.want, v.Limiter) {
				t.Errorf("%s: %s is not named", tc.name, tc.want[0])
			}
		}
	}
}
