package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
)

// oldStage is the lab of two hosts, whose link cannot be changed from outside.
type oldStage struct {
	*players
	lab  *lab.Lab
	topo topology.Topology
	self []string
}

func labBuilder(context.Context) (func(context.Context, topology.Topology) (stage, error), error) {
	self, err := selfArgv()
	if err != nil {
		return nil, err
	}
	dir, err := lab.StateDir(os.Getenv, os.Geteuid(), os.TempDir())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, t topology.Topology) (stage, error) {
		return upOld(ctx, t, lab.Options{Self: self, StateDir: filepath.Clean(dir)})
	}, nil
}

func upOld(ctx context.Context, t topology.Topology, o lab.Options) (stage, error) {
	old := lab.DefaultTopology()
	l, err := lab.Up(ctx, old, o)
	if err != nil {
		return nil, err
	}
	s := &oldStage{lab: l, topo: t, self: o.Self}
	s.players, err = newPlayers(ctx, t, func(name string) host.Endpoint {
		return host.Endpoint{Name: name, Argv: l.Enter(name), Self: o.Self, Data: []netip.Addr{l.Addr(name)}, StateDir: l.StateDir(name)}
	}, nil)
	if err != nil {
		return nil, errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *oldStage) Down(ctx context.Context) error { return errors.Join(s.leave(), s.lab.Down(ctx)) }
func (s *oldStage) Topology() topology.Topology    { return s.topo }
func (s *oldStage) Shapes(string) [2]topology.Shape {
	return [2]topology.Shape{s.topo.Links[0].AB, s.topo.Links[0].BA}
}

var errOld = errors.New("this lab cannot do that")

func (s *oldStage) Reshape(context.Context, string, int, func(*topology.Shape)) error { return errOld }
func (s *oldStage) SwitchMTU(context.Context, string, int) (int, error)               { return 0, errOld }
func (s *oldStage) SetMTU(context.Context, string, string, int) (int, error)          { return 0, errOld }
func (s *oldStage) Features(context.Context, string, string, map[string]bool) (map[string]bool, error) {
	return nil, errOld
}

func (s *oldStage) Sysctl(ctx context.Context, host, key, value string) (string, error) {
	file := "/proc/sys/" + strings.ReplaceAll(key, ".", "/")
	old, err := s.Run(ctx, host, "cat", file)
	if err != nil {
		return "", err
	}
	_, err = s.Run(ctx, host, "sh", "-c", `echo "$1" > "$2"`, "sh", value, file)
	return strings.TrimSpace(string(old)), err
}

func (s *oldStage) argv(host string, argv []string) []string {
	if argv[0] == fault.Self {
		argv = append(append([]string{}, s.self...), argv[1:]...)
	}
	return append(s.lab.Enter(host), argv...)
}

func (s *oldStage) Run(ctx context.Context, host string, argv ...string) ([]byte, error) {
	a := s.argv(host, argv)
	out, err := exec.CommandContext(ctx, a[0], a[1:]...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

func (s *oldStage) Start(_ context.Context, host, _ string, argv ...string) (func() error, error) {
	a := s.argv(host, argv)
	cmd := exec.Command(a[0], a[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}, nil
}
