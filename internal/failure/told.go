package failure

import "errors"

// told is an error that a process has handed to whoever started it.
type told struct{ error }

// Told marks an error that whoever started the process was told by its last event: the process prints it no
// second time. nil stays nil.
func Told(err error) error {
	if err == nil {
		return nil
	}
	return told{err}
}

// Unwrap gives the error.
func (t told) Unwrap() error { return t.error }

// WasTold tells whether an error was marked so.
func WasTold(err error) bool { return errors.As(err, new(told)) }
