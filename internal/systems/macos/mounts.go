package macos

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/bsd"
)

// mounts are the file systems that come over the network: where "mount" has them, what "nfsstat -m"
// says that NFS agreed on, and "smbutil statshares" SMB.
func mounts(r bsd.Reading) {
	nfs, smb := agreed(r), shares(r)
	for _, line := range r.Lines("mounts", "which file systems come over the network") {
		m, ok := bsd.Listed(line)
		if !ok {
			r.Odd("mounts", line)
			continue
		}
		switch m.Type {
		case "nfs":
			of := nfs[m.Point]
			maps.Copy(m.Options, of.options)
			bsd.NFS(&m)
			r.Served(&m, of.server, bsd.PortOf(m.Options))
		case "smbfs":
			attributes(r, &m, smb)
			r.SMB(&m, serverOf(m.Source))
		}
		r.Mount(m)
	}
}

// export is what is known of a mount of NFS.
type export struct {
	options map[string]string
	server  netip.Addr // invalid: a name with several addresses, or none that was shown
}

// agreed are the mounts of NFS by their points. Of each, "nfsstat -m" shows first what was asked
// for and then, under "Current mount parameters", what is in effect.
func agreed(r bsd.Reading) map[string]export {
	out := map[string]export{}
	point, current := "", false
	for _, line := range r.Optional("nfs", "what the mounts of NFS agreed on with their servers: rsize, wsize, read-ahead") {
		at, _, heads := strings.Cut(line, " from ")
		text := strings.TrimSpace(line)
		of := out[point]
		switch params, ok := strings.CutPrefix(text, "NFS parameters: "); {
		case heads && strings.HasPrefix(line, "/"):
			point, current = at, false
			out[point] = export{options: map[string]string{}}
		case strings.HasPrefix(text, "-- "):
			current = text == "-- Current mount parameters:"
		case point == "" && text != "":
			r.Odd("nfs", line)
		case current && ok:
			maps.Copy(of.options, bsd.Options(params))
		case current && strings.Contains(text, " @ "):
			of.server = location(text) // the last is that of the current location
			out[point] = of
		}
	}
	for _, point := range slices.Sorted(maps.Keys(out)) {
		if out[point].options["rsize"] == "" {
			r.Odd("nfs", "what is in effect at "+point)
		}
	}
	return out
}

// location is the only address of "/export @ nas (192.0.2.7)"; invalid: there are several.
func location(text string) netip.Addr {
	_, list, _ := strings.Cut(text, " (")
	a, err := netip.ParseAddr(strings.TrimSuffix(list, ")"))
	if err != nil {
		return netip.Addr{}
	}
	return a
}

// share is what smbutil says of one.
type share struct {
	name       string
	attributes map[string]string
}

// shares are those of "smbutil statshares -a": the name of a share stands at the beginning of its
// line, its attributes behind spaces.
func shares(r bsd.Reading) (out []share) {
	for _, line := range r.Optional("smb", "what the mounts of SMB agreed on with their servers: dialect, signing, encryption") {
		w := strings.Fields(line)
		switch {
		case len(w) == 0 || strings.HasPrefix(line, "==") || strings.HasPrefix(line, "--") || len(w) == 4 && w[0] == "SHARE" && w[1] == "ATTRIBUTE":
		case line[0] != ' ' && line[0] != '\t':
			out = append(out, share{strings.TrimSpace(line), map[string]string{}})
		case len(out) == 0 || len(w) < 2:
			r.Odd("smb", line)
		default:
			out[len(out)-1].attributes[w[0]] = w[1]
		}
	}
	return out
}

// attributes gives a mount of SMB what smbutil says of its share, by the names that Linux has.
// Shares of one name at several servers are told apart by that of the server; where that does not
// do it, the mount has none of them.
func attributes(r bsd.Reading, m *model.Mount, all []share) {
	name, _ := url.PathUnescape(m.Source[strings.LastIndexByte(m.Source, '/')+1:])
	var of []share
	for _, s := range all {
		if s.name == name {
			of = append(of, s)
		}
	}
	if len(of) > 1 {
		var here []share
		for _, s := range of {
			if server := s.attributes["SERVER_NAME"]; server != "" && strings.Contains(m.Source, "@"+server+"/") || strings.HasPrefix(m.Source, "//"+server+"/") {
				here = append(here, s)
			}
		}
		of = here
	}
	if len(of) != 1 {
		r.Blind("smb", "what the mount "+m.Point+" agreed on with its server", "smbutil statshares -a names no share of it, or several")
		return
	}
	at := of[0].attributes
	m.Options["vers"] = map[string]string{"SMB_1": "1.0", "SMB_2.002": "2.0", "SMB_2.1": "2.1", "SMB_3.0": "3.0", "SMB_3.02": "3.0.2", "SMB_3.0.2": "3.0.2", "SMB_3.1.1": "3.1.1"}[at["SMB_VERSION"]]
	if m.Options["vers"] == "" {
		r.Odd("smb", "SMB_VERSION "+at["SMB_VERSION"])
	}
	for attribute, option := range map[string]string{"SIGNING_ON": "sign", "ENCRYPTION_REQUIRED": "seal"} {
		if at[attribute] == "TRUE" {
			m.Options[option] = ""
		}
	}
}

// serverOf is the address in "//anna@192.0.2.7/share"; invalid where a name stands there.
func serverOf(source string) netip.Addr {
	host, _, _ := strings.Cut(strings.TrimPrefix(source, "//"), "/")
	if _, after, ok := strings.Cut(host, "@"); ok {
		host = after
	}
	if at, err := netip.ParseAddrPort(host); err == nil {
		return at.Addr()
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return a
}
