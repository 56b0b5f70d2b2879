// Package failure says in which of few ways the work of a command ended without
// its result. The surface turns a kind into an exit code; no other room knows
// those. An error may carry the step that its reader can take next (next.go), by what it
// does: it refuses to say how that is typed.
package failure

import (
	"errors"
	"fmt"
	"strings"
)

// Kind of an end without a result.
type Kind int

// The kinds. An error without one is Failed.
const (
	Failed      Kind = iota // something went wrong; everything was put back
	Usage                   // what was asked for cannot be had as it was asked for
	Nothing                 // there was nothing to judge or to do
	NotRestored             // a change could not be put back
	Found                   // what was looked for was found
	Interrupted             // the user ended it; everything was put back
	Lossy                   // done, but something could not be kept, or failed by itself
)

// Error is an error with its kind.
type Error struct {
	Kind Kind
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of makes an error of a kind, formatted as fmt.Errorf does.
func Of(k Kind, format string, args ...any) error { return As(k, fmt.Errorf(format, args...)) }

// As gives an error a kind; nil stays nil.
func As(k Kind, err error) error {
	if err == nil {
		return nil
	}
	return &Error{k, err}
}

// KindOf is the kind of an error: the outermost that it carries, else Failed.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Failed
}

// FirstLine is what fits into one line of a list: an error's text up to its end of
// line.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
