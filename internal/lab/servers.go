package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/lab/server"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/uml"
	"linerate/internal/lab/wire"
	"linerate/internal/unit"
)

// running is a server of this lab.
type running struct {
	host  string
	share string
	*server.Server
	kind string
}

// memoryDisk is what a host without a disk serves from: it takes only as much of the machine's
// memory as is written to it.
const (
	memoryDisk     = "memory"
	memoryDiskSize = 2 * unit.GiB
)

// startServers makes the disks of every host and starts what serves them.
func (l *Lab) startServers(ctx context.Context) error {
	for _, h := range l.hosts {
		if err := l.startServersOf(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) startServersOf(ctx context.Context, h *host) error {
	at := serverHost{l, h.spec.Name}
	disks := map[string]mounted{}
	for i, d := range disksOf(h.spec) {
		m := mounted{size: d.Size}
		var err error
		if h.machine == nil {
			m.dir, err = l.makeDisk(ctx, at, d)
		} else {
			m.dir, err = server.MountDevice(ctx, at, uml.Device(i+1), d.Name, d.Rate)
		}
		if err != nil {
			return err
		}
		disks[d.Name] = m
	}
	for _, s := range h.spec.Servers {
		if s.Disk == "" {
			s.Disk = memoryDisk
		}
		if err := l.serve(ctx, at, s.Kind, disks[s.Disk]); err != nil {
			return err
		}
	}
	return nil
}

// disksOf are a host's disks, with one in memory for servers that name none.
func disksOf(h topology.Host) []topology.Disk {
	disks := slices.Clone(h.Disks)
	if slices.ContainsFunc(h.Servers, func(s topology.Server) bool { return s.Disk == "" }) {
		disks = append(disks, topology.Disk{Name: memoryDisk, Size: memoryDiskSize})
	}
	return disks
}

type mounted struct {
	dir  string
	size unit.Bytes
}

// makeDisk makes a disk with the rate in the topology if this machine can limit it, and says so if
// it cannot.
func (l *Lab) makeDisk(ctx context.Context, at serverHost, d topology.Disk) (string, error) {
	spec := server.DiskSpec{Name: d.Name, Size: d.Size, Rate: d.Rate}
	disk, err := server.MakeDisk(ctx, at, "/", spec)
	if errors.Is(err, server.ErrNoSlowDisk) || errors.Is(err, server.ErrMissing) {
		l.note(fmt.Sprintf("disk %s of %s at %v: %s; it is as fast as memory", d.Name, at.name, d.Rate, oneLine(err)))
		spec.Rate = 0
		disk, err = server.MakeDisk(ctx, at, "/", spec)
	}
	if err != nil {
		return "", err
	}
	return disk.Dir(), nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// serve starts a server on a directory, or on a file for the protocol that
// serves blocks.
func (l *Lab) serve(ctx context.Context, at serverHost, kind string, on mounted) error {
	share := filepath.Join(on.dir, "share")
	make := []string{"mkdir", "-p", "-m", "755", share}
	if server.Kind(kind) == server.ISCSI {
		// The unit grows as it is written; an eighth stays for the file system.
		share = filepath.Join(on.dir, "unit")
		size := on.size / 8 * 7 / unit.MiB * unit.MiB
		make = []string{"truncate", "-s", strconv.FormatInt(int64(size), 10), share}
	}
	if out, err := at.Run(ctx, make...); err != nil {
		return fmt.Errorf("prepare share on %s: %w: %s", at.name, err, out)
	}
	spec := server.Spec{Kind: server.Kind(kind), Share: share, Self: l.opts.Self}
	start := server.Start
	if l.host(at.name).machine != nil {
		start, spec.Clients = server.StartInKernel, l.addresses()
	}
	s, err := start(ctx, at, spec)
	if err != nil {
		return err
	}
	l.servers = append(l.servers, running{at.name, share, s, kind})
	return nil
}

// addresses are those of all hosts: who may be served.
func (l *Lab) addresses() []netip.Addr {
	var out []netip.Addr
	for _, h := range l.topo.Hosts {
		for _, i := range h.Interfaces {
			out = append(out, i.Addr.Addr())
		}
	}
	return out
}

// Servers are those of this lab, in the order they were started.
func (l *Lab) Servers() []ServerStatus {
	var out []ServerStatus
	for _, x := range l.servers {
		out = append(out, ServerStatus{x.host, x.kind, x.URL(), x.share, x.Put("FILE", "NAME"), x.Get("NAME", "FILE"), x.Mount("DIR"), x.Logs()})
	}
	return out
}

// SMBLogin is the file with the login of the lab's SMB server, as hosts see
// it; empty where there is none.
func (l *Lab) SMBLogin() string {
	for _, x := range l.servers {
		if x.kind == string(server.SMB) {
			return x.Login()
		}
	}
	return ""
}

// stopServers ends them and lets go of the disks. The mounts go with the
// hosts, also those still in use.
func (l *Lab) stopServers() error {
	var errs []error
	for _, s := range l.servers {
		errs = append(errs, s.Close())
	}
	l.servers = nil
	for _, h := range l.topo.Hosts {
		errs = append(errs, server.ReleaseDisks("/", l.workDir(h.Name)))
	}
	return errors.Join(errs...)
}

// serverHost is an emulated host as servers and disks see it.
type serverHost struct {
	lab  *Lab
	name string
}

func (h serverHost) Name() string     { return h.name }
func (h serverHost) Addr() netip.Addr { return h.lab.Addr(h.name) }
func (h serverHost) Dir() string      { return h.lab.workDir(h.name) }

// command is argv inside the host, with the programs of administrators, which
// an ordinary user's PATH lacks.
func (h serverHost) command(ctx context.Context, argv []string) *kernel.Cmd {
	cmd := kernel.Exec(ctx, append(h.lab.Enter(h.name), argv...)...)
	cmd.Env = wire.WithEnv(os.Environ(), append(h.lab.env(), "PATH="+adminPath())...)
	kernel.InNewNamespaces(cmd, kernel.Namespaces{}) // a process group of its own
	cmd.Cancel = func() error { return kernel.EndGroup(cmd.Process.Pid) }
	return cmd
}

func adminPath() string {
	return strings.TrimPrefix(os.Getenv("PATH")+":/usr/sbin:/sbin", ":")
}

func (h serverHost) Run(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := h.command(ctx, argv)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

func (h serverHost) Start(_ context.Context, name string, argv ...string) (server.Process, error) {
	// It ends with Stop or the host, not with its parent.
	p := &serverProcess{h.command(context.Background(), argv), make(chan struct{})}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s in %s: %w", name, h.name, err)
	}
	go func() {
		_ = p.cmd.Wait() // daemons are killed; how they end is in their logs
		close(p.done)
	}()
	return p, nil
}

type serverProcess struct {
	cmd  *kernel.Cmd
	done chan struct{}
}

func (p *serverProcess) Done() <-chan struct{} { return p.done }

func (p *serverProcess) Stop() error {
	select {
	case <-p.done: // its number may be another's by now
		return nil
	default:
	}
	err := kernel.EndGroup(p.cmd.Process.Pid)
	<-p.done
	return err
}
