package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"linerate/internal/kernel/golden"
	"linerate/internal/model"
	"linerate/internal/unit"
)

var moment = time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC)

// exampleRun has every kind of file and a host whose name is no file name.
func exampleRun() (*model.Results, []*model.Facts) {
	ceiling, share, ratio := 938*unit.Mbit, 0.126, 7.6
	sample := func(at time.Duration, acked int64) model.Sample {
		return model.Sample{V: model.SampleVersion, At: at, HostAt: moment.Add(at),
			Conns: []model.Conn{{CC: "cubic", BytesAcked: acked, RTT: 16 * time.Millisecond}},
			SNMP:  map[string]int64{"Tcp.RetransSegs": 3}}
	}
	r := &model.Results{
		Outcome: model.Outcome{V: model.OutcomeVersion, Restored: true, Warnings: []model.Warning{},
			Verdict: model.Verdict{Limiter: model.ReceiverWindow, Where: model.AtReceiver, Line: "the receive window holds the path at 13%",
				Measured: 118 * unit.Mbit, Ceiling: &ceiling, ShareOfCeiling: &share, Confidence: 0.9},
			Ladder: []model.Rung{{Rung: "one TCP stream", Ceiling: &ceiling, Formula: "rate × payload / frame", Seen: true}},
			Proof:  &model.Proof{Pairs: 8, Ratio: &ratio, P: 0.0078, Effect: "gain", By: "linerate"}},
		Command: "demo --fault window", Started: moment, Took: 48 * time.Second, Build: "test",
		Hosts: []string{"client1", "user@nas:/export"},
		Runs: []model.Run{{Label: "diagnosis", Goodput: 118 * unit.Mbit, Samples: map[string][]model.Sample{
			"client1":          {sample(0, 0), sample(100*time.Millisecond, 1_475_000)},
			"user@nas:/export": {sample(0, 0)},
		}}},
	}
	var facts []*model.Facts
	for _, h := range r.Hosts {
		facts = append(facts, &model.Facts{V: model.FactsVersion, Host: h, Taken: moment, OS: "linux",
			Settings: map[string]model.Fact[string]{
				"linux.sysctl.net.ipv4.tcp_rmem": model.Known("4096 131072 262144"),
				"linux.sysctl.net.core.rmem_max": model.Unknown[string](model.Denied, "needs root"),
			}})
	}
	return r, facts
}

func fill(t *testing.T, w *Writer) {
	t.Helper()
	r, facts := exampleRun()
	r.Report = "/data/linerate/runs/moved/report.html" // Open knows better
	for _, f := range facts {
		must(t, w.Facts(f))
	}
	must(t, w.Samples(r.Runs))
	must(t, w.Results(r))
	must(t, w.Report(func(out io.Writer) error {
		_, err := io.WriteString(out, "<!doctype html><title>report</title>\n")
		return err
	}))
}

func writeRun(t *testing.T, root, command string, now time.Time) string {
	t.Helper()
	w, err := Create(root, command, now)
	must(t, err)
	fill(t, w)
	path, err := w.Commit()
	must(t, err)
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkExample compares an opened bundle with what exampleRun holds.
func checkExample(t *testing.T, b *Bundle) {
	t.Helper()
	addr := cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{})
	want, facts := exampleRun()
	want.Report = filepath.Join(b.Dir, "report.html")
	wantSamples := Samples{"diagnosis": want.Runs[0].Samples}
	want.Runs[0].Samples = nil
	if d := cmp.Diff(want, b.Results, addr); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
	for _, f := range facts {
		if d := cmp.Diff(f, b.Facts[f.Host], addr); d != "" {
			t.Errorf("facts of %s (-want +got):\n%s", f.Host, d)
		}
	}
	got, err := b.Samples()
	must(t, err)
	if d := cmp.Diff(wantSamples, got, addr); d != "" {
		t.Errorf("samples (-want +got):\n%s", d)
	}
}

func TestWriteThenOpenGivesTheSame(t *testing.T) {
	root := filepath.Join(t.TempDir(), "data")
	path := writeRun(t, root, "demo --fault window", moment)
	b, err := Open(path)
	must(t, err)
	checkExample(t, b)
	if !strings.HasPrefix(b.ID(), "20261120-234501-demo-") || b.Manifest.Build != "test" || !b.Manifest.Created.Equal(moment) {
		t.Errorf("id %q, manifest %+v", b.ID(), b.Manifest)
	}
}

