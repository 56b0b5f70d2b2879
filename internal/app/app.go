// Package app holds what the packages below it share, each of which is the work
// of one command: what a use case may take of the process, whom it tells of its
// progress, and how its result is kept. The packages orchestrate the rooms; they
// read no flags, print nothing and choose no exit code: they return values, and
// errors with a failure.Kind.
package app

import (
	"time"

	"linerate/internal/reach"
)

// Env is what a use case may take of the process that runs it.
type Env struct {
	Self   []string // argv of this program, for agents and lab hosts
	Build  string   // of this program, for bundles
	Getenv func(key string) string
	Now    func() time.Time
	Sites  *reach.Sites   // that the process joins
	Local  reach.ThisHost // this host, where scripts read and change it
	// Crashed is called before the program ends with a panic of a goroutine that reads hosts; nil: nothing is.
	Crashed func()
}

// Reach is how a use case gets to hosts; p may be nil.
func (e Env) Reach(p Progress) reach.Dialler {
	d := reach.Dialler{Self: e.Self, Getenv: e.Getenv, Now: e.Now, Sites: e.Sites, Local: e.Local, Crashed: e.Crashed}
	if p != nil {
		d.Log = p.Detail
	}
	return d
}

// Steps is p as the loop tells its steps.
func Steps(p Progress) func(step string) { return func(s string) { p.Say("%s", s) } }

// Progress hears what goes on in long work.
type Progress interface {
	// Say tells one thing.
	Say(format string, args ...any)
	// Detail tells what a room below had to say, once.
	Detail(line string)
	// Tick replaces what was last told of the same work. Where nobody watches it
	// is dropped, and Live says so beforehand.
	Tick(work, text string)
	Live() bool
	// End closes a line that was left open.
	End()
	// Started is when the work began.
	Started() time.Time
}
