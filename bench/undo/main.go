package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"linerate/bench/kit"
)

func main() {
	if code, ok := role(os.Args[1:]); ok {
		os.Exit(code)
	}
	hosts := flag.String("hosts", "fake,namespaces,devices,kernels", "kinds of hosts, of fake, namespaces, devices and kernels")
	every := flag.Int("every", 1, "one of so many steps of each plan")
	flag.Parse()
	kit.Main("undo", func(ctx context.Context) error {
		if *every < 1 {
			return fmt.Errorf("-every %d: want 1 or more", *every)
		}
		return run(ctx, strings.Split(*hosts, ","), *every)
	})
}

func run(ctx context.Context, hosts []string, every int) error {
	began := time.Now()
	all := newTable(os.Stderr)
	kinds := realKinds("")
	kinds["fake"] = fakeCases
	for _, kind := range hosts {
		cases, ok := kinds[kind]
		if !ok {
			return fmt.Errorf("no hosts of kind %q: want fake, namespaces, devices or kernels", kind)
		}
		if err := cases(ctx, all, every); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	all.print(os.Stdout, time.Since(began))
	if all.broken > 0 {
		return fmt.Errorf("%d of %d cases did not end as they began", all.broken, all.cases)
	}
	return nil
}

// scratch is a directory for cases, in memory where there is room: they sync
// at every step, and what they test is not the disk.
func scratch() (string, error) {
	dir, err := os.MkdirTemp("/dev/shm", "linerate-bench-undo-*")
	if err != nil {
		return os.MkdirTemp("", "linerate-bench-undo-*")
	}
	return dir, nil
}

// fakeCases runs one of every so many cases against the fake host.
func fakeCases(ctx context.Context, all *table, every int) error {
	for _, p := range plans() {
		for i, what := range mishaps() {
			// Each mishap begins elsewhere, so that a sample meets many steps.
			for step := 1 + i*every/len(mishaps()); ; step += every {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				reached, err := fakeCase(all, oneCase{plan: p, step: step, what: what})
				if err != nil {
					return err
				}
				if !reached {
					break // past the last step
				}
			}
		}
	}
	return nil
}

// fakeCase runs one case in a directory of its own.
func fakeCase(all *table, c oneCase) (reached bool, err error) {
	dir, err := scratch()
	if err != nil {
		return false, err
	}
	o, failed := runFake(dir, c)
	if err := removeAll(dir, failed); err != nil {
		return false, err
	}
	if failed == nil && !o.reached {
		return false, nil
	}
	all.add("fake host", c.plan.name, c.what, c.step, o, failed)
	return o.reached, nil
}

func removeAll(dir string, failed error) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove %s: %w (the case: %w)", dir, err, failed)
	}
	return nil
}

// difference is the lines that differ.
func difference(want, got string) string {
	have := map[string]bool{}
	for _, l := range strings.Split(got, "\n") {
		have[l] = true
	}
	var b strings.Builder
	for _, l := range strings.Split(want, "\n") {
		if !have[l] {
			fmt.Fprintf(&b, "- %s\n", l)
		}
		delete(have, l)
	}
	for _, l := range strings.Split(got, "\n") {
		if have[l] {
			fmt.Fprintf(&b, "+ %s\n", l)
		}
	}
	return b.String()
}
