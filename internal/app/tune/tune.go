// Package tune is the work of the tune commands and of leave: it looks at a host and at
// its path to a peer, sets what runs beside what the work wants, makes the plan, carries
// it out at one end or at both, and confirms, undoes, lists and leaves. It refuses to
// change what is not in the plan that it returns, to raise an MTU towards a peer at one
// end only, and to guess what was meant by a value that no kernel would take.
package tune

import (
	"time"

	"linerate/internal/host"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
	"linerate/internal/unit"
)

// What the surface needs of the rooms below to ask and to print.
type (
	// Set is a value that the user typed.
	Set = profile.Set
	// Entry is a change in a host's journal.
	Entry = tune.Entry
	// UndoRequest says which changes are undone.
	UndoRequest = tune.UndoRequest
)

// States of an Entry that are printed differently.
const (
	Undone = tune.Undone
	Closed = tune.Closed
)

// Request is what a panel or a plan is made for.
type Request struct {
	Host host.Name
	Peer *host.Name // the other end of the path; nil: none
	Via  string     // the peer's data address, where its name leads elsewhere
	Dev  string     // interface that carries the data; empty: it can be told
	// Rate and RTT of the path, where they are stated; 0 finds them out.
	Rate    unit.BitRate
	RTT     time.Duration
	Streams int              // connections that share the path
	Profile *profile.Profile // nil: what was typed, else what fits the host
	Mine    *profile.Profile // the user's own, to show beside; nil: none
	Typed   []Set
	Confirm time.Duration // as model.Plan.ConfirmWithin has it
	Persist bool          // into the system's own files too
	By      string        // for whom, as model.Plan.By has it; empty: who runs linerate
	// Shown is the Proposal.Sum of the plan that somebody agreed to; empty: any plan. Apply refuses
	// another.
	Shown string
}

// Error is an end that leads back to how the user asked: the surface words it by what
// was typed.
type Error struct {
	What    What
	Subject string // the setting, host, or plan that it is about
	Err     error
}

// What an Error is about.
type What int

// What can have been asked for in vain.
const (
	BadValue      What = iota // Subject cannot have the value that was typed
	BadDevice                 // the interface that was named does not carry data
	NoPeer                    // Subject cannot be looked at, and the path was not stated
	Unguarded                 // an MTU is raised towards Subject only while a dead-man watches
	Unprivileged              // on Subject it takes root
	NeverHadPlan              // Subject is no plan of the host
	AnotherPlan               // what Subject would get now is not what was shown
	CannotPersist             // on Subject the changes cannot be made to outlive a restart
	Unmeasured                // the path from Subject has to be stated: nothing measures it from there
	Unconfirmed               // the hosts of Subject change only where each waits to be confirmed
)

// Error implements error.
func (e *Error) Error() string { return e.Subject + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
