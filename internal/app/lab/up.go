package lab

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/app"
	"linerate/internal/conf"
	"linerate/internal/failure"
	"linerate/internal/host"
	netlab "linerate/internal/lab"
	"linerate/internal/lab/topology"
)

// File is the file of a topology.
type File struct {
	name string
	yaml []byte
	topo topology.Topology
}

// ReadTopology takes a built-in topology by its name, or a file by its path. Where
// there is no such file the error is fs.ErrNotExist.
func ReadTopology(arg string) (File, error) {
	f := File{name: arg + ".yaml"}
	var err error
	if strings.ContainsAny(arg, "/.") {
		f.name = filepath.Base(arg)
		if f.yaml, err = app.ReadFile(arg, conf.MaxFile); err != nil {
			return f, fmt.Errorf("read topology: %w", err)
		}
	} else if f.yaml, err = topology.Source(arg); err != nil {
		return f, failure.As(failure.Usage, err)
	}
	f.topo, err = topology.Parse(f.name, f.yaml)
	return f, failure.As(failure.Usage, err)
}

// UpOptions says how to bring a lab up.
type UpOptions struct {
	Name     string // of the lab; empty: the topology's name
	FullRate bool   // the paper's link rates instead of a tenth
	Seed     uint64 // for random losses and the like
	Serve    map[string][]string
	Kernels  []string // hosts with a kernel of their own
	Devices  []string // hosts that are whole machines
}

func (o UpOptions) kinds() map[string]topology.Kind {
	out := map[string]topology.Kind{}
	for _, h := range o.Kernels {
		out[h] = topology.Kernel
	}
	for _, h := range o.Devices {
		out[h] = topology.Device
	}
	return out
}

// Up is a lab that was brought up.
type Up struct {
	Status
	Drawing string // of its topology, for a terminal
	Several bool   // other labs are up too, so that commands have to name it
}

// NameError: a lab cannot be called that.
type NameError struct{ Name string }

// Error implements error.
func (e *NameError) Error() string {
	return fmt.Sprintf("lab %q: a name has letters, digits, dots and hyphens, at most 40", e.Name)
}

// TakenError: another lab has that name.
type TakenError struct{ Name string }

// Error implements error.
func (e *TakenError) Error() string { return "a lab named " + e.Name + " is up already" }

// BringUp brings a lab up, after it has removed what killed labs left. The lab runs in a
// process of its own until it is taken down.
func BringUp(ctx context.Context, e app.Env, p app.Progress, f File, o UpOptions) (Up, error) {
	t, err := f.topo.WithKinds(o.kinds())
	if err != nil {
		return Up{}, failure.As(failure.Usage, err)
	}
	if t, err = t.Serve(o.Serve); err != nil {
		return Up{}, failure.As(failure.Usage, err)
	}
	name := cmp.Or(o.Name, t.Name)
	if !validName(name) {
		return Up{}, failure.As(failure.Usage, &NameError{name})
	}
	if _, err := app.Sweep(ctx, e, p); err != nil {
		return Up{}, err
	}
	if names, err := Names(e); err == nil && slices.Contains(names, name) {
		return Up{}, failure.As(failure.Usage, &TakenError{name})
	}
	order := netlab.Order{Name: name, File: f.name, YAML: f.yaml, FullRate: o.FullRate, Seed: o.Seed, Serve: o.Serve, Kinds: o.kinds()}
	argv := append(slices.Clone(e.Self), "lab-keep")
	if err := netlab.Keep(ctx, argv, order, func(step string) { p.Say("%s", step) }); err != nil {
		return Up{}, fmt.Errorf("lab %s did not come up: %w", name, err)
	}
	s, err := status(ctx, e, name)
	if err != nil {
		return Up{}, err
	}
	names, err := Names(e)
	return Up{Status: s, Drawing: topology.Text(t.Scaled(o.FullRate)), Several: err == nil && len(names) > 1}, nil
}

// validName tells whether a lab can have this name: it is part of names of hosts and
// of files.
func validName(name string) bool {
	n, err := host.ParseName("lab:" + name + "/h")
	return err == nil && n.Lab == name && len(name) <= 40
}

// Down takes down the lab with this name, or the only one, or all; it returns their
// names. It removes what killed labs have left.
func Down(ctx context.Context, e app.Env, p app.Progress, name string, all bool) ([]string, error) {
	if _, err := app.Sweep(ctx, e, p); err != nil {
		return nil, err
	}
	names := []string{name}
	if all {
		var err error
		if names, err = Names(e); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, failure.As(failure.Nothing, netlab.ErrNone)
	}
	for i, n := range names {
		c, err := e.Reach(nil).Lab(n)
		if err != nil {
			return nil, err
		}
		if err := c.Down(ctx); err != nil {
			return nil, fmt.Errorf("take lab %s down: %w", c.Name, err)
		}
		p.Say("lab %s is down", c.Name)
		names[i] = c.Name
	}
	return names, nil
}

// Reboot boots a host of kind kernel or device again, and returns when it is up.
func Reboot(ctx context.Context, e app.Env, p app.Progress, name, hostName string) error {
	c, err := e.Reach(nil).Lab(name)
	if err != nil {
		return err
	}
	p.Say("rebooting %s", hostName)
	return c.Reboot(ctx, hostName)
}
