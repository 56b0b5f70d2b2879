package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"linerate/internal/kernel"
)

// Process is a process with its descendants, and where their open files show that they move data.
type Process struct {
	PID  int
	Name string
	// Sockets is the number of their descriptors of sockets, of any kind.
	Sockets int
	// Storage are the network mounts and iSCSI disks that hold their open files, in the process's
	// own mount namespace, each once.
	Storage []MountInfo
	// OtherNet and OtherMounts: the process lives in another network or mount namespace than the
	// reader (a container).
	OtherNet    bool
	OtherMounts bool
}

// String is "process 4711 (rsync)".
func (p Process) String() string {
	if p.Name == "" {
		return "process " + strconv.Itoa(p.PID)
	}
	return fmt.Sprintf("process %d (%s)", p.PID, p.Name)
}

// Reasons why linerate cannot attach to a process, for errors.Is.
var (
	ErrNoProcess    = errors.New("no such process")
	ErrKernelThread = errors.New("a thread of the kernel")
	ErrPrivate      = errors.New("not permitted to read its open files")
)

// ProcessError says why a process cannot be read. It unwraps to ErrNoProcess, ErrKernelThread or
// ErrPrivate.
type ProcessError struct {
	Process Process
	Kind    error
}

// Error names the process, the reason, and the next step.
func (e *ProcessError) Error() string {
	next := map[error]string{
		ErrNoProcess:    "name one that runs, as ps -e lists them",
		ErrKernelThread: "the connections of NFS, SMB and iSCSI mounts are the kernel's and no process holds them; name the mount or the disk instead",
		ErrPrivate:      "watch as root or as its user",
	}
	return fmt.Sprintf("attach to %s: %s; %s", e.Process, e.Kind, next[e.Kind])
}

// Unwrap gives the kind.
func (e *ProcessError) Unwrap() error { return e.Kind }

// ProcessOf reads a process and its descendants through /proc. It accesses none of their files,
// so a dead server does not block it. If it cannot attach to the process, the error is a
// *ProcessError.
func ProcessOf(ctx context.Context, src kernel.Source, pid int) (Process, error) {
	p := Process{PID: pid}
	if src.OS() != "linux" {
		return p, fmt.Errorf("attach to %s: unsupported on %s, only Linux shows a process's connections so far: %w", p, src.OS(), errors.ErrUnsupported)
	}
	if err := ctx.Err(); err != nil {
		return p, err
	}
	b, err := src.ReadFile(procPath(pid, "stat"))
	if kernel.IsGone(err) {
		return p, &ProcessError{p, ErrNoProcess}
	}
	if err != nil {
		return p, fmt.Errorf("attach to %s: %w", p, err)
	}
	stat, err := kernel.ParseTaskStat(b)
	if err != nil {
		return p, fmt.Errorf("attach to %s: %w", p, err)
	}
	p.Name = stat.Name
	switch {
	case stat.Ended:
		return p, &ProcessError{p, ErrNoProcess}
	case stat.Kernel:
		return p, &ProcessError{p, ErrKernelThread}
	}
	return p, p.readFiles(src)
}

func procPath(pid int, name string) string { return path.Join("/proc", strconv.Itoa(pid), name) }

// readFiles reads the descriptors of the process and its descendants. Only those of the process
// itself must be readable.
func (p *Process) readFiles(src kernel.Files) error {
	net, mnt := namespace(src, strconv.Itoa(p.PID), "net"), namespace(src, strconv.Itoa(p.PID), "mnt")
	p.OtherNet = net != "" && net != namespace(src, "self", "net")
	p.OtherMounts = mnt != "" && mnt != namespace(src, "self", "mnt")
	var paths []string
	for _, pid := range kernel.Family(src, p.PID) {
		files, err := kernel.OpenFiles(src, pid)
		if pid == p.PID {
			switch {
			case errors.Is(err, fs.ErrPermission):
				return &ProcessError{*p, ErrPrivate}
			case kernel.IsGone(err):
				return &ProcessError{*p, ErrNoProcess}
			case err != nil:
				return fmt.Errorf("attach to %s: %w", p, err)
			}
		}
		for _, f := range files {
			if _, ok := kernel.ParseSocketLink(f); ok {
				p.Sockets++
			} else if strings.HasPrefix(f, "/") {
				paths = append(paths, f)
			}
		}
	}
	p.findStorage(src, paths)
	return nil
}

func namespace(src kernel.Files, pid, kind string) string {
	target, err := src.Readlink("/proc/" + pid + "/ns/" + kind)
	if err != nil {
		return "" // not ours to see, and then its files are not either
	}
	return target
}

// findStorage finds what holds the open files. If the mount table cannot be read, the list stays
// empty: sockets can still be watched.
func (p *Process) findStorage(src kernel.Files, paths []string) {
	mounts, err := mountTable(src, strconv.Itoa(p.PID))
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, f := range paths {
		m, err := covering(mounts, path.Clean(f))
		if err != nil {
			continue
		}
		// A device is a file of /dev, whose mount is irrelevant.
		key := m.Point
		if strings.HasPrefix(f, "/dev/") {
			key = f
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		if info, err := storageOf(src, m, f); err == nil {
			p.Storage = append(p.Storage, info)
		}
	}
}
