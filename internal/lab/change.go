package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	out, err := serverHost{l, name}.Run(ctx, l.program(name, argv)...)
	if err != nil {
		return out, fmt.Errorf("run %s in %s: %w", argv[0], name, err)
	}
	return out, nil
}

// Start starts a command inside a host that runs until stop, or until the lab
// goes down. An argv[0] of fault.Self stands for this very program.
func (l *Lab) Start(ctx context.Context, name, what string, argv ...string) (stop func() error, err error) {
	if _, err := l.find(name); err != nil {
		return nil, err
	}
	if len(argv) == 0 {
		return nil, errors.New("start in a host: no command")
	}
	p, err := serverHost{l, name}.Start(ctx, what, l.program(name, argv)...)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := p.Stop(); err != nil {
			return fmt.Errorf("end %s in %s: %w", what, name, err)
		}
		return nil
	}, nil
}

// program puts this very program in the place of fault.Self.
func (l *Lab) program(host string, argv []string) []string {
	if argv[0] != fault.Self {
		return argv
	}
	return slices.Concat(l.Program(host), argv[1:])
}
