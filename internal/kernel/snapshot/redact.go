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
// boot id, MACs in every form, public addresses, interface ids of IPv6, serial numbers, UUIDs and
// world wide names, servers, users and domains of mounts, iSCSI names, processes that no rule
// names, mounts that are no storage, and files that Kept does not list. The same name gets the
// same substitute everywhere, and addresses of one /24 (IPv6: /64) stay in one network, so that
// what is wrong with the host stays visible. What stays is listed by Kept.
func Redact(files map[string][]byte, names Names) map[string][]byte {
	return redactBy(newForms(), files, names)
}

// redactBy is Redact with forms that were compiled once.
func redactBy(f forms, files map[string][]byte, names Names) map[string][]byte {
	r := newRedactor(f)
	r.host = strings.TrimSpace(string(files["proc/sys/kernel/hostname"]))
	kept := map[string][]byte{}
	for name, text := range files {
		if !dropped(name, text) && isKept(name) && (names == KeepNames || !namesOnly(name)) {
			kept[name] = text
		}
	}
	order := slices.Sorted(maps.Keys(kept))
	for _, name := range order {
		r.gather(name, kept[name])
	}
	r.learned()
	out := map[string][]byte{}
	for _, name := range order {
		out[r.text(name, true)] = []byte(r.file(name, kept[name]))
	}
	if names == KeepNames {
		return out
	}
	h, hidden := newHide(out), map[string][]byte{}
	for name, text := range out {
		hidden[h.in(name)] = []byte(h.in(string(text)))
	}
	return hidden
}

// file is the text of a file without what identifies the host.
func (r *redactor) file(name string, raw []byte) string {
	text := string(raw)
	if strings.HasSuffix(name, "/config") && strings.HasPrefix(name, "sys/bus/pci/") {
		// The extended configuration space holds a serial number derived from the MAC.
		return hex.EncodeToString(raw[:min(256, len(raw))]) + "\n"
	}
	switch name {
	case "proc/sys/kernel/hostname":
		return "host\n"
	case "proc/sys/kernel/random/boot_id":
		return "00000000-0000-4000-8000-000000000000\n"
	case "proc/sys/kernel/osrelease":
		return text
	case hostFilesFile:
		return r.hostFiles(text)
	case "proc/self/mountinfo":
		text = r.mounts(text)
	case "etc/fstab":
		text = askedOnly(text)
	case "proc/fs/cifs/DebugData":
		text = r.sessions(text)
	}
	switch {
	case identityFile(name):
		if s := strings.TrimSpace(text); s != "" {
			return r.serial(s) + "\n"
		}
	case strings.HasSuffix(name, "/mountinfo"):
		text = r.mounts(text)
	}
	return r.text(text, name == portsFile)
}

// sessions takes servers, shares and domains out of what the kernel's SMB client tells.
func (r *redactor) sessions(s string) string {
	s = regexp.MustCompile(`\b(Hostname|Domain|User|Cred User|ClientGUID|NOS|OS|SPN|DNS name): *[^\s]+`).ReplaceAllString(s, "$1: x")
	s = regexp.MustCompile(`\\\\[^\\\s]+\\`).ReplaceAllString(s, `\\server\`)
	return regexp.MustCompile(`(?m)^(\s*[0-9]+\) Name: )(\S+)`).ReplaceAllStringFunc(s, func(line string) string {
		at := strings.LastIndex(line, " ") + 1
		if _, err := netip.ParseAddr(line[at:]); err == nil {
			return line
		}
		return line[:at] + "server"
	})
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
			m[name] = r.text(r.hostless(text), false)
		}
	}
	b, err := json.MarshalIndent(h, "", "\t")
	if err != nil {
		return ""
	}
	return string(b) + "\n"
}

type redactor struct {
	host    string
	forms   forms
	macs    map[string]string
	nets    map[netip.Prefix]int
	iqns    map[string]string
	numbers map[string]int
	known   map[string]string // words that are replaced wherever they stand
	words   *strings.Replacer
}

func newRedactor(f forms) *redactor {
	return &redactor{
		forms: f, macs: map[string]string{}, nets: map[netip.Prefix]int{}, iqns: map[string]string{},
		numbers: map[string]int{}, known: map[string]string{}, words: strings.NewReplacer(),
	}
}

// text replaces names within s. In driver texts and file names a dotted quad is a version, not an
// address.
func (r *redactor) text(s string, noAddrs bool) string {
	s = r.ids(s)
	if noAddrs {
		return s
	}
	s = r.forms.ip4.ReplaceAllStringFunc(s, r.addr)
	return r.forms.ip6.ReplaceAllStringFunc(s, r.addr)
}

// hostless replaces the host's own name in a path or source. Elsewhere the name stays, since it
// may be that of a file of /proc, such as "vm".
func (r *redactor) hostless(s string) string {
	if len(r.host) < 2 || r.host == "localhost" || r.host == "(none)" {
		return s
	}
	whole, err := regexp.Compile(`\b` + regexp.QuoteMeta(r.host) + `\b(?:\.[A-Za-z][A-Za-z0-9-]*)*`)
	if err != nil { // a name that is not UTF-8
		return strings.ReplaceAll(s, r.host, "host")
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
