//go:build !linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"linerate/internal/model"
)

// Socket is not available on this operating system yet.
type Socket struct{}

// Open is not available on this operating system yet.
func Open(Spec) (*Socket, error) {
	return nil, fmt.Errorf("open probe: unsupported on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// Port is 0: there is no socket.
func (*Socket) Port() uint16 { return 0 }

// Send sends nothing.
func (*Socket) Send(context.Context, Batch) (Sent, error) { return Sent{}, errors.ErrUnsupported }

// Await hears nothing.
func (*Socket) Await(context.Context, Await) (Heard, error) { return Heard{}, errors.ErrUnsupported }

// Echo asks nobody.
func (*Socket) Echo(context.Context, Echo) (model.RTT, error) {
	return model.RTT{}, errors.ErrUnsupported
}

// Close does nothing.
func (*Socket) Close() error { return nil }
