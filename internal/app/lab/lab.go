// Package lab is the work of the lab commands: it brings emulated networks up and
// takes them down, says what they consist of, runs programs in their hosts and puts
// faults in. It refuses to touch anything outside the labs of this user.
package lab

import (
	"context"
	"fmt"
	"os"
	"strings"

	"linerate/internal/app"
	"linerate/internal/failure"
	netlab "linerate/internal/lab"
	"linerate/internal/lab/topology"
	"linerate/internal/tune/setter"
)

// What the surface needs of the rooms below to print labs.
type (
	// Status is a lab that is up.
	Status = netlab.Status
	// Injected is a fault that was put into a lab.
	Injected = netlab.Injected
	// Shape is one direction of a link.
	Shape = topology.Shape
)

// Names are the labs of this user that are up.
func Names(e app.Env) ([]string, error) {
	dir, err := stateDir(e)
	if err != nil {
		return nil, err
	}
	return netlab.Names(dir)
}

func stateDir(e app.Env) (string, error) {
	return netlab.StateDir(e.Getenv, os.Geteuid(), os.TempDir())
}

// Statuses describes the lab with this name; without one, all that are up.
func Statuses(ctx context.Context, e app.Env, name string) ([]Status, error) {
	names, err := Names(e)
	if err != nil {
		return nil, err
	}
	if name != "" || len(names) == 0 {
		names = []string{name} // where none is up, the error says so
	}
	all := []Status{}
	for _, n := range names {
		s, err := status(ctx, e, n)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// status describes the lab with this name, or the only one.
func status(ctx context.Context, e app.Env, name string) (Status, error) {
	c, err := e.Reach(nil).Lab(name)
	if err != nil {
		return Status{}, err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("ask lab %s: %w", c.Name, err)
	}
	return s, nil
}

// Topology is one of the papers' networks.
type Topology struct {
	topology.Entry
	Text string `json:"-"` // its drawing for a terminal
}

// Topologies are the papers' networks.
func Topologies() ([]Topology, error) {
	all, err := topology.Builtin()
	if err != nil {
		return nil, err
	}
	var out []Topology
	for _, t := range all {
		out = append(out, Topology{topology.JSON(t), topology.Text(t)})
	}
	return out, nil
}

// Source is the file of a built-in topology.
func Source(name string) ([]byte, error) {
	text, err := topology.Source(name)
	return text, failure.As(failure.Usage, err)
}

// SVG is the drawing of a built-in topology.
func SVG(name string) ([]byte, error) {
	t, err := topology.Find(name)
	if err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	return topology.SVG(t), nil
}

// TopologyNames are those of the built-in topologies.
func TopologyNames() []string { return topology.Names() }

// CommandLine is argv as one types it into a shell.
func CommandLine(argv []string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@,+-"
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.Trim(a, plain) != "" {
			words[i] = setter.Quote(a)
		}
	}
	return strings.Join(words, " ")
}
