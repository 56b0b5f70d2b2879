package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/lab/fault"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// What is tried: faults of the catalogue that change a path under traffic, and those that connections
// take from their start, for which the load begins anew after the fault. Those that a setting cures are
// tried at each severity, the others at their middle one.
var (
	during = []string{"loss-random", "loss-bursty", "loss-reverse", "link-rate", "reverse-rate", "small-queue", "policer", "reordering", "jitter", "receiver-cpu", "sender-cpu", "local-shaper", "offloads-off"}
	before = []string{"rcv-window-sysctl", "rcv-autotuning-off", "window-scaling-off", "send-buffer", "sack-off"}
)

const (
	settled = 8 * time.Second  // that a load runs before its goodput counts as what the path has without the fault
	patient = 20 * time.Second // how long a fault may stay unnamed
	wanted  = 10 * time.Second // in which it should have its name
	// binds is the share of the goodput that a fault has to take for it to have a name.
	binds = 0.05
	// longest is how long a healthy path may be looked at: the load on it begins before, and lasts an
	// hour at most.
	longest = 59 * time.Minute
)

// road is a path of 30 ms, with what a small machine carries while it is looked at.
const road = `name: road
title: two hosts 30 ms apart
about: A bench's, long enough for windows and buffers to bind.
hosts:
  client1: {interfaces: {eth0: {address: 10.91.0.1/24}}}
  server1: {interfaces: {eth0: {address: 10.91.0.2/24}}}
links:
  - {between: [client1.eth0, server1.eth0], rate: 200Mbit/s, rtt: 30ms, queue: 750KB}
flow: {from: [client1], to: server1, via: eth0}
`

// street is a path faster than one core passes packets one by one.
const street = `name: street
title: two hosts beside each other
about: A bench's, where the cost of a packet binds.
hosts:
  client1: {interfaces: {eth0: {address: 10.93.0.1/24}}}
  server1: {interfaces: {eth0: {address: 10.93.0.2/24}}}
links:
  - {between: [client1.eth0, server1.eth0], rate: 20Gbit/s, direct: true}
flow: {from: [client1], to: server1, via: eth0}
`

// places are the topologies, in files of a user's, and the line rates of their paths.
type places struct{ road, street string }

func (p places) of(f fault.Fault) (file, rate string) {
	if f.Road == fault.FastRoad {
		return p.street, "20Gbit"
	}
	return p.road, roadRate
}

const roadRate = "200Mbit"

// placesOf writes them.
func placesOf(u kit.User) (p places, err error) {
	p = places{filepath.Join(u.Home, "road.yaml"), filepath.Join(u.Home, "street.yaml")}
	return p, errors.Join(os.WriteFile(p.road, []byte(road), 0o600), os.WriteFile(p.street, []byte(street), 0o600))
}

// cases are what is tried of the faults: of only those, if there are any.
func cases(u kit.User, only []string) (out []named, err error) {
	for i, id := range slices.Concat(during, before) {
		if len(only) > 0 && !slices.Contains(only, id) {
			continue
		}
		f, err := fault.Find(id)
		if err != nil {
			return nil, err
		}
		curable := slices.ContainsFunc(model.Limiters(), func(l model.Limiter) bool { return l.ID == f.Limiter && l.Fix == model.FixSetting })
		levels := f.Severities
		if !curable {
			levels = levels[len(levels)/2:][:1]
		}
		for _, level := range levels {
			out = append(out, named{user: u, fault: f, level: level, later: i < len(during), curable: curable})
		}
	}
	return out, nil
}

// inLab prints how long watch takes in a lab to name each fault, and which limiters it names on
// a healthy path in the same time.
// only are the faults to try; none: all.
func inLab(ctx context.Context, healthy time.Duration, only []string) error {
	if healthy > longest {
		return fmt.Errorf("-healthy %v: a load lasts an hour, so %v at most", healthy, longest)
	}
	for _, id := range only {
		if !slices.Contains(slices.Concat(during, before), id) {
			return fmt.Errorf("%s is none of the faults that are tried: %s", id, strings.Join(slices.Concat(during, before), ", "))
		}
	}
	return kit.WithUser(ctx, "", "", func(u kit.User) error {
		tried, err := cases(u, only)
		if err != nil {
			return err
		}
		at, err := placesOf(u)
		if err != nil {
			return err
		}
		fmt.Println("| fault | limiter | goodput without and with | seen after | named after | named otherwise before |")
		fmt.Println("|---|---|---|---|---|---|")
		var bind, inTime [2]int // of all, of those that a setting cures
		for _, c := range tried {
			file, rate := at.of(c.fault)
			if err := u.Lab(ctx, []string{file, "--full-rate"}, func(lab.Status) error { return c.run(ctx, rate) }); err != nil {
				return fmt.Errorf("%s: %w", c.fault.ID, err)
			}
			for n, counts := range []bool{c.binds, c.binds && c.curable} {
				if counts {
					bind[n]++
				}
				if counts && c.after > 0 && c.after <= wanted {
					inTime[n]++
				}
			}
		}
		fmt.Printf("\n%d of %d faults that took 5%% or more of the goodput had their name within %v; of those that a setting cures %d of %d.\n", inTime[0], bind[0], wanted, inTime[1], bind[1])
		return u.Lab(ctx, []string{at.road, "--full-rate"}, func(lab.Status) error { return calm(ctx, u, healthy) })
	})
}

