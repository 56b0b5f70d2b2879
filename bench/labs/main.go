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
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/model"
)

func main() {
	n := flag.Int("n", 20, "times that each topology goes up and down")
	flag.Parse()
	kit.Main("labs", func(ctx context.Context) error {
		return kit.WithUser(ctx, "", "", func(u kit.User) error { return run(ctx, u, *n, os.Stdout) })
	})
}

func run(ctx context.Context, u kit.User, n int, w io.Writer) error {
	var all struct {
		Topologies []struct {
			Name string `json:"name"`
		} `json:"topologies"`
	}
	if err := u.Ask(ctx, &all, "lab", "topologies", "--json"); err != nil {
		return err
	}
	kit.Head(w, "topology", "up and down", "median up", "longest up", "median down", "share of the ceiling", "busiest core", "left behind")
	var variants []variant
	for _, t := range all.Topologies {
		variants = append(variants, variant{t.Name, nil, n})
	}
	variants = append(variants,
		variant{"back-to-back", []string{"--kernel", "client1,server1", "--serve", "server1=nfs"}, n},
		variant{"dual-homed", []string{"--device", "nas1"}, max(1, n/4)})
	for _, v := range variants {
		if err := v.measure(ctx, u, w); err != nil {
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

func (v variant) measure(ctx context.Context, u kit.User, w io.Writer) error {
	var up, down []time.Duration
	load := kit.None + " | " + kit.None // what a kernel or a processor in software carries is no link's share
	for i := range v.times {
		started := time.Now()
		var ended time.Time
		err := u.Lab(ctx, append([]string{v.topology}, v.options...), func(l lab.Status) (err error) {
			up = append(up, time.Since(started))
			if i == 0 && v.options == nil {
				load, err = loaded(ctx, u, l)
			}
			ended = time.Now()
			return err
		})
		if err != nil {
			return err
		}
		down = append(down, time.Since(ended))
	}
	left, err := leftBehind(u)
	if err != nil {
		return err
	}
	ms := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %d |\n", v, v.times, ms(kit.MedianOrZero(up)), ms(slices.Max(up)), ms(kit.MedianOrZero(down)), load, left)
	return nil
}

// loaded runs the flow's first sender at full speed, and returns two cells: the
// share of the ceiling, and how busy the busiest core was with this and whatever
// else this machine does.
func loaded(ctx context.Context, u kit.User, l lab.Status) (string, error) {
	var out model.Outcome
	_, before, err := kit.ReadCPU()
	if err != nil {
		return "", err
	}
	prefix := "lab:" + l.Name + "/"
	if err := u.Ask(ctx, &out, "explain", prefix+l.Flow.From[0], prefix+l.Flow.To, "--load", "--cc", "cubic", "--json"); err != nil {
		return "", err
	}
	_, after, err := kit.ReadCPU()
	if err != nil || out.Verdict.ShareOfCeiling == nil {
		return "", errors.Join(err, errors.New("no share of a ceiling"))
	}
	busiest := 0.0
	for i := range after {
		core := after[i].Since(before[i])
		busiest = max(busiest, core.Share(core.Busy))
	}
	return fmt.Sprintf("%.1f%% | %.0f%%", 100**out.Verdict.ShareOfCeiling, 100*busiest), nil
}

// leftBehind counts control groups and files that labs have left.
func leftBehind(u kit.User) (int, error) {
	groups, err := filepath.Glob("/sys/fs/cgroup/*/linerate-lab-*")
	if err != nil {
		return 0, err
	}
	files, err := filepath.Glob(filepath.Join(u.Home, "linerate", "*"))
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "runs" })
	return len(groups) + len(files), err
}
