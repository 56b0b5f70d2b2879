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
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/model"
	"linerate/internal/unit"
)

func main() {
	only := flag.String("only", "", "only cases whose name has this in it")
	flag.Parse()
	kit.Main("fix", func(ctx context.Context) error {
		return kit.WithUser(ctx, "", "", func(u kit.User) error { return run(ctx, u, *only, os.Stdout) })
	})
}

// road is a lab, the rate of its link, and the faults that it is for. With mount, the
// lab is mountLab, and a client reads over NFS.
type road struct {
	lab   []string
	rate  string
	mount bool
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
		{"offloads-off mild"}, {"offloads-off medium"}, {"offloads-off severe"}, {"host-mtu medium"}, {"offloads-off medium", "host-mtu medium"},
	}}
	mounted := road{rate: "400Mbit", mount: true, cases: [][]string{
		{"small-read-ahead medium"}, {"small-read-ahead severe"},
	}}
	return []road{long, short, mounted}
}

func run(ctx context.Context, u kit.User, only string, w io.Writer) error {
	kit.Head(w, "faults", "healthy", "before", "after", "of healthy", "changes kept / faults", "steps", "seconds", "ended")
	cured, all, spare := 0, 0, 0
	var errs []error
	for _, r := range roads() {
		for _, faults := range r.cases {
			name := strings.Join(faults, " + ")
			if !strings.Contains(name, only) || ctx.Err() != nil {
				continue
			}
			all++
			o, err := r.fix(ctx, u, faults)
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

const from, to = "lab:client1", "lab:server1"

// reach is what one stream, or one reader over the mount, reaches.
func (r road) reach(ctx context.Context, u kit.User) (unit.BitRate, error) {
	var o struct {
		Load struct {
			Bytes float64 `json:"bytes_per_s"`
		} `json:"load"`
	}
	args := []string{"load", "tcp", from, to, "--for", "3s", "--warmup", "2s", "--json"}
	if r.mount {
		args = []string{"load", "block", readFile, "--on", from, "--pattern", "sequential", "--block", "256k", "--qd", "1", "--drop-cache", "--for", "4s", "--warmup", "1s", "--json"}
	}
	err := u.Ask(ctx, &o, args...)
	return unit.BitRate(8 * o.Load.Bytes), err
}

// command is what the user types who does not know what is wrong.
func (r road) command() []string {
	if r.mount {
		return []string{"fix", from, to + ":/share", "--file", "big", "--yes", "--json", "--line-rate", r.rate}
	}
	return []string{"fix", from, to, "--yes", "--json", "--line-rate", r.rate}
}

// mountLab is a client and a server of NFS with kernels of their own, whose link
// carries less than half of what they can, and whose server cannot keep in memory
// what is read.
const mountLab = `name: fix-nfs
title: a client and a server of NFS
hosts:
  client1: {memory: 256MiB, interfaces: {eth0: {address: 10.77.0.1/24, mtu: 9000}}}
  server1: {memory: 256MiB, servers: [nfs], interfaces: {eth0: {address: 10.77.0.2/24, mtu: 9000}}}
links:
  - {between: [client1.eth0, server1.eth0], rate: 400Mbit/s, rtt: 16ms, mtu: 9216}
flow: {from: [server1], to: client1, via: eth0}
`

const readFile = "/mnt/nas/big"

// labArgs are those of lab up.
func (r road) labArgs(u kit.User) ([]string, error) {
	if !r.mount {
		return r.lab, nil
	}
	path := filepath.Join(u.Home, "lab.yaml")
	return []string{path, "--full-rate", "--kernel", "client1,server1"}, os.WriteFile(path, []byte(mountLab), 0o600)
}

// prepare has a client that is to read over a mount do so from a file of 384 MiB,
// with a read-ahead of 4 MiB.
func (r road) prepare(ctx context.Context, u kit.User, l lab.Status) error {
	if !r.mount {
		return nil
	}
	share := filepath.Join(l.Servers[0].Share, "big")
	return errors.Join(
		u.Inside(ctx, "server1", "sh", "-c", "dd if=/dev/zero of="+share+" bs=1M count=384 conv=fsync status=none"),
		u.Inside(ctx, "client1", "sh", "-c", "mkdir -p /mnt/nas && mount -i -t nfs -o vers=4.2,addr=10.77.0.2 10.77.0.2:/share /mnt/nas &&"+
			" echo 4096 >/sys/class/bdi/$(mountpoint -d /mnt/nas)/read_ahead_kb"))
}

func (r road) fix(ctx context.Context, u kit.User, faults []string) (o outcome, err error) {
	args, err := r.labArgs(u)
	if err != nil {
		return o, err
	}
	err = u.Lab(ctx, args, func(l lab.Status) error {
		if err := r.prepare(ctx, u, l); err != nil {
			return err
		}
		o, err = r.inLab(ctx, u, faults)
		return err
	})
	return o, err
}

func (r road) inLab(ctx context.Context, u kit.User, faults []string) (o outcome, err error) {
	if o.healthy, err = r.reach(ctx, u); err != nil {
		return o, err
	}
	for _, f := range faults {
		if _, err := u.Run(ctx, append([]string{"lab", "fault", "add"}, strings.Fields(f)...)...); err != nil {
			return o, err
		}
	}
	if o.before, err = r.reach(ctx, u); err != nil {
		return o, err
	}
	var done model.Outcome
	began := time.Now()
	if err := u.Ask(ctx, &done, r.command()...); err != nil {
		return o, err
	}
	o.took, o.steps, o.ended = time.Since(began), len(done.Steps), done.Ended
	for _, s := range done.Steps {
		if s.Kept {
			o.kept++
		}
	}
	o.after, err = r.reach(ctx, u)
	return o, err
}
