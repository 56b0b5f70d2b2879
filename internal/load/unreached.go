package load

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"linerate/internal/model"
)

// UnreachedError: no connection from a source to its sink came up.
type UnreachedError struct{ model.Unreached }

// Error implements error.
func (e *UnreachedError) Error() string {
	return fmt.Sprintf("connect %v to %v: %s", e.From, e.To, e.Text)
}

// RefusedError: this host cannot make the load as it was asked for, however often it is
// asked: a congestion control that it has not, a file that is not there, a target that
// holds somebody's data. It is the user's to change what was asked for, and the error says
// how. It comes before anything was moved.
type RefusedError struct{ Err error }

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refuse makes a RefusedError.
func Refuse(format string, args ...any) error { return &RefusedError{fmt.Errorf(format, args...)} }

// errUnanswered ends the wait for connections.
var errUnanswered = errors.New("no answer: does the network let TCP through to that address?")

// refusal tells what a failure to connect means; false: that of something else,
// as of a socket option or of being told to stop.
func refusal(err error) (model.Refusal, bool) {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return model.Refused, true
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return model.Forbidden, true
	case errors.Is(err, syscall.ENETUNREACH):
		return model.NoRoute, true
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.EHOSTDOWN):
		return model.HostUnreachable, true
	case errors.Is(err, errUnanswered), errors.As(err, &timeout) && timeout.Timeout():
		return model.Unanswered, true
	}
	return "", false
}
