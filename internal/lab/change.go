package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/lab/fault"
)

// Sysctl writes a key (dotted) of a host and returns what it was.
func (l *Lab) Sysctl(ctx context.Context, name, key, value string) (old string, err error) {
	h, err := l.find(name)
	if err != nil {
		return "", err
	}
	err = h.holder.Call(ctx, "swap-sysctl", sysctlArgs{key, value}, &old)
	return old, err
}

// Features switches NIC features (the kernel's names) of a host's interface
// and returns what those were.
func (l *Lab) Features(ctx context.Context, name, iface string, want map[string]bool) (old map[string]bool, err error) {
	h, err := l.find(name)
	if err != nil {
		return nil, err
	}
	err = h.holder.Call(ctx, "swap-features", featureArgs{iface, want}, &old)
	return old, err
}

// SetMTU of a host's interface, in bytes; the link's own MTU stays. It returns
// what it was.
func (l *Lab) SetMTU(ctx context.Context, name, iface string, mtu int) (old int, err error) {
	h, err := l.find(name)
	if err != nil {
		return 0, err
	}
	err = h.holder.Call(ctx, "swap-mtu", mtuArgs{iface, mtu}, &old)
	return old, err
}

// Run runs a command inside a host to its end and returns its standard
// output. An argv[0] of fault.Self stands for this very program.
func (l *Lab) Run(ctx context.Context, name string, argv ...string) ([]byte, error) {
	if _, err := l.find(name); err != nil {
		return nil, err
	}
	if len(argv) == 0 {
		return nil, errors.New("run in a host: no command")
	}
	command := append(l.Enter(name), l.program(argv)...)
	cmd := kernel.Exec(ctx, command...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("run %s in %s: %w %s", argv[0], name, err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// Start starts a command inside a host that runs until stop, or until the lab
// goes down. An argv[0] of fault.Self stands for this very program.
func (l *Lab) Start(_ context.Context, name, what string, argv ...string) (stop func() error, err error) {
	if _, err := l.find(name); err != nil {
		return nil, err
	}
	if len(argv) == 0 {
		return nil, errors.New("start in a host: no command")
	}
	command := append(l.Enter(name), l.program(argv)...)
	// It outlives the call that asked for it: stop, or the lab's end, ends it.
	cmd := kernel.Exec(context.Background(), command...)
	kernel.InNewNamespaces(cmd, kernel.Namespaces{}) // a process group of its own
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s in %s: %w", what, name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is ended by force, by design
		close(ended)
	}()
	return func() error {
		select {
		case <-ended:
			return nil
		default:
		}
		if err := kernel.EndGroup(cmd.Process.Pid); err != nil {
			return fmt.Errorf("end %s in %s: %w", what, name, err)
		}
		<-ended
		return nil
	}, nil
}

// program puts this very program in the place of fault.Self.
func (l *Lab) program(argv []string) []string {
	if argv[0] != fault.Self {
		return argv
	}
	return slices.Concat(l.opts.Self, argv[1:])
}
