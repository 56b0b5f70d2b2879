package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/stat"
	"linerate/internal/study"
	"linerate/internal/unit"
)

// agentMargin is the effect of an agent on goodput that is to be excluded: 0.1%.
const agentMargin = 1.001

// agentAlpha is the error rate of the equivalence test.
const agentAlpha = 0.05

// settles is how long a live view runs before its effect is measured: what it takes to begin is
// not what it takes.
const settles = 5 * time.Second

// near is a path that a small machine fills without effort, with a queue that no run overflows, so that
// its goodput hardly varies: from run to run by 0.02%, and by 0.5% with losses.
const near = `name: near
title: two hosts beside each other
about: A bench's, with a rate that this machine carries without effort.
hosts:
  client1: {interfaces: {eth0: {address: 10.92.0.1/24}}}
  server1: {interfaces: {eth0: {address: 10.92.0.2/24}}}
links:
  - {between: [client1.eth0, server1.eth0], rate: 200Mbit/s, rtt: 2ms, queue: 2MB}
flow: {from: [client1], to: server1, via: eth0}
`

// watchers are the live views whose agents are switched on and off: what is started, and a
// word of what it prints once it samples.
var watchers = []struct {
	name  string
	args  []string
	ready string
}{
	{"watch: 10 Hz on both hosts", []string{"watch", "lab:client1", "lab:server1", "--line-rate", "200Mbit", "--json"}, `"path"`},
	{"serve: 1 Hz, and 10 Hz for 13 s when data begins to move", []string{"serve", "lab:client1", "lab:server1", "--line-rate", "200Mbit", "--history", "0", "--listen", "127.0.0.1:0"}, "is served at"},
}

// agentEffect prints what the agents of both hosts cost the goodput between them: a study in pairs
// of runs, one with them and one without, in random order, judged by two one-sided tests.
func agentEffect(ctx context.Context, pairs int, long time.Duration) error {
	return kit.WithUser(ctx, "", "", func(u kit.User) error {
		file := filepath.Join(u.Home, "near.yaml")
		if err := os.WriteFile(file, []byte(near), 0o600); err != nil {
			return err
		}
		return u.Lab(ctx, []string{file, "--full-rate"}, func(lab.Status) error {
			before, _, err := kit.ReadCPU()
			if err != nil {
				return err
			}
			kit.Head(os.Stdout, "agents of", "pairs", "goodput without", "with", "with over without (95% interval)", "p of 0.1% or more", "so", "A/A")
			for i, w := range watchers {
				if err := onAndOff(ctx, u, uint64(i+1), pairs, long, w.name, w.ready, w.args); err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
			}
			after, _, err := kit.ReadCPU()
			if err != nil {
				return err
			}
			d := after.Since(before)
			fmt.Printf("\n%v a run; the machine's cores were busy for %.0f%% of the time.\n", long, 100*d.Share(d.Busy))
			return nil
		})
	})
}

// onAndOff runs the pairs of one live view and prints its row.
func onAndOff(ctx context.Context, u kit.User, seed uint64, pairs int, long time.Duration, name, ready string, args []string) error {
	o := study.Options{Pairs: pairs, AAPairs: 4, Seed: seed, Undo: time.Minute, Progress: func(done, total int, label string) {
		fmt.Fprintf(os.Stderr, "%s  %d of %d  %s\n", time.Now().Format(time.TimeOnly), done, total, label)
	}}
	s, err := study.RunPairs(ctx, o, &viewing{user: u, args: args, ready: ready}, func(ctx context.Context, _ string) (unit.BitRate, error) {
		return carried(ctx, u, long)
	})
	if err != nil {
		return err
	}
	logs := logsOf(s.Pairs)
	lo, hi := study.Interval(logs, agentAlpha)
	p := study.TwoOneSided(logs, agentMargin)
	so := "not shown"
	if p <= agentAlpha {
		so = "less than 0.1%"
	}
	var without, with []float64
	for _, x := range s.Pairs {
		without, with = append(without, x.Baseline), append(with, x.Treated)
	}
	fmt.Printf("| %s | %d | %v | %v | %.3f%% (%.3f to %.3f%%) | %.2g | %s | ±%.3f%% |\n", name, len(logs), unit.BitRate(stat.Mean(without)), unit.BitRate(stat.Mean(with)),
		100*math.Exp(stat.Mean(logs)), 100*math.Exp(lo), 100*math.Exp(hi), p, so, 100*stat.Deviation(logsOf(s.AA)))
	return nil
}

func logsOf(pairs []study.Pair) (out []float64) {
	for _, p := range pairs {
		out = append(out, math.Log(p.Treated/p.Baseline))
	}
	return out
}

// carried is the goodput of one stream between the hosts. A run that fails is made again, twice at
// most: it is not a result, and says nothing of the agents.
func carried(ctx context.Context, u kit.User, long time.Duration) (rate unit.BitRate, err error) {
	for range 3 {
		if rate, err = carriedOnce(ctx, u, long); err == nil || ctx.Err() != nil {
			return rate, err
		}
		fmt.Fprintln(os.Stderr, "made again:", err)
	}
	return rate, err
}

func carriedOnce(ctx context.Context, u kit.User, long time.Duration) (unit.BitRate, error) {
	var r struct {
		Load struct {
			Goodput unit.BitRate `json:"goodput_bps"`
		} `json:"load"`
	}
	err := u.Ask(ctx, &r, "load", "tcp", "lab:client1", "lab:server1", "--for", long.String(), "--congestion", "cubic", "--json")
	if err == nil && r.Load.Goodput <= 0 {
		err = errors.New("the load moved nothing")
	}
	return r.Load.Goodput, err
}

// viewing starts a live view and ends it.
type viewing struct {
	user  kit.User
	args  []string
	ready string
	cmd   *exec.Cmd
}

// Apply starts it, and returns once it samples.
func (v *viewing) Apply(ctx context.Context) error {
	v.cmd = v.user.Command(ctx, v.args...)
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	v.cmd.Stderr = v.cmd.Stdout
	if err := v.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("wait until it samples: %w", err)
		}
		if strings.Contains(line, v.ready) {
			go func() { _, _ = io.Copy(io.Discard, lines) }() // until it ends
			return rest(ctx, settles)
		}
	}
}

// Undo ends it, if it runs.
func (v *viewing) Undo(context.Context) error {
	if v.cmd == nil || v.cmd.Process == nil {
		return nil
	}
	err := v.cmd.Process.Signal(os.Interrupt)
	_ = v.cmd.Wait() // interrupted, it may say so by its exit code
	v.cmd = nil
	return err
}
