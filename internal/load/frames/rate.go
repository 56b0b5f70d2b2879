package frames

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Rate is frames per second as a fraction: 30000/1001 is what 29.97 means.
type Rate struct{ Num, Den int64 }

// maxFrames of a stream keeps the arithmetic of Rate.At exact: below 2^63.
const maxFrames = 4_000_000

// ParseRate reads a whole number of frames per second, or one of the rates that
// are a thousandth part slower: 23.976 (also 23.98), 29.97, 59.94, 119.88.
func ParseRate(s string) (Rate, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 1 && v <= 300) {
		return Rate{}, fmt.Errorf("read frame rate %q: want 1 to 300, e.g. 25 or 29.97", s)
	}
	if v == math.Trunc(v) {
		return Rate{int64(v), 1}, nil
	}
	for _, whole := range []int64{24, 30, 48, 60, 120} {
		if math.Abs(v-float64(whole)*1000/1001) < 0.006 {
			return Rate{whole * 1000, 1001}, nil
		}
	}
	return Rate{}, fmt.Errorf("read frame rate %q: want a whole number, 23.976, 29.97, 47.95, 59.94 or 119.88", s)
}

// At is when frame k is due, from the start. It counts from the start, so that
// errors do not add up.
func (r Rate) At(k int) time.Duration {
	return time.Duration(int64(k) * r.Den * int64(time.Second) / r.Num)
}

// PerSecond is the rate as a number.
func (r Rate) PerSecond() float64 { return float64(r.Num) / float64(r.Den) }

// String prints it as people write it.
func (r Rate) String() string {
	return strconv.FormatFloat(math.Round(r.PerSecond()*1000)/1000, 'f', -1, 64)
}
