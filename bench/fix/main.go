// Command fix puts faults that settings cure into a lab, one by one and two at a
// time, lets `linerate fix` climb without telling it which, and prints how far
// that brought the path:
//
//	go run ./bench/fix                  all, about an hour
//	go run ./bench/fix -only send       those with this in their name
//
// Healthy is the same lab before anything was put wrong. A case is cured when
// the path reaches 95% of it. The number of changes that were kept stands beside
// the number of faults: more means that something was kept that was not needed.
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
	"os/signal"
	"strings"
	"syscall"
	"time"

	"linerate/internal/cli"
	"linerate/internal/model"
	"linerate/internal/unit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if args := os.Args[1:]; len(args) > 0 && !strings.HasPrefix(args[0], "-") { // the lab's own processes, the agents, the workers
		os.Exit(cli.Run(ctx, args, os.Stdin, os.Stdout, os.Stderr))
	}
	only := flag.String("only", "", "only cases whose name has this in it")
	flag.Parse()
	if err := run(ctx, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench/fix:", err)
		os.Exit(1)
	}
}

// road is a lab, the rate of its link, and the faults that it is for.
type road struct {
	lab   []string
	rate  string
	cases [][]string
}

func roads() []road {
	long := road{lab: []string{"wan-16ms"}, rate: "1Gbit"}
	for _, one := range []string{
		"rcv-window-sysctl mild", "rcv-window-sysctl medium", "rcv-window-sysctl severe",
		"rcv-autotuning-off mild", "rcv-autotuning-off medium", "rcv-autotuning-off severe", "window-scaling-off on",
		"send-buffer mild", "send-buffer medium", "send-buffer severe",
	} {
		long.cases = append(long.cases, []string{one})
	}
	for _, receiver := range []string{
		"rcv-window-sysctl mild", "rcv-window-sysctl medium", "rcv-window-sysctl severe",
		"rcv-autotuning-off mild", "rcv-autotuning-off medium", "rcv-autotuning-off severe", "window-scaling-off on",
	} {
		for _, sender := range []string{"send-buffer mild", "send-buffer medium", "send-buffer severe"} {
			long.cases = append(long.cases, []string{receiver, sender})
		}
	}
	short := road{lab: []string{"back-to-back", "--full-rate"}, rate: "10Gbit", cases: [][]string{
		{"offloads-off medium"}, {"offloads-off severe"}, {"host-mtu medium"}, {"offloads-off medium", "host-mtu medium"},
	}}
	return []road{long, short}
}

func run(ctx context.Context, only string, w io.Writer) error {
	fmt.Fprintln(w, "| faults | healthy | before | after | of healthy | changes kept / faults | steps | seconds | ended |\n|---|---|---|---|---|---|---|---|---|")
	cured, all, spare := 0, 0, 0
	var errs []error
	for _, r := range roads() {
		for _, faults := range r.cases {
			name := strings.Join(faults, " + ")
			if !strings.Contains(name, only) || ctx.Err() != nil {
				continue
			}
			all++
			o, err := r.fix(ctx, faults)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
				fmt.Fprintf(w, "| %s | – | – | – | – | – | – | – | %v |\n", name, err)
				continue
			}
			if o.share() >= 0.95 {
				cured++
			}
			spare += max(0, o.kept-len(faults))
			fmt.Fprintf(w, "| %s | %s | %s | %s | %.0f%% | %d / %d | %d | %.0f | %s |\n", name, o.healthy, o.before, o.after, 100*o.share(), o.kept, len(faults), o.steps, o.took.Seconds(), o.ended)
		}
	}
	fmt.Fprintf(w, "\nAt least 95%% of the healthy rate: %d of %d. Changes kept beyond one per fault: %d.\n", cured, all, spare)
	return errors.Join(errs...)
}

// outcome is what became of one case.
type outcome struct {
	healthy, before, after unit.BitRate
	kept, steps            int
	took                   time.Duration
	ended                  string
}

func (o outcome) share() float64 { return float64(o.after) / float64(o.healthy) }

// user runs linerate in a home of its own.
type user struct{ exe, home string }

func (u user) run(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, u.exe, args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+u.home, "HOME="+u.home, "XDG_DATA_HOME="+u.home)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("linerate %s: %w: %s", strings.Join(args, " "), err, lines[len(lines)-1])
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		return fmt.Errorf("linerate %s: read its answer: %w", strings.Join(args, " "), err)
	}
	return nil
}

const from, to = "lab:client1", "lab:server1"

// rate is what one stream reaches.
func (u user) rate(ctx context.Context) (unit.BitRate, error) {
	var o struct {
		Load struct {
			Bytes float64 `json:"bytes_per_s"`
		} `json:"load"`
	}
	err := u.run(ctx, &o, "load", "tcp", from, to, "--for", "3s", "--warmup", "2s", "--json")
	return unit.BitRate(8 * o.Load.Bytes), err
}

func (r road) fix(ctx context.Context, faults []string) (o outcome, err error) {
	home, err := os.MkdirTemp("", "linerate-fix-")
	if err != nil {
		return o, err
	}
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	u := user{self, home}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, u.run(ctx, nil, "lab", "down", "--all"), os.RemoveAll(home))
	}()
	if err := u.run(ctx, nil, append([]string{"lab", "up"}, r.lab...)...); err != nil {
		return o, err
	}
	if o.healthy, err = u.rate(ctx); err != nil {
		return o, err
	}
	for _, f := range faults {
		if err := u.run(ctx, nil, append([]string{"lab", "fault", "add"}, strings.Fields(f)...)...); err != nil {
			return o, err
		}
	}
	if o.before, err = u.rate(ctx); err != nil {
		return o, err
	}
	var done model.Outcome
	began := time.Now()
	if err := u.run(ctx, &done, "fix", from, to, "--yes", "--json", "--line-rate", r.rate); err != nil {
		return o, err
	}
	o.took, o.steps, o.ended = time.Since(began), len(done.Steps), done.Ended
	for _, s := range done.Steps {
		if s.Kept {
			o.kept++
		}
	}
	o.after, err = u.rate(ctx)
	return o, err
}
