// Package dialect reads what other load generators are told, and says which of
// our loads that is: vdbench's parameter files, iozone's options and filebench's
// workload files, as far as they read and write blocks of files and devices.
//
// It is pure. It refuses, by name and line, whatever has no counterpart here: a
// parameter that was left out silently would be another load under the same name.
package dialect

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// Job is one run of a load on one or several targets at once.
type Job struct {
	Name    string
	Targets []Target
	// Shape is what each target gets, without an area; its Rate is for all of
	// them together.
	Shape  shape.Shape
	Warmup time.Duration
	// Duration of the measured part; 0: until each target's area was passed once.
	Duration time.Duration
	Direct   bool
	Durable  bool // every write before it completes (O_DSYNC)
	Flush    bool // a sync after the last write is part of the time
	// Compress and Dedup are the ratios of what is written, as block.Spec has them; 0:
	// neither.
	Compress, Dedup float64
	// Rates names a row of jobs that differ in their rate alone; empty: none.
	Rates string
	// Curve is the job's place on a curve, nil: it is on none. Its rate is known
	// once the job before it has found the largest one.
	Curve *Curve
	// Notes say how words of the peer were taken.
	Notes []string
}

// Curve is a point of a curve of latency against rate: a percentage of what the
// workload reaches without a rate. 0: the job that finds this out.
type Curve struct {
	Percent float64 `json:"percent"`
}

// Rate is the rate of a point, from the largest that was found, rounded up as
// vdbench does: to hundreds above 1000 per second, else to tens (set_iorate,
// Vdb/RD_entry.java of vdbench 5.04.06).
func (c Curve) Rate(largest float64) float64 {
	r := math.Floor(math.Round(largest) * math.Floor(c.Percent) / 100)
	if r > 1000 {
		return 100 * math.Ceil(r/100)
	}
	return 10 * math.Ceil(r/10)
}

// Target is a file or device.
type Target struct {
	Name string
	Path string
	Size unit.Bytes // used from From on; 0: all of it
	// Depth is how many requests are in flight.
	Depth int
	// From is where the part that is used begins.
	From unit.Bytes
}

// Error is what cannot be translated, and where.
type Error struct {
	Line int // from 1; 0: of options, which have no line
	Text string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

func wrong(line int, format string, args ...any) error {
	return &Error{line, fmt.Sprintf(format, args...)}
}

// Bounds of what is read.
const (
	maxText    = 1 << 20
	maxLines   = 10_000
	maxTargets = 64
	maxJobs    = 1000
)

// parseSize reads a size as these tools do: a number of each bytes, or with k, m,
// g or t (a power of two, an optional b after it).
func parseSize(s string, each unit.Bytes) (unit.Bytes, error) {
	n := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), "b")
	factor := each
	if n != "" {
		if f, ok := map[byte]unit.Bytes{'k': unit.KiB, 'm': unit.MiB, 'g': unit.GiB, 't': unit.TiB}[n[len(n)-1]]; ok {
			factor, n = f, n[:len(n)-1]
		}
	}
	v, err := strconv.ParseInt(n, 10, 64)
	if err != nil || v < 0 || v > int64(1<<60/factor) {
		return 0, fmt.Errorf("%q is no size", s)
	}
	return unit.Bytes(v) * factor, nil
}

// parseTime reads seconds, or a number with s, m or h.
func parseTime(s string) (time.Duration, error) {
	n, factor := strings.ToLower(strings.TrimSpace(s)), time.Second
	if n != "" {
		if f, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour}[n[len(n)-1]]; ok {
			factor, n = f, n[:len(n)-1]
		}
	}
	v, err := strconv.ParseInt(n, 10, 64)
	if err != nil || v < 0 || v > 1_000_000 {
		return 0, fmt.Errorf("%q is no time", s)
	}
	return time.Duration(v) * factor, nil
}

// parseShare reads a percentage as a share of one.
func parseShare(s string) (float64, error) {
	v, err := shape.ParsePercent(s)
	return v / 100, err
}

func parseCount(s string, most int) (int, error) {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 || v > most {
		return 0, fmt.Errorf("%q is no number from 1 to %d", s, most)
	}
	return v, nil
}

func one(size unit.Bytes) []shape.SizeShare { return []shape.SizeShare{{Size: size, Share: 1}} }
