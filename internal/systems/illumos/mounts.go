package illumos

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/bsd"
)

// mounts are the file systems that come over the network: where /etc/mnttab has them, and what
// "nfsstat -m" says that NFS agreed on. No command shows the dialect of a mount of SMB.
func (r reading) mounts() {
	b := r.Reading
	nfs := agreed(b)
	for _, line := range b.Lines("mounts", "which file systems come over the network") {
		w := strings.Split(line, "\t") // resource, mount point, type, options, time (mnttab(5))
		if len(w) != 5 || !strings.HasPrefix(w[1], "/") {
			b.Odd("mounts", line)
			continue
		}
		m := model.Mount{Source: w[0], Point: w[1], Type: w[2], Options: bsd.Options(w[3])}
		switch m.Type {
		case "nfs":
			b.Served(of(b, &m, nfs[m.Point]))
		case "smbfs":
			b.SMB(&m, netip.Addr{})
		}
		b.Mount(m)
	}
}

// of gives a mount of NFS the options that are in effect. What was asked for is no part of them: a
// server may have granted less.
func of(b bsd.Reading, m *model.Mount, now export) (*model.Mount, netip.Addr, uint16) {
	port := bsd.PortOf(m.Options)
	for _, asked := range []string{"vers", "proto", "rsize", "wsize", "hard", "soft", "sec", "timeo", "retrans"} {
		delete(m.Options, asked)
	}
	if now.options["timeo"] == "" { // the last of its line, which was cut without it
		b.Blind("nfsmounts", "what the mount "+m.Point+" agreed on with its server", "nfsstat -m does not tell of it")
	} else {
		maps.Copy(m.Options, now.options)
	}
	bsd.NFS(m)
	server := bsd.ServerOf(m.Source)
	if strings.Contains(m.Source, ",") { // several servers, of which one serves now
		server = bsd.ServerOf(now.server + ":/")
	}
	return m, server, port
}

// export is what is known of a mount of NFS.
type export struct {
	options map[string]string
	server  string // where there are several: the one that serves now
}

// agreed are the mounts of NFS by their points, each with lines behind its first one
// (usr/src/cmd/fs.d/nfs/nfsstat/nfsstat.c, mi_print): "/mnt from nas:/export", " Flags:", " Attr
// cache:", and more of others.
func agreed(b bsd.Reading) map[string]export {
	out := map[string]export{}
	point := ""
	for _, line := range b.Optional("nfsmounts", "what the mounts of NFS agreed on with their servers: rsize, wsize, protocol") {
		what, value, labelled := strings.Cut(strings.TrimSpace(line), ":\t")
		at := strings.LastIndex(line, " from ")
		switch {
		case strings.HasPrefix(line, "/") && at > 0:
			point = line[:at]
			out[point] = export{options: map[string]string{}}
		case strings.TrimSpace(line) == "":
		case point == "" || !strings.HasPrefix(line, " "):
			b.Odd("nfsmounts", line)
		case labelled && slices.Contains([]string{"Flags", "Attr cache"}, what):
			maps.Copy(out[point].options, bsd.Options(value))
		case labelled && what == "Failover":
			out[point] = export{out[point].options, bsd.Options(value)["currserver"]}
		}
	}
	return out
}
