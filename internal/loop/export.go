package loop

import (
	"cmp"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/measure"
	"linerate/internal/model"
)

// Export is a directory of the server and, where the client has mounted it,
// the same directory there.
type Export struct {
	Path  string      // on the server
	Name  string      // as clients name it, where a share has another name than Path; else Path
	Mount model.Mount // the client's; Point is empty if there is none
	Dir   string      // on the client
	File  string      // file to read, relative to both; empty: the largest
	RAM   bool        // the server keeps it in memory
	// Device is the number of the block device below it on the server, "8:16"; empty if it has
	// none of its own.
	Device string
	// Disk is the client's block device, such as sda, if the directory is the backing store of
	// an iSCSI LUN; Dir is then the device's file.
	Disk string
}

// FindExport looks through the facts of both ends for the client's mount of a
// directory of the server, which has these addresses too.
func FindExport(client, server *model.Facts, dir string, also ...netip.Addr) (e Export) {
	name, real := rooted(server, dir)
	shares := shared(server, dir)
	e.Path = path.Clean(dir)
	if len(shares) > 0 {
		e.Path, e.Name = shares[0].Path, shares[0].Name
	}
	defer func() {
		e.place(server)
		e.Name = cmp.Or(e.Name, e.Path)
	}()
	addrs := also
	for _, n := range server.NICs {
		for _, p := range n.Addrs {
			if !p.Addr().IsLoopback() {
				addrs = append(addrs, p.Addr().Unmap())
			}
		}
	}
	deepest := ""
	for _, m := range client.Mounts {
		addr, err := netip.ParseAddr(m.Options["addr"])
		if err != nil || !slices.Contains(addrs, addr.Unmap()) {
			continue
		}
		served, ok := servedDir(m)
		if !ok {
			continue
		}
		if s, rest, ok := mountOf(shares, m, served); ok {
			if len(served) >= len(deepest) {
				e.Mount, e.Dir, e.Path, e.Name, deepest = m, path.Join(m.Point, rest), s.Path, s.Name, served
			}
			continue
		}
		if m.Type == "nfs4" && name != "" {
			if rest, ok := below(name, served); ok && len(served) >= len(deepest) {
				e.Mount, e.Dir, e.Path, deepest = m, path.Join(m.Point, rest), real, served
			} else if _, ok := below(served, name); ok && e.Mount.Point == "" {
				e.Mount, e.Dir, e.Path = m, m.Point, path.Join(server.NFSD.Or(model.NFSD{}).Root, served)
			}
			continue
		}
		// If two fit, the deeper one is taken; if one is mounted over the other, the later one.
		if rest, ok := below(path.Clean(dir), served); ok && len(served) >= len(deepest) {
			e.Mount, e.Dir, e.Path, deepest = m, path.Join(m.Point, rest), path.Clean(dir), served
		} else if _, ok := below(served, e.Path); ok && e.Mount.Point == "" {
			e.Mount, e.Dir, e.Path = m, m.Point, served
		} else if rest, ok := belowPseudo(path.Clean(dir), served); ok && e.Mount.Point == "" {
			e.Mount, e.Dir = m, path.Join(m.Point, rest)
		}
	}
	if e.Mount.Point == "" {
		e.findDisk(client, addrs)
	}
	return e
}

// rooted are the names of a directory where the server gives clients of NFSv4 a root of its
// own: theirs, and the server's. A directory that lies below that root is the server's
// name, any other theirs. Both are empty where no such root is known.
func rooted(server *model.Facts, dir string) (name, real string) {
	root := server.NFSD.Or(model.NFSD{}).Root
	if root == "" {
		return "", ""
	}
	dir = path.Clean(dir)
	if rest, ok := below(dir, root); ok {
		return path.Clean("/" + rest), dir
	}
	return dir, path.Join(root, dir)
}

