package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
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

func mountsOf(src kernel.Files) ([]model.Mount, error) { return mountTable(src, "self") }

// mountTable is the mount table of process pid; "self" is the reader.
func mountTable(src kernel.Files, pid string) ([]model.Mount, error) {
	b, err := src.ReadFile("/proc/" + pid + "/mountinfo")
	if err != nil {
		return nil, err
	}
	return kernel.ParseMountinfo(b)
}

// MountInfo is the network mount or iSCSI disk that holds a path, and its server.
type MountInfo struct {
	Mount model.Mount `json:"mount"`
	Addr  netip.Addr  `json:"addr"`
	Port  uint16      `json:"port"`
	// PortAssumed: the mount does not show its port; Port is the protocol's default.
	PortAssumed bool   `json:"port_assumed,omitempty"`
	Proto       string `json:"proto"` // tcp, udp, rdma, or the driver of an iSCSI disk that bypasses TCP
	// More are further addresses of the same storage: SMB multichannel, iSCSI multipath.
	More []netip.AddrPort `json:"more,omitempty"`
	// Device is the iSCSI disk, such as "sdb1", that holds the path or is the path; empty for a
	// network file system.
	Device string `json:"device,omitempty"`
}

// Servers are all addresses that the data may go to, Server first.
func (i MountInfo) Servers() []netip.AddrPort {
	return append([]netip.AddrPort{i.Server()}, i.More...)
}

// Server is where the mount's connections go.
func (i MountInfo) Server() netip.AddrPort { return netip.AddrPortFrom(i.Addr, i.Port) }

// Reasons why a path has no network storage to explain, for errors.Is.
var (
	ErrLocal      = errors.New("a local file system")
	ErrNotMounted = errors.New("not mounted yet")
	ErrNoPeer     = errors.New("a network file system that does not tell its server's address")
)

// MountError says what holds a path instead. It unwraps to ErrLocal, ErrNotMounted or ErrNoPeer.
type MountError struct {
	Path  string
	Mount model.Mount
	Kind  error
}

// Error names the path, and what holds it.
func (e *MountError) Error() string {
	what := fmt.Sprintf("%s is on %s (%s on %s, mounted at %s)", e.Path, e.Kind, e.Mount.Type, e.Mount.Source, e.Mount.Point)
	switch {
	case errors.Is(e.Kind, ErrLocal):
		return what + ": nothing crosses the network"
	case errors.Is(e.Kind, ErrNotMounted):
		return fmt.Sprintf("%s is not mounted yet (autofs at %s): list it once, then try again", e.Path, e.Mount.Point)
	}
	return what
}

// Unwrap gives the kind.
func (e *MountError) Unwrap() error { return e.Kind }

// MountOf finds the network mount or iSCSI disk that holds an absolute path, which may be the
// disk itself. It never accesses the mount, so a dead server does not block it. If there is none,
// or its server is unknown, the error is a *MountError.
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
	return storageOf(src, m, p)
}

// storageOf is the network storage behind path p on mount m.
func storageOf(src kernel.Files, m model.Mount, p string) (MountInfo, error) {
	info := MountInfo{Mount: m}
	kind := fillServer(&info)
	if errors.Is(kind, ErrLocal) {
		for _, at := range []string{p, m.Source} {
			if fillDisk(src, &info, at) {
				return info, nil
			}
		}
	}
	if kind != nil {
		return MountInfo{}, &MountError{Path: p, Mount: m, Kind: kind}
	}
	if m.Type == "cifs" || m.Type == "smb3" {
		addChannels(src, &info)
	}
	return info, nil
}

// fillDisk fills in the iSCSI disk behind the path at, if there is one, and tells whether there
// is.
func fillDisk(src kernel.Files, i *MountInfo, at string) bool {
	dev := blockDevice(src, at)
	if dev == "" {
		return false
	}
	ends, proto := portals(src, dev)
	if len(ends) == 0 {
		return false
	}
	i.Device, i.Proto = dev, proto
	i.Addr, i.Port, i.More = ends[0].Addr(), ends[0].Port(), ends[1:]
	return true
}

// addChannels adds the further server addresses with connections, which only the SMB client's
// debug text shows. Without the text there are none.
func addChannels(src kernel.Files, i *MountInfo) {
	b, err := src.ReadFile("/proc/fs/cifs/DebugData")
	if err != nil {
		return
	}
	for _, s := range kernel.ParseCIFSDebugData(b) {
		if s.Addr.WithZone("") != i.Addr.WithZone("") {
			continue
		}
		if s.RDMA {
			i.Proto = "rdma"
		}
		for _, a := range s.Also {
			if p := netip.AddrPortFrom(a, i.Port); !slices.Contains(i.More, p) {
				i.More = append(i.More, p)
			}
		}
	}
}

// holder follows the links of p up to the first network mount, and from there on only the names.
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
			done = next // a mount point is not a symbolic link
			continue
		}
		target, err := src.Readlink(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return model.Mount{}, err
		case err != nil:
			done = next // exists and is not a link
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

// topmost is the mount at exactly this point; of several, the last one hides the others.
func topmost(mounts []model.Mount, point string) (model.Mount, bool) {
	for i := len(mounts) - 1; i >= 0; i-- {
		if mounts[i].Point == point {
			return mounts[i], true
		}
	}
	return model.Mount{}, false
}

// covering is the mount that holds a path without links.
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

// fillServer reads the server from the options that the kernel prints (fs/nfs/super.c,
// fs/smb/client/cifsfs.c, net/9p/trans_fd.c). It returns the kind of failure.
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