func TestNobodyElseCanReadABundle(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	root := filepath.Join(t.TempDir(), "data")
	writeRun(t, root, "demo", moment)
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
}

func TestNothingIsVisibleBeforeCommitNorAfterAbort(t *testing.T) {
	root := t.TempDir()
	w, err := Create(root, "demo", moment)
	must(t, err)
	fill(t, w)
	if list, err := List(root); err != nil || len(list) != 0 {
		t.Errorf("before commit: %v, %v", list, err)
	}
	must(t, w.Abort())
	must(t, w.Abort())
	if left, err := os.ReadDir(filepath.Join(root, "runs")); err != nil || len(left) != 0 {
		t.Errorf("abort left %v, %v", left, err)
	}
	if _, err := w.Commit(); err == nil {
		t.Error("commit after abort succeeded")
	}
}

func TestAbortAfterCommitKeepsTheBundle(t *testing.T) {
	w, err := Create(t.TempDir(), "demo", moment)
	must(t, err)
	fill(t, w)
	path, err := w.Commit()
	must(t, err)
	must(t, w.Abort())
	if _, err := Open(path); err != nil {
		t.Error(err)
	}
}

func TestCommitWithoutResultsIsRefused(t *testing.T) {
	w, err := Create(t.TempDir(), "demo", moment)
	must(t, err)
	if _, err := w.Commit(); err == nil || !strings.Contains(err.Error(), "results.json") {
		t.Errorf("got %v", err)
	}
	must(t, w.Abort())
}

func TestCollidingIDs(t *testing.T) {
	root := t.TempDir()
	me, err := self()
	must(t, err)
	tokens := func(list ...string) func() (string, error) {
		return func() (string, error) {
			t := list[0]
			list = list[1:]
			return t, nil
		}
	}
	start := func(token func() (string, error)) *Writer {
		w := &Writer{runs: filepath.Join(root, "runs"), manifest: Manifest{V: 1, Command: "demo", Created: moment}}
		must(t, os.MkdirAll(w.runs, 0o700))
		must(t, w.reserve(me, moment, token))
		fill(t, w)
		return w
	}
	first, second := start(tokens("aaaa")), start(tokens("aaaa", "bbbb"))
	if first.ID() == second.ID() {
		t.Fatalf("two runs in the making share the id %s", first.ID())
	}
	_, err = first.Commit()
	must(t, err)
	third := start(tokens("aaaa", "cccc")) // taken by a finished bundle
	// Another process takes the second's name behind its back.
	must(t, os.MkdirAll(filepath.Join(second.Path(), "x"), 0o700))
	path, err := second.Commit()
	must(t, err)
	if filepath.Base(path) == "20261120-234501-demo-bbbb" || path != second.Path() {
		t.Errorf("lost race: committed as %s", path)
	}
	for _, w := range []*Writer{first, second} {
		if _, err := Open(w.Path()); err != nil {
			t.Error(err)
		}
	}
	must(t, third.Abort())
}

func TestSweepTakesOnlyWhatDeadProcessesOfThisMachineLeft(t *testing.T) {
	runs := t.TempDir()
	me := owner{pid: 100, machine: "aabbccdd"}
	keep := []string{
		me.tempName("20261120-234501-demo-mine"),
		owner{pid: 7, machine: me.machine}.tempName("20261120-234501-demo-live"),
		owner{pid: 8, machine: "00000000"}.tempName("20261120-234501-demo-else"),
		"20261120-234501-demo-done", ".new-odd", ".other",
	}
	dead := owner{pid: 8, machine: me.machine}.tempName("20261120-234501-demo-dead")
	for _, n := range append(keep, dead) {
		must(t, os.MkdirAll(filepath.Join(runs, n, "facts"), 0o700))
	}
	if w := sweep(runs, me, func(pid int) bool { return pid == 7 }); len(w) != 0 {
		t.Errorf("warnings: %v", w)
	}
	left, err := os.ReadDir(runs)
	must(t, err)
	if len(left) != len(keep) {
		t.Errorf("left %v, want %v", left, keep)
	}
	if _, err := os.Stat(filepath.Join(runs, dead)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the dead run's folder is still there")
	}
}

