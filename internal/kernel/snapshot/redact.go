package snapshot

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
)

// Redact returns a copy of a recording without what identifies the host or its owner: host name,
// boot id, MACs, public addresses, servers, users and domains of mounts, iSCSI names, processes
// that no rule names, and mounts that are no storage. The same name gets the same substitute
// everywhere, and addresses of one /24 (IPv6: /64) stay in one network, so that what is wrong
// with the host stays visible. Paths and private addresses are kept.
func Redact(files map[string][]byte) map[string][]byte {
	r := redactor{macs: map[string]string{}, nets: map[netip.Prefix]int{}, iqns: map[string]string{}}
	r.name = strings.TrimSpace(string(files["proc/sys/kernel/hostname"]))
	out := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if dropped(name, files[name]) {
			continue
		}
		text := string(files[name])
		switch name {
		case "proc/sys/kernel/hostname":
			text = "host\n"
		case "proc/sys/kernel/random/boot_id":
			text = "00000000-0000-4000-8000-000000000000\n"
		case "proc/self/mountinfo":
			text = r.mounts(text)
		case "etc/fstab":
			text = askedOnly(text)
		}
		if strings.HasSuffix(name, "/config") && strings.HasPrefix(name, "sys/bus/pci/") {
			// The extended configuration space holds a serial number derived from the MAC.
			text = hex.EncodeToString(files[name][:min(256, len(files[name]))]) + "\n"
		}
		switch name {
		case "proc/sys/kernel/osrelease":
		case hostFilesFile:
			text = r.hostFiles(text)
		default:
			text = r.text(text, name == portsFile)
		}
		out[r.text(name, true)] = []byte(text)
	}
	return out
}

// dropped are processes that no rule names, and files that are full of names.
func dropped(name string, text []byte) bool {
	switch name {
	case "proc/self/mountstats", "proc/fs/nfsd/exports":
		return true // names servers and clients throughout, and no rule reads it
	}
	pid, ok := strings.CutSuffix(name, "/comm")
	if !ok {
		return false
	}
	if _, err := strconv.Atoi(strings.TrimPrefix(pid, "proc/")); err != nil {
		return false
	}
	return !slices.Contains(Services(), strings.TrimSpace(string(text)))
}

// Services are the processes that rules name: those that move interrupts, those that join paths,
// and those that a storage server seldom needs.
func Services() []string {
	return []string{
		"irqbalance", "multipathd", "iscsid", "tuned", "lldpd",
		"avahi-daemon", "bluetoothd", "cupsd", "ModemManager", "packagekitd", "gdm", "gdm3", "lightdm", "sddm", "gnome-shell", "Xorg", "tracker-miner-f",
	}
}

// hostFiles redacts files as text, not as JSON, whose escapes hide where a name begins.
func (r *redactor) hostFiles(s string) string {
	var h model.HostFiles
	if json.Unmarshal([]byte(s), &h) != nil {
		return "" // nothing that could not be looked through goes out
	}
	for _, m := range []map[string]string{h.Files, h.Unread} {
		for name, text := range m {
			m[name] = r.text(text, false)
		}
	}
	b, err := json.MarshalIndent(h, "", "\t")
	if err != nil {
		return ""
	}
	return string(b) + "\n"
}

type redactor struct {
	name string
	macs map[string]string
	nets map[netip.Prefix]int
	iqns map[string]string
}

