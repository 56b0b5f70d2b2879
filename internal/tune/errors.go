package tune

import (
	"errors"
	"fmt"
	"time"
)

// ErrBusy: another process works on the same state directory.
var ErrBusy = errors.New("another linerate is changing or restoring settings here: wait for it to end and try again")

// BusyError is ErrBusy with the name of who is at it, as far as it is known.
type BusyError struct{ Holder Holder }

// Error names the process.
func (e *BusyError) Error() string {
	if e.Holder.PID == 0 {
		return ErrBusy.Error()
	}
	return fmt.Sprintf("%v (process %d, %s, since %s)", ErrBusy, e.Holder.PID, e.Holder.By, e.Holder.Since.Format(time.RFC3339))
}

// Unwrap makes it an ErrBusy.
func (e *BusyError) Unwrap() error { return ErrBusy }

// ErrPlan: the plan cannot be executed on this host as it stands.
var ErrPlan = errors.New("refused plan")

// ErrUnconfirmed: a plan waits for its confirmation.
var ErrUnconfirmed = errors.New("a plan waits to be confirmed")

// ErrTooLate: the host undid the plan before it was confirmed.
var ErrTooLate = errors.New("too late to confirm")

// ErrOpen: changes are still in force.
var ErrOpen = errors.New("changes are still open")

// ChangedError: a value is not what it was when the plan was made.
type ChangedError struct{ Where, Planned, Found string }

// Error names the setting, both values and the next step.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s is %q, but was %q when the plan was made: look at the host again and make a new plan", e.Where, e.Found, e.Planned)
}

// NotInForceError: the kernel took the write and something else is in force.
type NotInForceError struct{ Where, Wanted, Got string }

// Error names the setting and both values.
func (e *NotInForceError) Error() string {
	return fmt.Sprintf("%s is not in force: %q was written, %q is read back", e.Where, e.Wanted, e.Got)
}

// ConflictError: somebody else changed a value that linerate had changed.
type ConflictError struct{ Where, Ours, Theirs, Original, Script string }

// Error shows the three values and the ways out.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s was changed by somebody else and is left alone: ours %q, theirs %q, original %q. "+
		"To have the original, undo with --force, or run %s --force, or set either value by hand and undo again", e.Where, e.Ours, e.Theirs, e.Original, e.Script)
}

// BeneathError: linerate itself changed a value again, and that later change is still in force.
type BeneathError struct {
	Where, Plan string // of the later change
	Seq         int
}

// Error names the later change, which is to be undone first.
func (e *BeneathError) Error() string {
	return fmt.Sprintf("%s was changed again later, by plan %s (change %d), which is in force: undo that one first", e.Where, e.Plan, e.Seq)
}