func TestAliveKnowsThisProcess(t *testing.T) {
	if !alive(os.Getpid()) {
		t.Error("this process is said to be gone")
	}
	if alive(1<<30 - 1) { // above any kernel's pid_max
		t.Error("a process that cannot exist is said to be alive")
	}
}

func TestHostNames(t *testing.T) {
	seen := map[string]string{}
	for _, h := range []string{"client1", "lab:client1", "lab_client1", "user@host:/x", "user@host:/y", "../../etc/passwd", "/",
		"", ".", "..", "CLIENT1", "con", "nul.txt", "größe", "a\x00b", "a\nb", strings.Repeat("x", 300), "fe80::1%eth0"} {
		n := hostName(h)
		if other, ok := seen[strings.ToLower(n)]; ok {
			t.Errorf("%q and %q share the file name %q", h, other, n)
		}
		seen[strings.ToLower(n)] = h
		for _, f := range []string{"facts/" + n + ".json", "samples/" + n + samplesExt} {
			if !hostFile().MatchString(f) || !filepath.IsLocal(f) {
				t.Errorf("%q becomes %q, which Open would refuse", h, f)
			}
		}
	}
	if hostName("client1") != "client1" {
		t.Errorf("a plain name was changed to %q", hostName("client1"))
	}
}

func TestDataDir(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"xdg", map[string]string{"XDG_DATA_HOME": "/d", "HOME": "/h"}, "/d/linerate"},
		{"home", map[string]string{"HOME": "/h"}, "/h/.local/share/linerate"},
		{"a relative XDG_DATA_HOME does not count", map[string]string{"XDG_DATA_HOME": "d", "HOME": "/h"}, "/h/.local/share/linerate"},
		{"Windows", map[string]string{"LOCALAPPDATA": "/local", "HOME": "/h"}, "/local/linerate"},
		{"xdg on Windows", map[string]string{"XDG_DATA_HOME": "/d", "LOCALAPPDATA": "/local"}, "/d/linerate"},
		{"nothing", nil, ""},
	} {
		got, err := DataDir(func(k string) string { return c.env[k] })
		if filepath.ToSlash(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

// TestEveryOldVersionOpens opens the committed fixture of each version.
func TestEveryOldVersionOpens(t *testing.T) {
	for v := 1; v <= Version; v++ {
		dir := filepath.Join("testdata", fmt.Sprintf("v%d", v), "20261120-234501-demo-x7k2")
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && golden.Update() && v == Version {
			w, err := Create(t.TempDir(), "demo --fault window", moment)
			must(t, err)
			fill(t, w)
			must(t, w.Losses(func(out io.Writer) error { _, err := io.WriteString(out, "lines"); return err }))
			path, err := w.Commit()
			must(t, err)
			must(t, os.CopyFS(dir, os.DirFS(path)))
		}
		b, err := Open(dir)
		must(t, err)
		checkExample(t, b)
		if b.Manifest.V != v || b.has(LossesName) != (v == 2) {
			t.Errorf("fixture of version %d: manifest of version %d, losses: %v", v, b.Manifest.V, b.has(LossesName))
		}
	}
}

func TestFormatGolden(t *testing.T) {
	// The decoder is tested by the fixture; this tells when the writer's
	// results.json changes shape without a new version.
	r, _ := exampleRun()
	r.Report = "20261120-234501-demo-x7k2/report.html"
	got, err := json.MarshalIndent(r, "", "  ")
	must(t, err)
	golden.Same(t, filepath.Join("testdata", "results.golden.json"), append(got, '\n'))
}

func TestSamplesTooLargeToReadBackAreRefused(t *testing.T) {
	huge := model.Sample{V: 1, SNMP: map[string]int64{strings.Repeat("x", maxLine): 1}}
	err := encodeSamples(&bytes.Buffer{}, []model.Run{{Label: "a", Samples: map[string][]model.Sample{"h": {huge}}}}, "h")
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v", err)
	}
	c := &counter{limit: 3}
	if _, err := c.Write([]byte("four")); err == nil {
		t.Error("a file past its limit was written")
	}
}
