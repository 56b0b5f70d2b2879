package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// readMounts reads every mounted file system.
func readMounts(_ context.Context, src kernel.Source, f *model.Facts) (err error) {
	f.Mounts, err = mountsOf(src)
	return err
}

func mountsOf(src kernel.Source) ([]model.Mount, error) {
	b, err := src.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return kernel.ParseMountinfo(b)
}

// MountInfo is the network mount that a path lies on, and its server.
type MountInfo struct {
	Mount model.Mount `json:"mount"`
	Addr  netip.Addr  `json:"addr"`
	Port  uint16      `json:"port"`
	// PortAssumed: the mount does not tell its port; Port is the protocol's
	// usual one.
	PortAssumed bool   `json:"port_assumed,omitempty"`
	Proto       string `json:"proto"` // tcp, udp, rdma
}

// Server is where the mount's connections go.
func (i MountInfo) Server() netip.AddrPort { return netip.AddrPortFrom(i.Addr, i.Port) }

// Reasons for which a path has no network mount to explain, for errors.Is.
var (
	ErrLocal      = errors.New("a local file system")
	ErrNotMounted = errors.New("not mounted yet")
	ErrNoPeer     = errors.New("a network file system that does not tell its server's address")
)

// MountError says what a path lies on instead. It unwraps to ErrLocal,
// ErrNotMounted or ErrNoPeer.
type MountError struct {
	Path  string
	Mount model.Mount
	Kind  error
}

// Error names the path, what it lies on, and the next step.
func (e *MountError) Error() string {
	what := fmt.Sprintf("%s is on %s (%s on %s, mounted at %s)", e.Path, e.Kind, e.Mount.Type, e.Mount.Source, e.Mount.Point)
	switch {
	case errors.Is(e.Kind, ErrLocal):
		return what + ": nothing crosses the network; name a path on an NFS or SMB mount, or use --attach HOST:PORT"
	case errors.Is(e.Kind, ErrNotMounted):
		return fmt.Sprintf("%s is not mounted yet (autofs at %s): list it once, then try again", e.Path, e.Mount.Point)
	}
	return what + ": name it with --attach HOST:PORT"
}

// Unwrap gives the kind.
func (e *MountError) Unwrap() error { return e.Kind }

// MountOf tells which network mount an absolute path lies on. It never
// touches the mount itself, so a dead server does not hang it. For a path
// that is not on a network mount with a known server the error is a
// *MountError.
func MountOf(ctx context.Context, src kernel.Source, p string) (MountInfo, error) {
	if !path.IsAbs(p) {
		return MountInfo{}, fmt.Errorf("find the mount of %q: want an absolute path", p)
	}
	if err := ctx.Err(); err != nil {
		return MountInfo{}, err
	}
	mounts, err := mountsOf(src)
	if err != nil {
		return MountInfo{}, fmt.Errorf("find the mount of %s: read the mount table: %w", p, err)
	}
	m, err := holder(src, mounts, p)
	if err != nil {
		return MountInfo{}, fmt.Errorf("find the mount of %s: %w", p, err)
	}
	info := MountInfo{Mount: m}
	if kind := fillServer(&info); kind != nil {
		return MountInfo{}, &MountError{Path: p, Mount: m, Kind: kind}
	}
	return info, nil
}

// holder follows p link by link up to the first network mount; from there on
// by name alone.
func holder(src kernel.Source, mounts []model.Mount, p string) (model.Mount, error) {
	done, rest := "/", strings.Split(path.Clean(p), "/")
	for links := 0; ; {
		m, ok := topmost(mounts, done)
		if ok && isNetwork(m) || len(rest) == 0 {
			return covering(mounts, path.Join(done, path.Join(rest...)))
		}
		next := path.Join(done, rest[0])
		rest = rest[1:]
		if _, isMount := topmost(mounts, next); isMount || next == done {
			done = next // a mount point is no symbolic link
			continue
		}
		target, err := src.Readlink(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return model.Mount{}, err
		case err != nil:
			done = next // it is there and no link
			continue
		}
		if links++; links > 40 {
			return model.Mount{}, fmt.Errorf("too many symbolic links at %s", next)
		}
		if path.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(path.Clean(target), "/"), rest...)
	}
}

// topmost is the mount at exactly this point; of several the last one shows.
func topmost(mounts []model.Mount, point string) (model.Mount, bool) {
	for i := len(mounts) - 1; i >= 0; i-- {
		if mounts[i].Point == point {
			return mounts[i], true
		}
	}
	return model.Mount{}, false
}

// covering is the mount that a path without links lies on.
func covering(mounts []model.Mount, p string) (model.Mount, error) {
	for dir := p; ; dir = path.Dir(dir) {
		if m, ok := topmost(mounts, dir); ok {
			return m, nil
		}
		if dir == "/" || dir == "." {
			return model.Mount{}, fmt.Errorf("the mount table holds no mount above %s", p)
		}
	}
}

func isNetwork(m model.Mount) bool {
	switch m.Type {
	case "nfs", "nfs4", "cifs", "smb3", "ceph", "afs", "lustre", "fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs":
		return true
	case "9p":
		return m.Options["trans"] == "tcp"
	}
	return false
}

// fillServer reads the server from the options that the kernel prints
// (fs/nfs/super.c, fs/smb/client/cifsfs.c, net/9p/trans_fd.c). It returns the
// kind of failure.
func fillServer(i *MountInfo) error {
	m := i.Mount
	usual := uint16(0)
	addr := m.Options["addr"]
	switch {
	case m.Type == "autofs":
		return ErrNotMounted
	case !isNetwork(m):
		return ErrLocal
	case m.Type == "nfs" || m.Type == "nfs4":
		usual = 2049
		i.Proto = strings.TrimSuffix(m.Options["proto"], "6")
	case m.Type == "cifs" || m.Type == "smb3":
		usual = 445
		if _, rdma := m.Options["rdma"]; rdma {
			i.Proto = "rdma"
		}
	case m.Type == "9p":
		usual, addr = 564, m.Source
	}
	if i.Proto == "" {
		i.Proto = "tcp"
	}
	var err error
	if i.Addr, err = netip.ParseAddr(addr); err != nil || usual == 0 {
		return ErrNoPeer
	}
	i.Addr = i.Addr.Unmap()
	port, err := strconv.ParseUint(m.Options["port"], 10, 16)
	i.Port = uint16(port)
	if err != nil || port == 0 {
		i.Port, i.PortAssumed = usual, true
	}
	return nil
}
