// Package server runs real storage servers in user space on emulated hosts:
// nfs-ganesha, smbd, tgtd and sshd, as the distribution packages them. Each has one private
// directory and a mount namespace in which the paths that it cannot do without (/run, the user
// table) are its own. It is ready when its port has answered the first exchange of its
// protocol. The package also creates the disks that they serve from, with a given rate.
//
// It refuses to read or write the machine's own configuration (/etc/samba, /etc/exports,
// /etc/tgt, /var/lib/nfs, any user's password), to install anything, and to emulate a slow
// disk by taking CPU time away.
package server

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linerate/internal/kernel"
)

// Kind is a protocol with the server that speaks it.
type Kind string

// Kinds of servers.
const (
	NFS   Kind = "nfs"   // nfs-ganesha on a directory, NFSv4 and NFSv3
	SMB   Kind = "smb"   // smbd on a directory
	ISCSI Kind = "iscsi" // tgtd on a file
	SSH   Kind = "ssh"   // sshd on the whole host
)

// Host is where a server runs: an emulated host.
type Host interface {
	Name() string
	Addr() netip.Addr // data address, where servers listen
	Dir() string      // private to this host, absolute
	// Start runs argv in the host until the host ends or Process.Stop is called.
	Start(ctx context.Context, name string, argv ...string) (Process, error)
	// Run runs argv in the host to its end and returns its output. An error contains its
	// stderr.
	Run(ctx context.Context, argv ...string) ([]byte, error)
}

// Process is a command that Host.Start started.
type Process interface {
	Done() <-chan struct{} // closed when it has ended
	// Stop ends the process group and waits. It is not an error if the process has ended
	// already.
	Stop() error
}

// Spec says which server to start.
type Spec struct {
	Kind Kind
	// Share is an absolute path inside the host: the directory that nfs and smb
	// serve and ssh copies to, or the file that is the LUN of iscsi.
	Share string
	// Self starts this very program; the subcommand lab-probe is appended.
	Self []string
	// Clients are the addresses that a kernel's own NFS server admits.
	Clients []netip.Addr
}

// Server is a server that has answered.
type Server struct {
	spec  Spec
	addr  netip.Addr
	dir   string
	procs []Process // in the order they were started
}

// plan has everything that is needed to start a server, so that it can be shown and tested
// without starting one.
type plan struct {
	programs []string          // that must be installed
	packages string            // Debian's packages that have them
	dirs     []string          // below the private directory
	files    map[string]string // below the private directory
	covers   []cover
	before   [][]string // run to their end before the daemons
	daemons  [][]string
	first    []string   // what the first daemon has to answer before the next is started; nil: nothing
	probe    []string   // kind and arguments of lab-probe
	after    [][]string // run to their end once the daemons answer
	last     []string   // a second probe, after the commands of after; nil: none
}

// cover mounts a part of the private directory over a path of the host, in the server's mount
// namespace.
type cover struct{ over, with string }

// answerWithin bounds the wait for a server. It is many times the time that any server takes
// on a busy machine.
const answerWithin = 20 * time.Second

// Start starts a server on h, bound to its data address, and returns when the server answers.
// If it fails, no process is left running.
func Start(ctx context.Context, h Host, spec Spec) (*Server, error) {
	s, err := start(ctx, h, spec)
	if err != nil {
		return nil, fmt.Errorf("start %s server on %s: %w", spec.Kind, h.Name(), err)
	}
	return s, nil
}

func start(ctx context.Context, h Host, spec Spec) (*Server, error) {
	s := &Server{spec: spec, addr: h.Addr(), dir: filepath.Join(h.Dir(), "server-"+string(spec.Kind))}
	p, err := s.plan()
	if err != nil {
		return nil, err
	}
	if err := findPrograms(p); err != nil {
		return nil, err
	}
	if err := s.write(p); err != nil {
		return nil, err
	}
	if err := s.launch(ctx, h, p); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) plan() (plan, error) {
	if s.spec.Kind != SSH && !filepath.IsAbs(s.spec.Share) {
		return plan{}, fmt.Errorf("share %q is not an absolute path", s.spec.Share)
	}
	// The path goes into configuration files in which these characters cannot be quoted.
	if strings.ContainsAny(s.spec.Share, "\"\n\r\\;#%") {
		return plan{}, fmt.Errorf("share %q has a quote, a line break or another character that servers' configurations give a meaning", s.spec.Share)
	}
	switch s.spec.Kind {
	case NFS:
		return s.planNFS()
	case SMB:
		return s.planSMB()
	case ISCSI:
		return s.planISCSI()
	case SSH:
		return s.planSSH()
	}
	return plan{}, fmt.Errorf("no such kind of server: %q; choose nfs, smb, iscsi or ssh", s.spec.Kind)
}