// shared is a directory of the server as each share that it lies in names it: by its place
// on the server, else by the name that clients use.
func shared(server *model.Facts, dir string) (out []model.Share) {
	dir = path.Clean(dir)
	for _, s := range server.Shares {
		if rest, ok := below(dir, s.Path); ok {
			out = append(out, model.Share{Protocol: s.Protocol, Name: path.Join(s.Name, rest), Path: dir})
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, s := range server.Shares {
		if rest, ok := belowShare(dir, s.Name, s.Protocol); ok {
			out = append(out, model.Share{Protocol: s.Protocol, Name: path.Join(s.Name, rest), Path: path.Join(s.Path, rest)})
		}
	}
	return out
}

// mountOf finds the share that a mount of the client is of, and the part of it that lies
// below what is mounted.
func mountOf(shares []model.Share, m model.Mount, served string) (model.Share, string, bool) {
	protocol := "smb"
	if strings.HasPrefix(m.Type, "nfs") {
		protocol = "nfs"
	}
	for _, s := range shares {
		if s.Protocol != protocol {
			continue
		}
		if rest, ok := belowShare(s.Name, served, protocol); ok {
			return s, rest, true
		}
	}
	return model.Share{}, "", false
}

// belowShare is below for SMB, where the case of a share's name does not matter (MS-SMB2, 3.3.5.7),
// while the case of names within it may.
func belowShare(p, dir, protocol string) (string, bool) {
	if protocol == "smb" {
		p, dir = foldShare(p), foldShare(dir)
	}
	return below(p, dir)
}

func foldShare(p string) string {
	name, rest, more := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	if more {
		return "/" + strings.ToLower(name) + "/" + rest
	}
	return "/" + strings.ToLower(name)
}

// place notes on what the directory lies at the server.
func (e *Export) place(server *model.Facts) {
	on := lies(server, e.Path)
	e.RAM = inMemory(on)
	if major, _, _ := strings.Cut(on.Dev, ":"); major != "0" { // 0 is of no device: tmpfs, ZFS, btrfs
		e.Device = on.Dev
	}
}

// findDisk looks for the disk of a session to one of the addresses. With more
// than one it cannot be told which of them is the server's directory.
func (e *Export) findDisk(client *model.Facts, addrs []netip.Addr) {
	for _, s := range client.ISCSI {
		i := slices.IndexFunc(s.Conns, func(c model.ISCSIConn) bool { return slices.Contains(addrs, c.Portal.Addr().Unmap()) })
		if i < 0 {
			continue
		}
		for _, d := range client.Disks {
			if d.Session != s.Name {
				continue
			}
			if e.Disk != "" {
				e.Disk, e.Dir, e.Mount = "", "", model.Mount{}
				return
			}
			dev := "/dev/" + d.Name
			e.Disk, e.Dir = d.Name, dev
			e.Mount = model.Mount{Source: s.Target, Point: dev, Type: iscsiType, Options: map[string]string{
				"addr": s.Conns[i].Portal.Addr().Unmap().String(), "port": strconv.Itoa(int(s.Conns[i].Portal.Port()))}}
		}
	}
}

// iscsiType stands in place of a file system type if the client has a disk.
const iscsiType = "iscsi"

// requests samples the client's request counters and no connection. Before a load runs, all
// requests are foreign.
func (e *Export) requests() measure.Watch {
	w := e.clientWatch(netip.Addr{})
	return measure.Watch{Mount: w.Mount, Share: w.Share, Disk: w.Disk}
}

// clientWatch says what to sample at the client of this export.
func (e *Export) clientWatch(server netip.Addr) measure.Watch {
	w := measure.Watch{Addrs: []netip.Addr{server}, Ports: []uint16{e.port()}, Disk: e.Disk}
	switch {
	case strings.HasPrefix(e.Mount.Type, "nfs"):
		w.Mount = e.Mount.Point
	case e.Mount.Type == "cifs" || e.Mount.Type == "smb3":
		w.Share = e.Mount.Source
	}
	return w
}

// serverWatch says what to sample at the server of this export.
func (e *Export) serverWatch(client netip.Addr) measure.Watch {
	return measure.Watch{Addrs: []netip.Addr{client}, Ports: []uint16{e.port()}, FindOwners: true, Serves: &measure.Serving{Disk: e.Device}}
}

// port is that of the mount, or the protocol's default.
func (e *Export) port() uint16 {
	if n, err := strconv.ParseUint(e.Mount.Options["port"], 10, 16); err == nil && n > 0 {
		return uint16(n)
	}
	switch {
	case strings.HasPrefix(e.Mount.Type, "nfs"):
		return 2049
	case e.Mount.Type == iscsiType:
		return 3260
	}
	return 445
}

// servedDir is the server's name of what is mounted: HOST:/DIR of NFS, and the
// share of //HOST/SHARE as a directory.
func servedDir(m model.Mount) (string, bool) {
	switch m.Type {
	case "nfs", "nfs4":
		i := strings.LastIndex(m.Source, ":/")
		if i < 0 {
			return "", false
		}
		return path.Clean(m.Source[i+1:]), true
	case "cifs", "smb3":
		parts := strings.SplitN(strings.TrimLeft(m.Source, "/"), "/", 2)
		if len(parts) != 2 {
			return "", false
		}
		return path.Clean("/" + parts[1]), true
	}
	return "", false
}

// below is the part of p below dir; false: p is not below dir.
func below(p, dir string) (string, bool) {
	if dir == "/" {
		return strings.TrimPrefix(p, "/"), true
	}
	if p == dir {
		return "", true
	}
	return strings.CutPrefix(p, dir+"/")
}

// belowPseudo is below for a server whose NFSv4 root is a directory of its own
// (fsid=0, RFC 7530 section 7): what it serves as /share may be its
// /srv/share. It is used only if no mount matches by its full name.
func belowPseudo(p, served string) (string, bool) {
	if served == "/" {
		return "", false
	}
	_, rest, ok := strings.Cut(p+"/", served+"/")
	return strings.TrimSuffix(rest, "/"), ok
}

// lies returns the mount that a directory of a host is on.
func lies(f *model.Facts, dir string) (best model.Mount) {
	for _, m := range f.Mounts {
		if _, ok := below(path.Clean(dir), path.Clean(m.Point)); ok && len(m.Point) >= len(best.Point) {
			best = m
		}
	}
	return best
}

// inMemory reports whether a file system, or its block device, is in memory.
func inMemory(m model.Mount) bool {
	return m.Type == "tmpfs" || m.Type == "ramfs" ||
		strings.HasPrefix(m.Source, "/dev/ram") || strings.HasPrefix(m.Source, "/dev/zram")
}
