package explain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/app"
	"linerate/internal/facts"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/load"
	"linerate/internal/loop"
	"linerate/internal/reach"
)

// watched is what to watch, and from where.
type watched struct {
	loop.Target
	// enter is the argv that leads an agent into the network namespace of the
	// connections; empty where they are in this process's own.
	enter []string
}

// target finds out which connections to watch: those to the server of a mount or disk,
// those to the address that was named, or those of a process.
func (o WatchOptions) target(ctx context.Context, e app.Env) (watched, error) {
	switch {
	case o.PID != 0:
		return processTarget(ctx, e, o.PID)
	case o.Peer != "":
		t, err := o.peerTarget(ctx)
		return watched{Target: t}, err
	}
	t, err := mountTarget(ctx, o.Path)
	return watched{Target: t}, err
}

// UnresolvedError: no address was found for the host whose connections to watch.
type UnresolvedError struct{ Err error }

// Error implements error.
func (e *UnresolvedError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UnresolvedError) Unwrap() error { return e.Err }

func (o WatchOptions) peerTarget(ctx context.Context) (loop.Target, error) {
	addrs, err := kernel.Resolve(ctx, o.Peer)
	if err != nil {
		return loop.Target{}, &UnresolvedError{err}
	}
	return loop.Target{Name: o.Name, Peers: addrs, Ports: []uint16{o.Port}}, nil
}

// mountTarget finds the server behind a mount or a disk, without touching it.
func mountTarget(ctx context.Context, path string) (loop.Target, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return loop.Target{}, fmt.Errorf("find %s: %w", path, err)
	}
	info, err := facts.MountOf(ctx, kernel.Live{}, abs)
	if errors.Is(err, facts.ErrLocal) { // a look at a path there waits for no server
		if _, serr := os.Lstat(abs); errors.Is(serr, fs.ErrNotExist) {
			err = serr
		}
	}
	if local := (*facts.MountError)(nil); errors.As(err, &local) {
		return loop.Target{}, insteadOf(failure.As(failure.Nothing, err))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return loop.Target{}, failure.Advise(fmt.Errorf("%s: no such path here", path), failure.NameMount, path)
	}
	if err != nil {
		return loop.Target{}, err
	}
	if !passesTCP(info) {
		return loop.Target{}, failure.Of(failure.Nothing, "%s: its data goes by %s, and linerate can watch TCP only; mount it over TCP to have it explained", storageName(info, abs), info.Proto)
	}
	t := loop.Target{Name: storageName(info, abs), Mount: nfsMount(info), Share: smbShare(info), Disk: info.Device}
	addStorage(&t, info)
	return t, anyPort(ctx, kernel.Live{}, &t, info)
}

// insteadOf adds to the error what to name instead of a path that is not on a mount that can be
// watched.
func insteadOf(err error) error {
	switch {
	case errors.Is(err, facts.ErrLocal):
		return failure.Advise(err, failure.NameStorage)
	case errors.Is(err, facts.ErrNoPeer):
		return failure.Advise(err, failure.NameServer)
	}
	return err
}

// readOf is what to read of what was named: the file, the disk, or the largest file below
// the directory.
func readOf(name string) (*load.ReadSpec, error) {
	p, err := filepath.EvalSymlinks(name)
	if err == nil {
		p, err = filepath.Abs(p)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	info, err := os.Stat(p)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case info.IsDir():
		return &load.ReadSpec{Dir: p, Cache: load.Dropped}, nil
	}
	return &load.ReadSpec{File: p, Device: !info.Mode().IsRegular(), Cache: load.Dropped}, nil
}

// ElsewhereError: the directory to write in does not lie on what is watched.
type ElsewhereError struct{ Dir, Watched string }

// Error implements error.
func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("write below %s: it does not lie on %s; nothing was written", e.Dir, e.Watched)
}

// writeBelow is the directory to write in: it has to lie on what is watched.
func writeBelow(ctx context.Context, dir string, w watched) (string, error) {
	p, err := filepath.EvalSymlinks(dir)
	if err == nil {
		p, err = filepath.Abs(p)
	}
	if err != nil {
		return "", fmt.Errorf("write below %s: %w", dir, err)
	}
	m, err := facts.MountOf(ctx, kernel.Live{}, p)
	var local *facts.MountError
	if err != nil && !errors.As(err, &local) {
		return "", err
	}
	if err != nil || w.Mount+w.Share == "" || nfsMount(m) != w.Mount || smbShare(m) != w.Share {
		return "", failure.As(failure.Usage, &ElsewhereError{Dir: dir, Watched: w.Name})
	}
	return p, nil
}

func passesTCP(i facts.MountInfo) bool { return i.Proto == "tcp" }

// storageName is the mount point, or the disk as the user named it.
func storageName(i facts.MountInfo, path string) string {
	if i.Device != "" {
		return fmt.Sprintf("%s (iSCSI disk %s)", path, i.Device)
	}
	return i.Mount.Point
}

func addStorage(t *loop.Target, i facts.MountInfo) {
	for _, at := range i.Servers() {
		if !slices.Contains(t.Peers, at.Addr()) {
			t.Peers = append(t.Peers, at.Addr())
		}
		if !slices.Contains(t.Ports, at.Port()) {
			t.Ports = append(t.Ports, at.Port())
		}
	}
}

