package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"linerate/internal/lab"
	"linerate/internal/lab/topology"
)

// labTime bounds a lab with everything that is done in it: an emulated machine
// without hardware help is slow.
const labTime = 30 * time.Minute

// inLab brings a network up in which one host is of a kind, and hands it over.
// self is this program as the hosts are to run it; empty is as it is.
func inLab(ctx context.Context, self, network, host string, kind topology.Kind, work func(context.Context, *lab.Lab) error) (err error) {
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
	topo, err := topology.Find(network)
	if err == nil {
		topo, err = topo.WithKinds(map[string]topology.Kind{host: kind})
	}
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "linerate-bench-undo-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(ctx, labTime)
	defer cancel()
	l, err := lab.Up(ctx, topo.Scaled(false), lab.Options{Self: []string{self}, StateDir: filepath.Join(dir, "state")})
	if err != nil {
		return fmt.Errorf("bring %s up with a %s host: %w", network, kind, err)
	}
	defer func() { err = errors.Join(err, l.Down(context.WithoutCancel(ctx))) }()
	return work(ctx, l)
}
