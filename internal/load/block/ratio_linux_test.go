package block

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// written is what a run over each block of a file leaves there.
func written(t *testing.T, change func(*Spec)) []byte {
	t.Helper()
	s := spec()
	s.Path, s.Run, s.Shape.Area, s.Shape.Read, s.Shape.Pattern = fileOf(t, 8*unit.MiB), 99, 0, 0, shape.Once
	s.Shape.Sizes, s.Duration = []shape.SizeShare{{Size: 8 * unit.KiB, Share: 1}}, time.Minute
	s.Requests = 1024
	change(&s)
	target, s, err := Open(s, s.Path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), s, target)
	if err = errors.Join(err, target.Close()); err != nil || r.Failed > 0 || r.Writes != 1024 {
		t.Fatalf("%d failed, %d writes, %v", r.Failed, r.Writes, err)
	}
	b, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is written compresses by the ratio asked for, in records of a file system's
// size as in all; without one not at all. A stamp of 48 bytes compresses a little, too, so
// that large ratios come out larger.
func TestDataCompressAsAsked(t *testing.T) {
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []float64{0, 2, 4, 8} {
		b := written(t, func(s *Spec) { s.Compress = want })
		small := 0
		for at := 0; at < len(b); at += 128 << 10 {
			small += len(e.EncodeAll(b[at:at+128<<10], nil))
		}
		want = max(1, want)
		if got := float64(len(b)) / float64(small); got < 0.9*want || got > 1.1*want {
			t.Errorf("asked for %v, it compresses by %.2f", want, got)
		}
	}
}

// Blocks come again as often as asked for, and never without being asked.
func TestDataComeAgainAsAsked(t *testing.T) {
	for _, want := range []float64{0, 1, 2, 5} {
		b := written(t, func(s *Spec) { s.Dedup = want })
		seen := map[string]bool{}
		for at := 0; at < len(b); at += 8 << 10 {
			seen[string(b[at:at+8<<10])] = true
		}
		unique, all := float64(len(seen)), float64(len(b)/(8<<10))
		// Of 1024 blocks a share p is new, give or take four standard deviations, and
		// eight are what comes again.
		p := 1 / max(1, want)
		if low, high := all*p-64, all*p+64+samePieces; unique < low || unique > high || want <= 1 && unique != all {
			t.Errorf("asked for %v, %v of %v blocks are different", want, unique, all)
		}
	}
}

// In what is compressible, damage is found among the random bytes and the zeroes.
func TestDamageInCompressibleData(t *testing.T) {
	s := spec()
	s.Path, s.Run, s.Shape.Area, s.Shape.Read, s.Shape.Pattern = fileOf(t, unit.MiB), 99, 0, 0, shape.Once
	s.Shape.Sizes, s.Requests, s.Duration, s.Compress = []shape.SizeShare{{Size: 16 * unit.KiB, Share: 1}}, 64, time.Minute, 4
	j, s := journaled(t, s)
	good, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{5*sector + 100, 5*sector + 900, 5*sector + 1100, 5*sector + 4000} {
		b := append([]byte(nil), good...)
		b[at] ^= 1
		if err := os.WriteFile(s.Path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if v := verified(t, s.Path, j); v.Wrong == 0 || len(v.Places) != 1 || v.Places[0].Fault != Damaged {
			t.Errorf("a bit at %d: %+v", at, v)
		}
	}
}

func TestRatiosAreChecked(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"below one":        func(s *Spec) { s.Compress = 0.5 },
		"too large":        func(s *Spec) { s.Dedup = 65 },
		"in half a sector": func(s *Spec) { s.Compress, s.Shape.Sizes = 2, []shape.SizeShare{{Size: 512, Share: 1}} },
		"with a journal":   func(s *Spec) { s.Dedup, s.Journal = 2, &Journal{} },
	} {
		s := spec()
		s.Shape.Read, s.Run = 0, 1
		if change(&s); s.Check() == nil {
			t.Errorf("%s: it is not refused", name)
		}
	}
}
