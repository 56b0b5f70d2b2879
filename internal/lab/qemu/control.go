package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"linerate/internal/kernel"
)

// Dial connects to the control line of the machine in private directory work.
// It waits for the emulator to start until ctx is done; the caller, who started the emulator,
// cancels ctx when the emulator exits. Reads return io.EOF once the emulator has exited. Bytes
// that are sent before the machine listens are kept for it.
func Dial(ctx context.Context, work string) (net.Conn, error) {
	const between = 10 * time.Millisecond
	tick := time.NewTicker(between)
	defer tick.Stop()
	for {
		c, err := kernel.DialUnix(ctx, filepath.Join(work, controlSocket))
		if err == nil {
			return c, nil
		}
		// The cause of ctx says more than the error of the interrupted attempt.
		if ctx.Err() != nil {
			return nil, fmt.Errorf("dial control line: %w", context.Cause(ctx))
		}
		// There is no socket yet, or it is that of an emulator which has exited.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("dial control line: %w", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("dial control line: %w", context.Cause(ctx))
		}
	}
}

// OpenControl opens the control line inside the machine and waits until a process outside has
// dialled, or ctx is done. When that process closes its end, a read returns io.EOF.
func OpenControl(ctx context.Context) (*os.File, error) {
	f, err := kernel.OpenVirtioPort(ctx, controlPort)
	if err != nil {
		return nil, fmt.Errorf("open control line: %w", err)
	}
	return f, nil
}
