// Package labtest is what tests of labs share: what they need of the machine and
// name when they skip (Needs), which of them are long (Long), and more than one try
// for what is measured in a lab (Tries). A lab shares its machine with work that is
// not its own, and a verdict that is spoiled by it says nothing of the code; one
// that stays wrong does.
//
// It refuses to hide: whatever a try said is logged, and a test of what must
// hold always (that something is put back, that nothing is left) has no use for
// it.
package labtest

import (
	"fmt"
	"runtime"
	"testing"
)

// Tries runs one until it fails nothing, at most n times; the test fails when
// every try has failed. What a try registers with Cleanup is done at its end.
func Tries(t *testing.T, n int, one func(t testing.TB)) {
	t.Helper()
	for i := 1; ; i++ {
		a := &attempt{TB: t}
		a.run(one)
		if !a.failed {
			return
		}
		if i == n {
			t.Errorf("failed %d times of %d", n, n)
			return
		}
		t.Logf("try %d of %d failed: once more, on a machine that may have been busy", i, n)
	}
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