// named is one fault and when it got its name.
type named struct {
	user    kit.User
	fault   fault.Fault
	level   fault.Severity
	later   bool // the fault comes while the load runs
	curable bool // by a setting

	binds bool          // it took goodput
	after time.Duration // until it had its name; 0: it had not
}

func (c *named) run(ctx context.Context, lineRate string) error {
	f := c.fault
	if f.Beside != "" {
		if _, err := c.user.Run(ctx, append([]string{"lab", "fault", "add"}, strings.Fields(f.Beside)...)...); err != nil {
			return err
		}
	}
	v, err := look(ctx, c.user, lineRate)
	if err != nil {
		return err
	}
	defer v.end()
	load := begin(ctx, c.user, settled+patient+10*time.Second)
	defer func() { load.end() }()
	without, err := v.steady(settled)
	if err != nil {
		return err
	}
	if !c.later {
		load.end()
	}
	if _, err := c.user.Run(ctx, "lab", "fault", "add", f.ID, c.level.Name); err != nil {
		return err
	}
	at := time.Now()
	if !c.later {
		load = begin(ctx, c.user, patient+10*time.Second)
	}
	var others []string
	var after, seen time.Duration
	with := without
	for after == 0 && time.Since(at) < patient {
		p, err := v.next()
		if err != nil {
			return err
		}
		if !c.later && seen == 0 && p.Goodput < unit.Mbit {
			at = time.Now() // the new connection carries nothing yet
			continue
		}
		with = p.Goodput
		word := string(p.Shown.Limiter)
		if p.Shown.State != watch.Moving {
			word = string(p.Shown.State)
		}
		if seen == 0 && float64(with) < (1-binds)*float64(without) {
			seen = time.Since(at)
		}
		if p.Shown.Limiter == f.Limiter {
			after = time.Since(at)
		} else if seen > 0 && (p.Shown.State == watch.Moving && p.Shown.Limiter != model.None || p.Shown.State == watch.CannotTell) && !slices.Contains(others, word) {
			others = append(others, word)
		}
	}
	c.binds, c.after = seen > 0 && float64(with) < (1-binds)*float64(without), after
	fmt.Printf("| %s %s | %s | %v, %v | %s | %s | %s |\n", f.ID, c.level.Name, f.Limiter, without, with, whole(seen), whole(after), strings.Join(others, ", "))
	return nil
}

// whole is a time in seconds, for a cell.
func whole(d time.Duration) string {
	if d == 0 {
		return "not"
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// calm prints what a healthy path was called.
func calm(ctx context.Context, u kit.User, d time.Duration) error {
	v, err := look(ctx, u, roadRate)
	if err != nil {
		return err
	}
	defer v.end()
	load := begin(ctx, u, d+30*time.Second)
	defer load.end()
	if _, err := v.steady(settled); err != nil {
		return err
	}
	called, n := map[string]int{}, 0
	for at := time.Now(); time.Since(at) < d; n++ {
		p, err := v.next()
		if err != nil {
			return err
		}
		word := string(p.Shown.State)
		if p.Shown.State == watch.Moving {
			word = string(p.Shown.Limiter)
		}
		called[word]++
	}
	fmt.Printf("\n%v of a healthy path, %d pictures:", d, n)
	for _, word := range slices.Sorted(maps.Keys(called)) {
		fmt.Printf(" %s %.1f%%", word, 100*float64(called[word])/float64(n))
	}
	fmt.Println()
	return nil
}

// looker reads what linerate watch says of the two hosts.
type looker struct {
	cmd   *exec.Cmd
	lines *json.Decoder
}

func look(ctx context.Context, u kit.User, lineRate string) (*looker, error) {
	cmd := u.Command(ctx, "watch", "lab:client1", "lab:server1", "--line-rate", lineRate, "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &looker{cmd, json.NewDecoder(out)}, nil
}

func (l *looker) next() (p watch.Picture, err error) {
	if err = l.lines.Decode(&p); err != nil {
		err = fmt.Errorf("read what watch prints: %w", err)
	}
	return p, err
}

// steady reads for so long after data began to move, and returns the goodput of the last picture.
func (l *looker) steady(d time.Duration) (unit.BitRate, error) {
	for at := time.Now(); ; {
		p, err := l.next()
		if err != nil {
			return 0, err
		}
		if p.Goodput < unit.Mbit {
			at = time.Now()
		}
		if time.Since(at) > d {
			return p.Goodput, nil
		}
	}
}

func (l *looker) end() {
	_ = l.cmd.Process.Signal(os.Interrupt) // it ends with the bench, or has ended
	_ = l.cmd.Wait()
}

// loading is a load that runs.
type loading struct{ cmd *exec.Cmd }

func begin(ctx context.Context, u kit.User, d time.Duration) loading {
	cmd := u.Command(ctx, "load", "tcp", "lab:client1", "lab:server1", "--for", d.String(), "--congestion", "cubic")
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "begin a load:", err)
	}
	return loading{cmd}
}

func (l loading) end() {
	if l.cmd.Process == nil || l.cmd.ProcessState != nil {
		return
	}
	_ = l.cmd.Process.Signal(os.Interrupt) // it has ended where its time was over
	_ = l.cmd.Wait()
}