// anyPort lets connections to every port count, if the mount does not tell its port (SMB)
// and there is no connection to the usual one.
func anyPort(ctx context.Context, src kernel.Source, t *loop.Target, i facts.MountInfo) error {
	if !i.PortAssumed {
		return nil
	}
	conns, err := src.TCPConns(ctx, kernel.TCPFilter{Addrs: t.Peers})
	if errors.Is(err, errors.ErrUnsupported) || len(conns) == 0 {
		return nil // the agent reports the error
	}
	if err != nil {
		return fmt.Errorf("watch %s: %w", t, err)
	}
	usual := kernel.TCPFilter{Ports: t.Ports}
	for _, c := range conns {
		if usual.Match(c.Local, c.Remote) {
			return nil
		}
	}
	t.Ports = nil
	t.Notes = append(t.Notes, fmt.Sprintf("the mount does not tell its port and nothing is connected to port %d: all connections to its server are watched", i.Port))
	return nil
}

// nfsMount is the mount point where the kernel keeps RPC statistics for it.
func nfsMount(info facts.MountInfo) string {
	if strings.HasPrefix(info.Mount.Type, "nfs") {
		return info.Mount.Point
	}
	return ""
}

// smbShare is the share where the kernel keeps request statistics for it.
func smbShare(info facts.MountInfo) string {
	if info.Mount.Type == "cifs" || info.Mount.Type == "smb3" {
		return info.Mount.Source
	}
	return ""
}

// processTarget finds the connections through which a process moves its data: its own TCP
// connections, and those to the servers of the storage of its open files.
func processTarget(ctx context.Context, e app.Env, pid int) (watched, error) {
	p, err := facts.ProcessOf(ctx, kernel.Live{}, pid)
	if errors.Is(err, facts.ErrKernelThread) {
		return watched{}, failure.As(failure.Nothing, err)
	}
	if err != nil {
		return watched{}, err
	}
	w := watched{Target: ofProcess(p)}
	if p.Sockets == 0 && len(w.Peers) == 0 {
		return w, failure.Of(failure.Nothing, "attach to %s: %s", p, w.Without)
	}
	if p.OtherNet {
		w.Notes = append(w.Notes, p.String()+" is in another network namespace (a container): interfaces, routes and net.* settings are those of that namespace")
		w.enter, err = enterNetwork(e, p, os.Geteuid())
	}
	return w, err
}

// ofProcess is the target of a process and its storage.
func ofProcess(p facts.Process) loop.Target {
	t := loop.Target{Name: p.String(), PID: p.PID}
	var on, other []string
	for _, s := range p.Storage {
		name := s.Mount.Point
		if s.Device != "" {
			name = "/dev/" + s.Device
		}
		if !passesTCP(s) {
			other = append(other, name+" ("+s.Proto+")")
			continue
		}
		on = append(on, name)
		addStorage(&t, s)
		t.Mount, t.Share, t.Disk = nfsMount(s), smbShare(s), s.Device
	}
	if len(on) != 1 || p.OtherMounts { // statistics are read for one mount, by its path as we see it
		t.Mount, t.Share, t.Disk = "", "", ""
	}
	if len(on) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s has files open on %s: the connections to that storage were watched too; name %s to have it watched alone", p, strings.Join(on, " and "), on[0]))
	}
	t.Without = without(p, on, other)
	return t
}

// without says why a process may have no TCP connection and what to do then.
func without(p facts.Process, on, other []string) string {
	out := "it holds no TCP connection"
	if p.Sockets > 0 {
		out += fmt.Sprintf(" (its %d sockets are of other kinds, or listen)", p.Sockets)
	}
	switch {
	case len(on) > 0:
		return out + ", and neither has the server of " + strings.Join(on, " and ") + ", on which its files lie; see that the mount works"
	case len(other) > 0:
		return out + "; its files lie on " + strings.Join(other, " and ") + ", which linerate cannot watch"
	}
	return out + " and no file on a network mount or iSCSI disk; attach to the process that copies, or name the mount"
}

// NetRole is the role of this program that enters a process's network namespace.
const NetRole = "enter-net"

// enterNetwork is how an agent gets into the network namespace of p, which
// takes root: without it the error says so.
func enterNetwork(e app.Env, p facts.Process, uid int) ([]string, error) {
	if uid != 0 {
		return nil, fmt.Errorf("attach to %s: it is in another network namespace (a container); watch as root, or run linerate inside it", p)
	}
	start, err := kernel.ProcessStart("/proc", p.PID)
	if err != nil {
		return nil, fmt.Errorf("attach to %s: %w", p, err)
	}
	return slices.Concat(e.Self, []string{NetRole, strconv.Itoa(p.PID), strconv.FormatUint(start, 10)}), nil
}

// NetMain plays NetRole; its arguments are PID START COMMAND…, START as
// kernel.ProcessStart has it. The command takes this process's place: it returns only
// with an error.
func NetMain(args []string) error {
	if len(args) < 3 {
		return errors.New("enter a network namespace: want PID START COMMAND")
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	start, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	if err := kernel.JoinNetwork(pid, start); err != nil {
		return err
	}
	return kernel.Replace(args[2:], os.Environ())
}

// dialWatched starts an agent on this host, in the network namespace of the connections that
// are watched.
func dialWatched(ctx context.Context, e app.Env, p app.Progress, w watched) (*host.Client, error) {
	return host.Dial(ctx, host.Endpoint{Name: reach.Here, Argv: w.enter, Self: e.Self}, host.Options{Log: p.Detail, Now: e.Now})
}
