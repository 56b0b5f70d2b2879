package block

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// several opens so many files for a pass over each.
func several(t *testing.T, n int) ([]Spec, []*Target) {
	t.Helper()
	var specs []Spec
	var targets []*Target
	for range n {
		s := spec()
		s.Path, s.Shape.Area, s.Shape.Pattern, s.Shape.Read = fileOf(t, unit.MiB), 0, shape.Sequential, 0
		s.Requests, s.Duration = 256, time.Minute
		target, s, err := Open(s, s.Path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := target.Close(); err != nil {
				t.Error(err)
			}
		})
		specs, targets = append(specs, s), append(targets, target)
	}
	return specs, targets
}

func TestRunManyAddsUp(t *testing.T) {
	specs, targets := several(t, 3)
	all, each, err := RunMany(context.Background(), specs, targets)
	if err != nil || len(each) != 3 {
		t.Fatal(err)
	}
	if all.NoRing != "" {
		t.Skip(all.NoRing)
	}
	if all.Writes != 768 || all.WriteLatency.Count() != 768 || all.WrittenBytes != 3*int64(unit.MiB) || all.Threads != 3 || all.Depth != 4 || all.Requests != 768 {
		t.Errorf("%+v", all)
	}
	var longest time.Duration
	for _, r := range each {
		longest = max(longest, r.Measured)
		if r.Writes != 256 {
			t.Errorf("%d writes", r.Writes)
		}
	}
	if all.Measured != longest {
		t.Errorf("measured %v, the longest %v", all.Measured, longest)
	}
	if all.Flushed(time.Second); all.Measured != longest+time.Second {
		t.Errorf("with the flush %v", all.Measured)
	}
}

// One run that cannot be made ends the others, and is the only one to blame.
func TestRunManyEndsWithItsFirstError(t *testing.T) {
	specs, targets := several(t, 3)
	for i := range specs {
		specs[i].Requests, specs[i].Duration = 0, time.Hour
	}
	specs[1].Engine = Calls
	specs[1].Threads, specs[1].Depth = 256, 5 // more threads than there may be
	_, _, err := RunMany(context.Background(), specs, targets)
	if err == nil || !strings.HasPrefix(err.Error(), specs[1].Path) || errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for i := range specs {
		specs[i].Shape.Sizes[0].Size, specs[i].Shape.Area, specs[i].Engine, specs[i].Threads, specs[i].Depth = 8*unit.MiB, unit.GiB, Auto, 1, 100
	}
	if _, _, err := RunMany(context.Background(), specs, targets); err == nil || !strings.Contains(err.Error(), "all targets together") {
		t.Errorf("%v", err)
	}
	specs, targets = several(t, 2)
	ctx, seen := untilSeen(t)
	for i := range specs {
		specs[i].Requests, specs[i].Duration, specs[i].Progress = 0, time.Hour, seen
	}
	all, _, err := RunMany(ctx, specs, targets)
	if !errors.Is(err, context.Canceled) || all.WriteLatency.Count() == 0 {
		t.Errorf("stopped: %v", err)
	}
}
