package loop

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"linerate/internal/model"
)

// Export is a directory of the server and, where the client has mounted it,
// the same directory there.
type Export struct {
	Path  string      // on the server
	Mount model.Mount // of the client; its Point is empty where there is none
	Dir   string      // on the client
	File  string      // to read, relative to both; empty: the largest there is
	RAM   bool        // the server keeps it in memory
}

// FindExport looks through the facts of both ends for the client's mount of a
// directory of the server, which has these addresses too.
func FindExport(client, server *model.Facts, dir string, also ...netip.Addr) Export {
	e := Export{Path: path.Clean(dir), RAM: inMemory(server, dir)}
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
		// Of two that fit the deeper one, and the later where one hides another.
		if rest, ok := below(path.Clean(dir), served); ok && len(served) >= len(deepest) {
			e.Mount, e.Dir, e.Path, deepest = m, path.Join(m.Point, rest), path.Clean(dir), served
		} else if _, ok := below(served, e.Path); ok && e.Mount.Point == "" {
			e.Mount, e.Dir, e.Path = m, m.Point, served
		} else if rest, ok := belowPseudo(path.Clean(dir), served); ok && e.Mount.Point == "" {
			e.Mount, e.Dir = m, path.Join(m.Point, rest)
		}
	}
	return e
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

// below is what p has beyond dir; false: it lies elsewhere.
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
// /srv/share. It only helps where no mount fits by its whole name.
func belowPseudo(p, served string) (string, bool) {
	if served == "/" {
		return "", false
	}
	_, rest, ok := strings.Cut(p+"/", served+"/")
	return strings.TrimSuffix(rest, "/"), ok
}

// inMemory tells whether a directory lies on a file system or a block device
// that is memory.
func inMemory(f *model.Facts, dir string) bool {
	var best model.Mount
	for _, m := range f.Mounts {
		if _, ok := below(path.Clean(dir), path.Clean(m.Point)); ok && len(m.Point) >= len(best.Point) {
			best = m
		}
	}
	return best.Type == "tmpfs" || best.Type == "ramfs" ||
		strings.HasPrefix(best.Source, "/dev/ram") || strings.HasPrefix(best.Source, "/dev/zram")
}
