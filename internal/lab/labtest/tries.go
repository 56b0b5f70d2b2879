// Package labtest is what tests of labs share: what they need of the machine and
// name when they skip (Needs), which of them are long (Long), and more than one try
// for what is measured in a lab (Tries). A lab shares its machine with work that is
// not its own, and a verdict that is spoiled by it says nothing of the code; one
// that stays wrong does.
//
// It refuses to hide: whatever a try said is logged, a test that every try failed beside other
// work is skipped with that reason, and a test of what must hold always (that something is put
// back, that nothing is left) has no use for it.
package labtest

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// mostBusy is the largest share of the cores' time that other work may take; beyond that, a lab
// measures the other work too.
const mostBusy = 0.25

// Tries runs one until it fails nothing, at most n times; the test fails when every try has
// failed. If other work was seen on the machine after each of them, the test is skipped instead:
// nothing was judged. What a try registers with Cleanup is done at its end.
func Tries(t *testing.T, n int, one func(t testing.TB)) {
	t.Helper()
	least := 1.0 // that other work took after a try
	for i := 1; ; i++ {
		a := &attempt{TB: t}
		a.run(one)
		if !a.failed {
			return
		}
		busy := busyFor(time.Second)
		least = min(least, busy)
		switch {
		case i == n && least > mostBusy:
			t.Skipf("failed %d times of %d, and other work took %.0f%% of the machine or more: nothing was judged", n, n, 100*least)
		case i == n:
			t.Errorf("failed %d times of %d", n, n)
			return
		}
		t.Logf("try %d of %d failed, then other work took %.0f%% of the machine: once more", i, n, 100*busy)
	}
}

// busyFor watches for d and returns the share of the cores' time that programs took; 0 if the
// system does not tell.
func busyFor(d time.Duration) float64 {
	before, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	time.Sleep(d)
	after, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return busyBetween(string(before), string(after))
}

// busyBetween compares the first lines of two readings of /proc/stat (proc_stat(5)): the fourth and
// the fifth of the times are idle.
func busyBetween(before, after string) float64 {
	all, idle := 0.0, 0.0
	was, is := strings.Fields(before), strings.Fields(after)
	for i := 1; i <= 8 && i < len(was) && i < len(is); i++ { // guests' time is in users'
		a, errA := strconv.ParseFloat(was[i], 64)
		b, errB := strconv.ParseFloat(is[i], 64)
		if errA != nil || errB != nil {
			return 0
		}
		if all += b - a; i == 4 || i == 5 {
			idle += b - a
		}
	}
	if all <= 0 {
		return 0
	}
	return (all - idle) / all
}

// attempt is one try: its failures are logged, not the test's.
type attempt struct {
	testing.TB
	failed   bool
	cleanups []func()
}

// run calls one in a goroutine of its own, which FailNow ends.
func (a *attempt) run(one func(t testing.TB)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer a.clean()
		one(a)
	}()
	<-done
}

func (a *attempt) clean() {
	for len(a.cleanups) > 0 {
		last := a.cleanups[len(a.cleanups)-1]
		a.cleanups = a.cleanups[:len(a.cleanups)-1]
		last()
	}
}

func (a *attempt) Cleanup(f func()) { a.cleanups = append(a.cleanups, f) }
func (a *attempt) Failed() bool     { return a.failed }
func (a *attempt) Fail()            { a.failed = true }

func (a *attempt) FailNow() {
	a.failed = true
	runtime.Goexit()
}

func (a *attempt) Error(args ...any) {
	a.TB.Helper()
	a.TB.Log(fmt.Sprint("would fail: ", fmt.Sprint(args...)))
	a.failed = true
}

func (a *attempt) Errorf(format string, args ...any) {
	a.TB.Helper()
	a.TB.Log("would fail: " + fmt.Sprintf(format, args...))
	a.failed = true
}

func (a *attempt) Fatal(args ...any) {
	a.TB.Helper()
	a.Error(args...)
	a.FailNow()
}

func (a *attempt) Fatalf(format string, args ...any) {
	a.TB.Helper()
	a.Errorf(format, args...)
	a.FailNow()
}