// text replaces names within s. In driver texts and file names a dotted quad is a version, not an
// address.
func (r *redactor) text(s string, noAddrs bool) string {
	s = regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`).ReplaceAllStringFunc(s, r.mac)
	s = regexp.MustCompile(`(?:iqn\.[0-9]{4}-[0-9]{2}\.|eui\.|naa\.)[^\s,"/]+`).ReplaceAllStringFunc(s, r.iqn)
	if noAddrs {
		return s
	}
	s = regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`).ReplaceAllStringFunc(s, r.addr)
	return regexp.MustCompile(`\b[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7}`).ReplaceAllStringFunc(s, r.addr)
}

func (r *redactor) mac(s string) string {
	s = strings.ToLower(s)
	if s == "00:00:00:00:00:00" || s == "ff:ff:ff:ff:ff:ff" {
		return s // means none, or all
	}
	if r.macs[s] == "" {
		n := len(r.macs) + 1
		r.macs[s] = fmt.Sprintf("02:00:5e:%02x:%02x:%02x", n>>16&255, n>>8&255, n&255)
	}
	return r.macs[s]
}

func (r *redactor) iqn(s string) string {
	if r.iqns[s] == "" {
		r.iqns[s] = fmt.Sprintf("iqn.2001-04.com.example:t%d", len(r.iqns)+1)
	}
	return r.iqns[s]
}

// addr keeps private and special addresses, and what is no address. Others are mapped to
// 198.18.0.0/15 (RFC 2544) and 2001:db8::/32 (RFC 3849).
func (r *redactor) addr(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.IsGlobalUnicast() || a.IsPrivate() || isExample(a) {
		return s
	}
	bits := 24
	if a.Is6() && !a.Is4In6() {
		bits = 64
	}
	a = a.Unmap()
	net, err := a.Prefix(bits)
	if err != nil {
		return s
	}
	n, ok := r.nets[net]
	if !ok {
		n = len(r.nets)
		r.nets[net] = n
	}
	if b := a.AsSlice(); a.Is4() {
		return netip.AddrFrom4([4]byte{198, 18 + byte(n>>8)&1, byte(n), b[3]}).String()
	} else {
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 0, byte(n >> 8), byte(n), 8: b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]}).String()
	}
}

func isExample(a netip.Addr) bool {
	for _, p := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15", "100.64.0.0/10", "2001:db8::/32"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

// hostless replaces the host's own name in a path or source. Elsewhere the name stays, since it
// may be that of a file of /proc, such as "vm".
func (r *redactor) hostless(s string) string {
	if len(r.name) < 2 || r.name == "localhost" || r.name == "(none)" {
		return s
	}
	whole, err := regexp.Compile(`\b` + regexp.QuoteMeta(r.name) + `\b`)
	if err != nil { // a name that is not UTF-8
		return strings.ReplaceAll(s, r.name, "host")
	}
	return whole.ReplaceAllString(s, "host")
}

// mounts drops the lines of mounts that are no storage, and the names of servers, users and
// domains in the rest.
func (r *redactor) mounts(s string) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		if left, right, ok := strings.Cut(line, " - "); ok {
			kind, rest, _ := strings.Cut(right, " ")
			if slices.Contains([]string{"overlay", "tmpfs", "squashfs", "autofs", "fuse"}, kind) || strings.HasPrefix(kind, "fuse.") {
				continue
			}
			source, options, _ := strings.Cut(rest, " ")
			if kind == "nfs" || kind == "nfs4" || kind == "cifs" || kind == "smb3" {
				source = serverless(source)
			}
			line = r.hostless(left) + " - " + kind + " " + r.hostless(source)
			if options != "" {
				line += " " + options
			} else if !strings.HasSuffix(line, "\n") {
				line += "\n"
			}
		}
		line = regexp.MustCompile(`\b(username|domain|user|cruid|mountaddr)=[^,\s]*`).ReplaceAllString(line, "$1=x")
		out.WriteString(line)
	}
	return out.String()
}

// askedOnly keeps of fstab which network mounts request how many connections; the rest names
// servers and holds passwords.
func askedOnly(s string) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(f[0], "#") || !slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3"}, f[2]) {
			continue
		}
		kept := []string{"rw"}
		for o := range strings.SplitSeq(f[3], ",") {
			if name, _, _ := strings.Cut(o, "="); slices.Contains([]string{"nconnect", "max_channels", "multichannel"}, name) {
				kept = append(kept, o)
			}
		}
		fmt.Fprintf(&out, "%s %s %s %s\n", serverless(f[0]), f[1], f[2], strings.Join(kept, ","))
	}
	return out.String()
}

// serverless replaces the server in "server:/path" and "//server/share" unless it is an address.
func serverless(source string) string {
	before, rest := "", source
	if r, ok := strings.CutPrefix(source, "//"); ok {
		before, rest = "//", r
	}
	end := strings.IndexAny(rest, "/")
	if before == "" {
		end = strings.Index(rest, ":/")
	}
	if end < 0 {
		return source
	}
	if _, err := netip.ParseAddr(strings.Trim(rest[:end], "[]")); err == nil {
		return source
	}
	return before + "server" + rest[end:]
}
