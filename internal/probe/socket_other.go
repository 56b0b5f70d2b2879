//go:build !linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"linerate/internal/model"
)

// Socket is unsupported on this system.
type Socket struct{}

func Open(Spec) (*Socket, error) {
	return nil, fmt.Errorf("open probe: unsupported on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (*Socket) Port() uint16 { return 0 }

func (*Socket) Send(context.Context, Batch) (Sent, error) { return Sent{}, errors.ErrUnsupported }

func (*Socket) Await(context.Context, Await) (Heard, error) { return Heard{}, errors.ErrUnsupported }

func (*Socket) Echo(context.Context, Echo) (model.RTT, error) {
	return model.RTT{}, errors.ErrUnsupported
}

func (*Socket) Close() error { return nil }
