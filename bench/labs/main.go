// Command labs brings each built-in topology up and down again and again,
// and loads its flow once: how long it takes, what is left behind (nothing),
// how busy the slowest link gets and how busy this machine's cores are then.
// Two more rows have hosts with kernels of their own, the last a quarter as
// often.
//
//	go run ./bench/labs -n 20
//
// It only starts the program and reads what it prints.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
)

func main() {
	n := flag.Int("n", 20, "times that each topology goes up and down")
	flag.Parse()
	kit.Main("labs", func(ctx context.Context) error { return run(ctx, *n, os.Stdout) })
}

type bench struct{ binary, dir string }

type entry struct {
	Name string `json:"name"`
}

func run(ctx context.Context, n int, w io.Writer) error {
	dir, err := os.MkdirTemp("", "linerate-bench-")
	if err != nil {
		return fmt.Errorf("make a place for the binary: %w", err)
	}
	defer os.RemoveAll(dir)
	b := bench{dir: dir}
	if b.binary, err = kit.Build(ctx, dir); err != nil {
		return err
	}
	var all []entry
	if err := b.ask(ctx, &all, "lab", "topologies", "--json"); err != nil {
		return err
	}
	fmt.Fprintf(w, "| topology | up and down | median up | longest up | median down | share of the ceiling | busiest core | left behind |\n|---|---|---|---|---|---|---|---|\n")
	var variants []variant
	for _, t := range all {
		variants = append(variants, variant{t.Name, nil, n})
	}
	variants = append(variants,
		variant{"back-to-back", []string{"--kernel", "client1,server1", "--serve", "server1=nfs"}, n},
		variant{"dual-homed", []string{"--device", "nas1"}, max(1, n/4)})
	for _, v := range variants {
		if err := b.topology(ctx, v, w); err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
	}
	return nil
}

// variant is a row: a topology, with options of lab up or as it is.
type variant struct {
	topology string
	options  []string
	times    int
}

func (v variant) String() string {
	return strings.Join(append([]string{v.topology}, v.options...), " ")
}

func (b bench) topology(ctx context.Context, v variant, w io.Writer) error {
	var up, down []time.Duration
	load := "– | –" // what a kernel or a processor in software carries is no link's share
	for i := range v.times {
		started := time.Now()
		if err := b.ask(ctx, nil, append([]string{"lab", "up", v.topology, "--json"}, v.options...)...); err != nil {
			return err
		}
		up = append(up, time.Since(started))
		var err error
		if i == 0 && v.options == nil {
			var share, core float64
			share, core, err = b.load(ctx, v.topology)
			load = fmt.Sprintf("%.1f%% | %.0f%%", 100*share, 100*core)
		}
		started = time.Now()
		if err := errors.Join(err, b.ask(ctx, nil, "lab", "down", "--json")); err != nil {
			return err
		}
		down = append(down, time.Since(started))
	}
	left, err := b.leftBehind()
	if err != nil {
		return err
	}
	slices.Sort(up)
	slices.Sort(down)
	ms := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	n := v.times
	fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %d |\n", v, n, ms(up[n/2]), ms(up[n-1]), ms(down[n/2]), load, left)
	return nil
}

// load runs the flow's first sender at full speed. The busiest core includes
// whatever else this machine does.
func (b bench) load(ctx context.Context, name string) (share, core float64, err error) {
	var labs []struct {
		Flow struct {
			From []string `json:"from"`
			To   string   `json:"to"`
		} `json:"flow"`
	}
	if err := b.ask(ctx, &labs, "lab", "status", "--json"); err != nil {
		return 0, 0, err
	}
	if len(labs) != 1 || len(labs[0].Flow.From) == 0 {
		return 0, 0, errors.New("status: want one lab with a flow")
	}
	var out struct {
		Verdict struct {
			Share *float64 `json:"share_of_ceiling"`
		} `json:"verdict"`
	}
	before, err := cores()
	if err != nil {
		return 0, 0, err
	}
	prefix := "lab:" + name + "/"
	if err := b.ask(ctx, &out, "explain", prefix+labs[0].Flow.From[0], prefix+labs[0].Flow.To, "--load", "--cc", "cubic", "--json"); err != nil {
		return 0, 0, err
	}
	after, err := cores()
	if err != nil || out.Verdict.Share == nil {
		return 0, 0, errors.Join(err, errors.New("no share of a ceiling"))
	}
	return *out.Verdict.Share, busiest(before, after), nil
}

// cores reads the busy and all jiffies of each core.
func cores() ([][2]float64, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, err
	}
	var out [][2]float64
	for line := range strings.Lines(string(data)) {
		var name string
		var user, nice, system, idle, iowait, irq, softirq, steal float64
		if !strings.HasPrefix(line, "cpu") || strings.HasPrefix(line, "cpu ") {
			continue
		}
		if _, err := fmt.Sscan(line, &name, &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal); err != nil {
			return nil, fmt.Errorf("read /proc/stat: %w", err)
		}
		busy := user + nice + system + irq + softirq
		out = append(out, [2]float64{busy, busy + idle + iowait + steal})
	}
	return out, nil
}

func busiest(before, after [][2]float64) (most float64) {
	for i := range min(len(before), len(after)) {
		if all := after[i][1] - before[i][1]; all > 0 {
			most = max(most, (after[i][0]-before[i][0])/all)
		}
	}
	return most
}

// leftBehind counts control groups and files that labs have left.
func (b bench) leftBehind() (int, error) {
	groups, err := filepath.Glob("/sys/fs/cgroup/*/linerate-lab-*")
	if err != nil {
		return 0, err
	}
	files, err := filepath.Glob(filepath.Join(b.dir, "run", "*"))
	return len(groups) + len(files), err
}

// ask runs the program and decodes what it prints, if anybody wants it.
func (b bench) ask(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, b.binary, args...)
	run := filepath.Join(b.dir, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+run, "XDG_DATA_HOME="+filepath.Join(b.dir, "data"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("linerate %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(stdout.Bytes(), into)
}
