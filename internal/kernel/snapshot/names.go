package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"linerate/internal/kernel"
)

// Names tells what becomes of names that people gave: of interfaces, mounts, volumes,
// pools and services.
type Names int

// Names are kept, since they help who reads a recording, or replaced.
const (
	KeepNames Names = iota
	HideNames
)

// namesOnly are recorded answers that are little else than names that people gave; with
// HideNames they are left out.
func namesOnly(name string) bool {
	return name == hostFilesFile || name == firewallFile || strings.HasPrefix(name, "proc/fs/cifs/")
}

// usual are names that the kernel, udev and the file hierarchy give.
var usual = regexp.MustCompile(`^(?:all|default|(?:lo|eth|en[opsx]|eno|ib|bond|br|wlan|team|dummy|veth|vlan|sit|tun|tap|docker|virbr|macvlan|wg)[0-9]*(?:[a-z][0-9]+)*(?:[.@:][0-9]+)?` +
	`|mnt|srv|media|home|export|exports|data|net|nas|storage|var|usr|opt|lib|boot|tmp|run|dev|sys|proc|root|etc|efi|` +
	`(?:sd|vd|hd|xvd)[a-z]+[0-9]*|nvme[0-9]+n[0-9]+(?:p[0-9]+)?|dm-[0-9]+|md[0-9]+|mpath[a-z]+|loop[0-9]+|mirror.*|raidz.*|draid.*|disk[0-9]+|serial-[0-9]+|` +
	`.*\.(?:slice|mount|socket|target)|user-[0-9]+\.slice|session-.*|init|host|server|[0-9:.]*|.)$`)

// hide replaces the names that people gave, in names of files and in texts alike.
type hide struct {
	instead map[string]string
	words   *regexp.Regexp
}

// newHide gathers the names from where they stand.
func newHide(files map[string][]byte) hide {
	h := hide{instead: map[string]string{}}
	keys := regexp.MustCompile(`"([a-z_]+)":`)
	taken := map[string]bool{} // by the kernel, at places where nobody names anything
	add := func(names ...string) {
		for _, n := range names {
			if !usual.MatchString(n) && h.instead[n] == "" {
				h.instead[n] = fmt.Sprintf("name%d", len(h.instead)+1)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := string(files[name])
		given := givenIn(name)
		add(given...)
		for _, part := range strings.Split(strings.TrimRight(name, linkMark+denyMark), "/") {
			if !slices.Contains(given, part) {
				taken[part] = true
			}
		}
		add(namesOf(name, text)...)
		if strings.HasPrefix(name, "netlink/") && name != portsFile {
			for _, key := range keys.FindAllStringSubmatch(text, -1) {
				taken[key[1]] = true
			}
		}
	}
	maps.DeleteFunc(h.instead, func(n, _ string) bool { return taken[n] })
	if len(h.instead) == 0 {
		return h
	}
	names := slices.SortedFunc(maps.Keys(h.instead), func(a, b string) int { return len(b) - len(a) })
	for i := range names {
		// To a regular expression every byte that is no UTF-8 is U+FFFD.
		names[i] = regexp.QuoteMeta(string([]rune(names[i])))
	}
	h.words = regexp.MustCompile(`(?:` + strings.Join(names, "|") + `)`)
	return h
}

// givenIn are the parts of a file's name that somebody gave.
func givenIn(name string) []string {
	p := strings.Split(strings.TrimRight(name, linkMark+denyMark), "/")
	for prefix, at := range map[string]int{
		"sys/class/net/": 3, "proc/net/bonding/": 3, "proc/sys/net/ipv4/conf/": 5, "proc/sys/net/ipv6/conf/": 5, "proc/sys/net/ipv4/neigh/": 5,
		"proc/spl/kstat/zfs/": 4, "dev/mapper/": 2, "dev/disk/by-label/": 3,
	} {
		if strings.HasPrefix(name, prefix) && len(p) > at && (prefix != "proc/spl/kstat/zfs/" || len(p) > at+1) {
			return p[at : at+1]
		}
	}
	if strings.HasPrefix(name, "sys/fs/cgroup/") && len(p) > 3 {
		return p[3 : len(p)-1]
	}
	if p[0] == "mnt" || p[0] == "srv" || p[0] == "home" {
		return p[1:]
	}
	return nil
}

// namesOf are the names that a text holds.
func namesOf(name, text string) (out []string) {
	parts := func(paths ...string) {
		for _, p := range paths {
			out = append(out, strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == ':' })...)
		}
	}
	switch {
	case name == linksFile:
		var links []kernel.Link
		_ = json.Unmarshal([]byte(text), &links) // what is no list of links has no names
		for _, l := range links {
			out = append(out, l.Name)
		}
	case strings.HasSuffix(name, "/mountinfo"), name == "etc/fstab":
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) > 4 && (within(f[4], "/proc") || within(f[4], "/sys") || within(f[4], "/dev") || within(f[4], "/run")) {
				continue // the kernel's own
			}
			for _, f := range f {
				if strings.ContainsRune(f, '/') && !strings.ContainsRune(f, '=') {
					parts(f)
				}
			}
		}
	case strings.HasSuffix(name, "/cgroup"):
		parts(strings.ReplaceAll(text, "\n", "/"))
	case strings.HasSuffix(name, "/dm/name"):
		out = append(out, strings.TrimSpace(text))
	case strings.HasPrefix(name, "tools/"):
		for line := range strings.Lines(text) {
			first, _, _ := strings.Cut(line, "\t")
			if name == toolFile(kernel.PoolDevices) {
				first = strings.TrimSpace(line)
			}
			parts(strings.SplitN(first, "\t", 2)[0])
		}
	case path.Base(name) == "ifalias":
		out = append(out, strings.TrimSpace(text))
	}
	return out
}

// in replaces whole names within a text.
func (h hide) in(s string) string {
	if h.words == nil {
		return s
	}
	var out strings.Builder
	for s != "" {
		at := h.words.FindStringIndex(s)
		if at == nil {
			break
		}
		// A name within a longer word is another word.
		if at[0] > 0 && word(s[at[0]-1]) || at[1] < len(s) && word(s[at[1]]) {
			out.WriteString(s[:at[0]+1])
			s = s[at[0]+1:]
			if s != "" && word(s[0]) {
				n := 0
				for n < len(s) && word(s[n]) {
					n++
				}
				out.WriteString(s[:n])
				s = s[n:]
			}
			continue
		}
		out.WriteString(s[:at[0]] + cmp.Or(h.instead[s[at[0]:at[1]]], "name0"))
		s = s[at[1]:]
	}
	return out.String() + s
}

// within tells whether a path is a folder or lies below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
