package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"linerate/internal/explain"
	"linerate/internal/lab/fault"
	"linerate/internal/model"
)

// byHand shows the verdict on a fault that is not in the catalogue: words as
// `linerate lab fault add` takes them, or run:HOST and a command that causes it there.
// Its effect is not measured, so it is in no table; with -record the case is kept
// under the name.
func byHand(ctx context.Context, j *judge, name, words string, record func(string, explain.Case) error) (err error) {
	args := strings.Fields(words)
	if len(args) == 0 || name == "" {
		return errors.New("-by-hand: want NAME=WORDS, e.g. late=link:client1-server1 reorder=30% reorder-by=30ms")
	}
	if err := j.enter(ctx, fault.LongRoad); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	if host, ok := strings.CutPrefix(args[0], "run:"); ok {
		if _, err := j.stage.Run(ctx, host, args[1:]...); err != nil {
			return err
		}
	} else {
		in, err := fault.Parse(args, j.stage.Topology())
		if err != nil {
			return err
		}
		if _, err := in.Inject(ctx, j.stage); err != nil { // it goes with the lab
			return err
		}
	}
	out, seen, err := j.stage.Diagnose(ctx, model.Workload{Streams: 1, CC: "cubic"})
	if err != nil {
		return err
	}
	j.say("%s: %s", name, out.Verdict.Line)
	if record == nil {
		return nil
	}
	if err := record(name, seen); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
