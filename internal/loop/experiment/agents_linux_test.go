package experiment

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"linerate/internal/host"
	"linerate/internal/load"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/drive"
)

// TestMain makes the test binary a linerate with the roles agent and worker.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "agent" && os.Args[1] != "worker" {
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil { // agents end often
			panic(err)
		}
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := role(ctx, os.Args[1], os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func role(ctx context.Context, name string, args []string) error {
	if name == "worker" {
		return load.WorkerMain(ctx, os.Stdin, os.Stdout)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, _, err := host.ParseAgentArgs(args)
	if err != nil {
		return err
	}
	return host.AgentMain(ctx, os.Stdin, os.Stdout, host.AgentOptions{StateDir: dir, Self: []string{self}, Build: "test", Log: os.Stderr, Now: time.Now})
}

// Real agents on this host's loopback, with a window that is too small for any
// machine, a congestion control that nobody has, and an agent that is killed.
// Nothing here is changed: the factors are of the load.
func TestRealAgents(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := example()
	f.Baseline = nil
	f.Factors = []model.StudyFactor{
		{Name: "window", Levels: []model.StudyLevel{{Name: "tiny", Workload: map[string]string{"recv_buffer": "4KiB"}}}},
		{Name: "cc", Levels: []model.StudyLevel{{Name: "none", Workload: map[string]string{"congestion": "nosuch"}}}},
	}
	f.Workloads[0].Duration, f.Workloads[0].Warmup = 300*time.Millisecond, 100*time.Millisecond
	d, err := drive.New(f)
	if err != nil {
		t.Fatal(err)
	}
	state, err := store.CreateStudy(t.TempDir(), store.StudyBegin{File: f}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close() // read below, and written through by then
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	x := &Experiment{ID: state.ID(), File: f, Director: d, Record: state, Now: time.Now, Say: func(s string) { t.Log(s) },
		Route: func(context.Context, *Host, *Host) (netip.Addr, netip.Addr, error) { return loopback, loopback, nil }}
	agents := map[string]*host.Client{}
	for _, name := range []string{"client", "server"} {
		x.Hosts = append(x.Hosts, &Host{Name: name, At: "lab:" + name, Dial: func(ctx context.Context) (Agent, error) {
			c, err := host.Dial(ctx, host.Endpoint{Name: "lab:" + name, Self: []string{self}, StateDir: t.TempDir()}, host.Options{})
			agents[name] = c
			return c, err
		}})
	}
	killed := false
	x.After = func(r model.StudyRun) {
		if r.N == 1 && !killed {
			killed = true
			_ = agents["client"].Close() // it is gone when the next run begins
		}
	}
	out, err := x.Run(t.Context())
	if err != nil || !out.Restored {
		t.Fatalf("restored %v: %v", out.Restored, err)
	}
	byLevel := map[string][]float64{}
	lost := 0
	for _, r := range out.Runs {
		switch {
		case r.Counted:
			byLevel[r.Level] = append(byLevel[r.Level], *r.Value)
			if len(r.CPU) != 2 || r.Scope != "machine" {
				t.Errorf("%s: CPU %v, scope %q", r.Label, r.CPU, r.Scope)
			}
		case r.Factor != "cc":
			lost++
		}
	}
	if len(byLevel["tiny"]) != 2 || len(byLevel["none"]) != 0 || slices.Max(byLevel["tiny"]) >= slices.Min(byLevel[""]) {
		t.Errorf("%v", byLevel)
	}
	if lost < 1 {
		t.Error("the run whose agent was gone counts")
	}
	samples, err := state.Samples(func(label string) bool { return strings.HasPrefix(label, "run ") })
	if err != nil || len(samples) == 0 {
		t.Errorf("%d runs have samples: %v", len(samples), err)
	}
}
