package tune

import (
	"errors"
	"fmt"
)

// ErrBusy: another process works on the same state directory.
var ErrBusy = errors.New("another linerate is changing or restoring settings here: wait for it to end and try again")

// ErrPlan: the plan cannot be executed on this host as it stands.
var ErrPlan = errors.New("refused plan")

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
		"To have the original, run %s --force, or set either value by hand; then undo again", e.Where, e.Ours, e.Theirs, e.Original, e.Script)
}
