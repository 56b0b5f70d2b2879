//go:build !linux

package ring

import "time"

// Ring does not exist on this system.
type Ring struct{}

// New says that there is none.
func New(int) (*Ring, error) { return nil, ErrUnavailable }

// RegisterFiles is never reached: there is no ring.
func (*Ring) RegisterFiles([]int32) error { return ErrUnavailable }

// RegisterBuffers is never reached: there is no ring.
func (*Ring) RegisterBuffers([][]byte) error { return ErrUnavailable }

// Push is never reached: there is no ring.
func (*Ring) Push(Op) bool { return false }

// Enter is never reached: there is no ring.
func (*Ring) Enter(int, time.Duration) error { return ErrUnavailable }

// Next is never reached: there is no ring.
func (*Ring) Next() (Completion, bool) { return Completion{}, false }

// Arrived is never reached: there is no ring.
func (*Ring) Arrived() int { return 0 }

// Close is never reached: there is no ring.
func (*Ring) Close() error { return nil }