// binDirs are the directories to search for programs, whatever the caller's PATH: an ordinary
// user's PATH lacks those with the daemons.
var binDirs = [...]string{"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"}

func program(name string) (string, bool) {
	for _, dir := range binDirs {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && !st.IsDir() {
			return path, true
		}
	}
	return "", false
}

func findPrograms(p plan) error {
	for _, name := range p.programs {
		if _, ok := program(name); !ok {
			return fmt.Errorf("%s is missing: %w", name, missing(p.packages))
		}
	}
	return nil
}

// ErrMissing is the kind of the error for a program that is not installed.
var ErrMissing = errors.New("not installed")

func missing(packages string) error {
	return fmt.Errorf("%w; apt-get install --no-install-recommends %s", ErrMissing, packages)
}

func (s *Server) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// write removes the private directory and creates it again with the plan's files.
func (s *Server) write(p plan) error {
	if err := kernel.PrivateDir(filepath.Dir(s.dir)); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("clear private directory: %w", err)
	}
	for _, d := range append([]string{"", "log", "run"}, p.dirs...) {
		if err := os.MkdirAll(s.path(d), 0o700); err != nil {
			return fmt.Errorf("make private directory: %w", err)
		}
	}
	for name, text := range p.files {
		if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write configuration: %w", err)
		}
	}
	return nil
}

func (s *Server) launch(ctx context.Context, h Host, p plan) error {
	if err := s.runAll(ctx, h, p, p.before); err != nil {
		return err
	}
	for i, argv := range p.daemons {
		if i == 1 && p.first != nil {
			if err := s.await(ctx, h, p, p.first); err != nil {
				return err
			}
		}
		proc, err := h.Start(ctx, argv[0], s.private(p, argv)...)
		if err != nil {
			return err
		}
		s.procs = append(s.procs, proc)
	}
	if err := s.await(ctx, h, p, p.probe); err != nil {
		return err
	}
	if err := s.runAll(ctx, h, p, p.after); err != nil {
		return err
	}
	if p.last == nil {
		return nil
	}
	return s.await(ctx, h, p, p.last)
}

func (s *Server) runAll(ctx context.Context, h Host, p plan, cmds [][]string) error {
	for _, argv := range cmds {
		if out, err := h.Run(ctx, s.private(p, argv)...); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, s.said(argv[0], out))
		}
	}
	return nil
}

// private wraps argv so that it sees parts of the private directory in place of the machine's
// paths, and writes its output to log/NAME. The paths are arguments of the shell script, so
// that no character in them has a meaning to the shell.
func (s *Server) private(p plan, argv []string) []string {
	home := filepath.Dir(s.dir)
	script, args := "set -e", []string{s.path("log", filepath.Base(argv[0])), home}
	for i, c := range append([]cover{{"/run", "run"}}, p.covers...) {
		// If the host's directory is itself below a covered path, it is mounted there again,
		// with the disks that are mounted in it.
		if strings.HasPrefix(home, c.over+"/") {
			script += fmt.Sprintf(`; mkdir -p "$%[1]d${1#%[2]s}"; mount --rbind "$1" "$%[1]d${1#%[2]s}"`, i+2, c.over)
		}
		script += fmt.Sprintf(`; mount --rbind "$%d" %s`, i+2, c.over)
		args = append(args, s.path(c.with))
	}
	script += fmt.Sprintf(`; shift %d; exec "$@" >>"$0" 2>&1`, len(args)-1)
	wrapped := append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-c", script}, args...)
	return append(wrapped, argv...)
}

// said returns the end of a command's log.
func (s *Server) said(name string, otherwise []byte) string {
	const tail = 600
	b, err := os.ReadFile(s.path("log", filepath.Base(name)))
	if err != nil || len(b) == 0 {
		b = otherwise
	}
	return string(b[max(0, len(b)-tail):])
}

// Close ends the server. Its private directory, with the logs, stays until the host's
// directory is removed. Open ssh sessions end with their connections.
func (s *Server) Close() error {
	var errs []error
	for i := len(s.procs) - 1; i >= 0; i-- {
		errs = append(errs, s.procs[i].Stop())
	}
	s.procs = nil
	return errors.Join(errs...)
}

// Logs is the directory of the server's logs.
func (s *Server) Logs() string { return s.path("log") }
