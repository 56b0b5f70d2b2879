package freebsd

import (
	"maps"
	"net/netip"
	"strings"

	"linerate/internal/systems/bsd"
)

// mounts are the file systems that come over the network: where "mount -p" has them, and what
// "nfsstat -m" (root's alone) says that NFS agreed on.
func mounts(r bsd.Reading) {
	nfs := agreed(r)
	for _, line := range r.Lines("mounts", "which file systems come over the network") {
		m, ok := bsd.Tabled(line)
		switch {
		case !ok:
			r.Odd("mounts", line)
			continue
		case m.Type == "smbfs":
			m.Options["vers"] = "1.0" // its SMB has no other
			r.SMB(&m, netip.Addr{})
		case m.Type == "nfs":
			maps.Copy(m.Options, nfs[m.Point])
			bsd.NFS(&m)
			r.Served(&m, bsd.ServerOf(m.Source), bsd.PortOf(m.Options))
		}
		r.Mount(m)
	}
}

// agreed are the options of each mount of NFS, by its point: pairs of lines, "nas:/export on /mnt"
// and "nfsv3,tcp,…", of which retrans is the last: without it the line is cut, and so may be a number.
func agreed(r bsd.Reading) map[string]map[string]string {
	out := map[string]map[string]string{}
	point := ""
	for _, line := range r.Optional("nfs", "what the mounts of NFS agreed on with their servers: rsize, wsize, read-ahead") {
		switch _, on, ok := strings.Cut(line, " on /"); {
		case point != "" && strings.HasPrefix(line, "nfsv") && strings.Contains(line, ",retrans="):
			out[point], point = bsd.Options(line), ""
		case point == "" && ok:
			point = "/" + on
		default:
			r.Odd("nfs", line)
			point = ""
		}
	}
	if point != "" {
		r.Odd("nfs", "the end after "+point)
	}
	return out
}
