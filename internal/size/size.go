// Package size holds the calculators behind `linerate size`: what a link, a window, a slot, a
// queue, a pool or a cache can carry, and what a goal needs. Each takes numbers and returns
// results together with the formula they came from, with the numbers put in. It refuses to guess:
// what it cannot compute from its arguments it does not print, and input outside the stated
// ranges is an error that names the input and the range. It looks at no host, clock, file or
// network; results are ceilings, never predictions.
package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"linerate/internal/unit"
)

// Unit is the unit of a result, in SI base units so that a program need not parse prefixes.
type Unit string

// The units of results. PerSecond is operations per second, Share a fraction of
// one, Count a plain number.
const (
	BitsPerSecond  Unit = "bit/s"
	BytesPerSecond Unit = "B/s"
	Bytes          Unit = "B"
	Seconds        Unit = "s"
	PerSecond      Unit = "1/s"
	Share          Unit = "share"
	Count          Unit = "count"
)

// Result is one computed number and where it came from.
type Result struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    Unit    `json:"unit"`
	Formula string  `json:"formula"`
}

// Answer is what a calculator gives: the inputs it used, with the defaults
// filled in, the results, and what they do not count.
type Answer struct {
	V       int      `json:"v"` // version of this document
	What    string   `json:"what"`
	Reverse bool     `json:"reverse"` // what a goal needs, not what is to be had
	Inputs  any      `json:"inputs"`
	Results []Result `json:"results"`
	Notes   []string `json:"notes"`
}

// Value is the result called name, and whether there is one.
func (a Answer) Value(name string) (float64, bool) {
	for _, r := range a.Results {
		if r.Name == name {
			return r.Value, true
		}
	}
	return 0, false
}

func (a *Answer) add(name string, v float64, u Unit, format string, args ...any) {
	r := Result{Name: name, Value: v, Unit: u}
	r.Formula = fmt.Sprintf(format, args...) + " = " + r.Text()
	a.Results = append(a.Results, r)
}

func (a *Answer) note(format string, args ...any) {
	a.Notes = append(a.Notes, fmt.Sprintf(format, args...))
}

func newAnswer(what string, inputs any) *Answer {
	return &Answer{V: 1, What: what, Inputs: inputs, Results: []Result{}, Notes: []string{}}
}

func newReverse(what string, inputs any) *Answer {
	a := newAnswer(what, inputs)
	a.Reverse = true
	return a
}

// Text prints the value for people: "9.41 Gbit/s", "600 MB/s", "94.1%".
func (r Result) Text() string {
	switch r.Unit {
	case BitsPerSecond:
		return unit.BitRate(r.Value).String()
	case BytesPerSecond:
		return ByteRate(r.Value).String()
	case Bytes:
		return byteCount(r.Value)
	case Seconds:
		return seconds(r.Value)
	case PerSecond:
		return sig3(r.Value) + " /s"
	case Share:
		return unit.PercentNearOne(r.Value)
	}
	return sig3(r.Value)
}

// ByteRate is a rate of storage in bytes per second. Networks are in
// unit.BitRate; the two meet in formulas, with a written factor of 8.
type ByteRate float64

// ParseByteRate reads "150MB/s", "1.2 GB/s", "150MB".
func ParseByteRate(s string) (ByteRate, error) {
	b, err := unit.ParseBytes(strings.TrimSuffix(s, "/s"))
	return ByteRate(b), err
}

// String prints with decimal prefixes, as disks are sold: "150 MB/s".
func (r ByteRate) String() string { return decimal(float64(r)) + "B/s" }

// amount is "1 vdev", "4 vdevs".
func amount(n float64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%.0f %s", n, unit.Plural(what))
}

// byteCount prints small amounts exactly, so that they can be pasted into a
// setting, and large ones in both prefixes.
func byteCount(v float64) string {
	switch {
	case math.Abs(v) < 1024:
		return strconv.FormatFloat(v, 'f', 0, 64) + " B"
	case math.Abs(v) < 1e9:
		return fmt.Sprintf("%.0f B (%s)", v, unit.Bytes(v))
	case math.Abs(v) < 1e12:
		return fmt.Sprintf("%sB (%s)", decimal(v), unit.Bytes(v))
	}
	return fmt.Sprintf("%sB (%s TiB)", decimal(v), sig3(v/(1<<40)))
}

