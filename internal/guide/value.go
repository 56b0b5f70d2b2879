package guide

import (
	"fmt"
	"math"
	"strings"
	"time"

	"linerate/internal/size"
	"linerate/internal/unit"
)

// Largest is the most that the setting holds, in bytes; 0: not known. Linux counts a part of a socket's
// buffer as window, other systems all of it: there no more is of use than a window can be (illumos' tunables
// end there, tcp_tunables.c).
func (s Setting) Largest() int64 {
	switch {
	case s.TimesBDP == 0: // no buffer of a socket
		return 0
	case s.OS() == "linux":
		return size.LargestBuffer
	}
	return 1 << 30
}

// Connections is how many connections it takes at least to fill a path, each with no more under way than a
// window can be, and a buffer that the setting holds.
func (s Setting) Connections(rate unit.BitRate, rtt time.Duration) int {
	flight := size.InFlight(rate, rtt)
	n := size.Connections(flight)
	if most := s.Largest(); most > 0 {
		n = max(n, int(math.Ceil(s.TimesBDP*float64(flight)/float64(most))))
	}
	return n
}

// ValueFor evaluates the setting's rule for a path with a rate and an RTT: the last number of
// the default d becomes TimesBDP × rate × RTT, in bytes; the others stay. If the default is
// already that large, the result is the default. false: the rule is not a number. rate × RTT
// must be in flight to fill a path (RFC 7323 section 1.1); the entry's text explains the
// factor.
func (s Setting) ValueFor(d Default, rate unit.BitRate, rtt time.Duration) (value string, ok bool) {
	if s.TimesBDP == 0 || rate <= 0 || rtt <= 0 {
		return "", false
	}
	bytes := math.Ceil(s.TimesBDP * float64(rate) / 8 * rtt.Seconds())
	if bytes > 1<<40 { // no real buffer is that large: the caller mixed up units
		return "", false
	}
	need := int64(bytes)
	now := numbers(d.Value)
	if len(now) == 0 {
		return fmt.Sprint(need), true
	}
	last := len(now) - 1
	now[last] = max(now[last], need)
	words := make([]string, len(now))
	for i, n := range now {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, " "), true
}
