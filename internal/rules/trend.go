package rules

import (
	"fmt"
	"time"

	"linerate/internal/model"
)

// tally counts bad events among all events of their kind.
type tally struct {
	bad, all int64
	gap      time.Duration // between the two readings; 0: the counter's whole life
}

// settled is the number of events between two readings from which a counter that did not rise
// counts as quiet.
const settled = 1000

// certain is the number of bad events between two readings from which a finding has full
// severity; fewer may be chance (a Poisson count of 10 lies within 4.8 and 18.4 at 95%:
// Garwood, Biometrika 28, 1936).
const certain = 10

// tally judges a counter. With two readings it must have risen between them, by at least share
// of all events; earlier events are no finding. With one reading, or if there was hardly any
// traffic between the two, the counter must show at least least bad events and that share over
// its whole life, and the finding has severity Info. read returns the counter of bad events
// and that of all events, which may be 0 if share is 0.
func (c Context) tally(f *model.Facts, least int64, share float64, read func(*model.Facts) (bad, all int64, ok bool)) *tally {
	bad, all, ok := read(f)
	if !ok {
		return nil
	}
	if gap := c.gap(f); gap > 0 {
		bad0, all0, ok := read(c.Earlier)
		if rise, passed := bad-bad0, all-all0; ok && rise >= 0 && passed >= 0 {
			if rise > 0 && float64(rise) >= share*float64(passed) {
				return &tally{rise, passed, gap}
			}
			if rise > 0 || passed >= settled || share == 0 {
				return nil
			}
		}
	}
	if bad < least || bad <= 0 || float64(bad) < share*float64(all) {
		return nil
	}
	return &tally{bad: bad, all: all}
}

// gap is the time between the two readings; 0 if there was one, or if the host restarted in
// between and its counters began anew.
func (c Context) gap(f *model.Facts) time.Duration {
	if c.Earlier == nil || c.Earlier.BootID != f.BootID {
		return 0
	}
	return max(0, f.Taken.Sub(c.Earlier.Taken))
}

// severity is full for events of now, Low if these may be chance, and Info for events that may
// be long past.
func (t *tally) severity(full string) string {
	switch {
	case t.gap == 0:
		return Info
	case t.bad < certain:
		return Low
	}
	return full
}

// share is the bad events' share of all events; 0 if unknown.
func (t *tally) share() float64 {
	if t.all <= 0 {
		return 0
	}
	return float64(t.bad) / float64(t.all)
}

// perSecond is the rate of bad events; 0 without a second reading.
func (t *tally) perSecond() float64 {
	if t.gap <= 0 {
		return 0
	}
	return float64(t.bad) / t.gap.Seconds()
}

// over is the text of the time over which the events were counted. since is the text of when
// the counter began.
func (t *tally) over(since string) string {
	if t.gap > 0 {
		return fmt.Sprintf("in %v", t.gap.Round(100*time.Millisecond))
	}
	return since + ", perhaps long ago: linerate check --watch 10s shows whether it still rises"
}

// Texts of when counters began.
const (
	sinceBoot  = "since the host started"
	sinceSetUp = "since the port was set up"
)

// ofPort reads counters of one port. Of several names for one event the largest counter is
// used, since drivers count the event under one or both names.
func ofPort(n model.NIC, all string, bad ...string) func(*model.Facts) (int64, int64, bool) {
	return func(f *model.Facts) (int64, int64, bool) {
		port := nicNamed(f, n.Name)
		if port == nil || port.Device != n.Device {
			return 0, 0, false
		}
		most, seen := int64(0), false
		for _, name := range bad {
			if v, ok := counter(*port, name); ok {
				most, seen = max(most, v), true
			}
		}
		total, ok := counter(*port, all)
		return most, total, seen && ok
	}
}

// ofStack reads counters of /proc/net/snmp and netstat: the sum of the bad ones, and the one that
// they are a part of ("" is none).
func ofStack(all string, bad ...string) func(*model.Facts) (int64, int64, bool) {
	return func(f *model.Facts) (int64, int64, bool) {
		count, ok := f.NetCounters.Get()
		sum := int64(0)
		for _, name := range bad {
			sum += count[name]
		}
		return sum, count[all], ok
	}
}

// ofCores reads counters of the cores' packet processing (softnet_stat).
func ofCores(bad func(model.Softnet) int64) func(*model.Facts) (int64, int64, bool) {
	return func(f *model.Facts) (int64, int64, bool) {
		cores, ok := f.CPU.Softnet.Get()
		sum := int64(0)
		for _, s := range cores {
			sum += bad(s)
		}
		return sum, softnetSum(cores).Processed, ok
	}
}

// WantsSecondLook reports whether a counter of this host needs a second reading to show
// whether it still rises.
func WantsSecondLook(f *model.Facts) bool {
	c := Context{}.complete(f)
	for _, r := range All() {
		if r.Counts && len(r.Check(f, c)) > 0 {
			return true
		}
	}
	return false
}
