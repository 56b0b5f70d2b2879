package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/topology"
)

// engineStage is a lab with agents at both ends of its flow.
type engineStage struct {
	*lab.Lab
	*players
}

// Down implements stage.
func (s engineStage) Down(ctx context.Context) error {
	return errors.Join(s.leave(), s.Lab.Down(ctx))
}

// labBuilder builds stages, once what a killed judge left is gone.
func labBuilder(ctx context.Context, seed uint64) (func(context.Context, topology.Topology) (stage, error), error) {
	self, err := selfArgv()
	if err != nil {
		return nil, err
	}
	dir, err := lab.StateDir(os.Getenv, os.Geteuid(), os.TempDir())
	if err != nil {
		return nil, err
	}
	o := lab.Options{Self: self, StateDir: dir, Seed: seed}
	if _, err := lab.Sweep(ctx, o); err != nil {
		return nil, fmt.Errorf("remove what an earlier run left: %w", err)
	}
	return func(ctx context.Context, t topology.Topology) (stage, error) {
		l, err := lab.Up(ctx, t, o)
		if err != nil {
			return nil, err
		}
		reach := func(name string) host.Endpoint {
			return host.Endpoint{Name: name, Argv: l.Enter(name), Self: self, Data: []netip.Addr{l.Addr(name)}, StateDir: l.StateDir(name)}
		}
		if len(l.Servers()) > 0 {
			s, err := newStorageStage(ctx, l, reach)
			if err != nil {
				return nil, errors.Join(err, l.Down(context.WithoutCancel(ctx)))
			}
			return s, nil
		}
		p, err := newPlayers(ctx, t, reach, nil)
		if err != nil {
			return nil, errors.Join(err, l.Down(context.WithoutCancel(ctx)))
		}
		return engineStage{l, p}, nil
	}, nil
}
