package storage

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"linerate/internal/load/block"
	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

func round(alone, together float64) PoolRound {
	return PoolRound{Alone: [2]RunFigures{{BytesPerS: alone}, {BytesPerS: 1}}, Together: [2]RunFigures{{BytesPerS: together}, {BytesPerS: 1}}}
}

func TestInterfere(t *testing.T) {
	for name, c := range map[string]struct {
		rounds []PoolRound
		kept   float64
		apart  bool
		chance float64
	}{
		"half is lost":          {[]PoolRound{round(100, 50), round(110, 50), round(90, 46)}, 0.5, true, 0.1},
		"within the spread":     {[]PoolRound{round(100, 97), round(110, 99), round(90, 91)}, 0.97, false, 0.1},
		"one round says little": {[]PoolRound{round(100, 10)}, 0.1, true, 1},
		"faster together":       {[]PoolRound{round(10, 20), round(11, 22)}, 2, true, 2.0 / 6},
	} {
		got := Interfere(c.rounds, 0)
		if math.Abs(got.Kept-c.kept) > 1e-9 || got.Apart != c.apart || math.Abs(got.Chance-c.chance) > 1e-9 || got.N != len(c.rounds) {
			t.Errorf("%s: %+v", name, got)
		}
		if other := Interfere(c.rounds, 1); other.Kept != 1 || other.Apart {
			t.Errorf("%s: the other one: %+v", name, other)
		}
	}
	if got := Interfere(nil, 0); got.N != 0 {
		t.Errorf("of no rounds: %+v", got)
	}
}

func target(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

// A target is paced to a tenth of what it could do: then both keep it, together
// and alone, and every request is where it belongs.
func TestPools(t *testing.T) {
	task := func(rate float64) BlockTask {
		return BlockTask{Name: "test", Fill: true, Spec: block.Spec{Path: target(t, 1<<20), Threads: 1, Depth: 4, Engine: block.Calls, Sync: block.None,
			Duration: 600 * time.Millisecond, Seed: 1, Shape: shape.Shape{Pattern: shape.Random, Read: 0.5, Sizes: []shape.SizeShare{{Size: 4 * unit.KiB, Share: 1}},
				Rate: rate, Arrivals: shape.Uniform}}}
	}
	told := 0
	rounds, err := Pools(t.Context(), Hooks{}, [2]BlockTask{task(500), task(1000)}, 3, func(PoolRound) { told++ })
	if err != nil || len(rounds) != 3 || told != 3 {
		t.Fatalf("%d rounds, %d told: %v", len(rounds), told, err)
	}
	for _, r := range rounds {
		for i := range 2 {
			if r.Alone[i].IOPS <= 0 || r.Together[i].IOPS <= 0 || r.Alone[i].Latency == nil || r.Alone[i].Failed > 0 {
				t.Errorf("%+v", r)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	rounds, err = Pools(ctx, Hooks{}, [2]BlockTask{task(500), task(500)}, 3, func(PoolRound) { cancel() })
	if !errors.Is(err, context.Canceled) || len(rounds) != 1 {
		t.Errorf("cancelled after the first: %d rounds, %v", len(rounds), err)
	}
}