func decimal(v float64) string {
	for _, p := range []struct {
		name string
		size float64
	}{{"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if math.Abs(v) >= p.size*0.9995 {
			return sig3(v/p.size) + " " + p.name
		}
	}
	return sig3(v) + " "
}

func seconds(v float64) string {
	for _, p := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if math.Abs(v) >= p.size*0.9995 {
			return sig3(v/p.size) + " " + p.name
		}
	}
	return sig3(v/1e-9) + " ns"
}

// sig3 keeps three significant digits, and all digits before the point.
func sig3(v float64) string {
	prec := 2
	switch a := math.Abs(v); {
	case a >= 99.95:
		prec = 0
	case a >= 9.995:
		prec = 1
	}
	s := strconv.FormatFloat(v, 'f', prec, 64)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// atLeast rounds up to a whole number, but not for a rounding error of the division before it.
func atLeast(v float64) float64 { return math.Ceil(v * (1 - 1e-12)) }

// whole rounds down likewise.
func whole(v float64) float64 { return math.Floor(v * (1 + 1e-12)) }

// Bounds of the inputs: wider than any hardware, so that they stop slips of the
// unit and nothing else.
const (
	minRate    = unit.BitRate(1e3)
	maxRate    = unit.BitRate(1e13)
	maxTime    = 100 * time.Second
	maxStorage = unit.Bytes(1e18)
)

// checkRate and those below take 0 for what was not given.
func checkRate(name string, r unit.BitRate) error {
	if r == 0 {
		return missing(name, "10Gbit")
	}
	if r >= minRate && r <= maxRate {
		return nil
	}
	return fmt.Errorf("%s of %s is outside 1 kbit/s to 10 Tbit/s", name, r)
}

// missing: the flag is called like the quantity.
func missing(name, such string) error {
	return fmt.Errorf("the %s is needed: state it, such as --%s %s", name, strings.ReplaceAll(strings.ToLower(name), " ", "-"), such)
}

func checkTime(name string, d time.Duration) error {
	if d == 0 {
		return missing(name, "500us")
	}
	if d > 0 && d <= maxTime {
		return nil
	}
	return fmt.Errorf("%s of %s is outside 1ns to %s", name, d, maxTime)
}

func checkBytes(name string, b, low, high unit.Bytes) error {
	if b >= low && b <= high {
		return nil
	}
	return fmt.Errorf("%s of %s is outside %s to %s", name, byteCount(float64(b)), byteCount(float64(low)), byteCount(float64(high)))
}

func checkByteRate(name string, r, low, high ByteRate) error {
	if r >= low && r <= high {
		return nil
	}
	return fmt.Errorf("%s of %s is outside %s to %s", name, r, low, high)
}

func checkCount(name string, n, low, high int) error {
	if n >= low && n <= high {
		return nil
	}
	return fmt.Errorf("%s of %d is outside %d to %d", name, n, low, high)
}

func checkNumber(name string, v, low, high float64) error {
	if v >= low && v <= high {
		return nil
	}
	return fmt.Errorf("%s of %g is outside %g to %g", name, v, low, high)
}

// GoalError is an input that only a calculation in reverse takes, from the goal to what it needs.
type GoalError struct{ Input string }

// Error implements error.
func (e *GoalError) Error() string { return e.Input + " is a goal" }

// onlyReverse refuses what has a meaning in reverse alone: silence would let it
// pass for considered.
func onlyReverse(name string, given bool) error {
	if given {
		return &GoalError{name}
	}
	return nil
}

// optional checks only what was given.
func optional(given bool, err error) error {
	if given {
		return err
	}
	return nil
}

// first is the first error of a list of checks, under the calculator's name.
func first(what string, errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("size %s: %w", what, err)
		}
	}
	return nil
}
