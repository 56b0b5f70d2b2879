package frame

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// private are the commands whose answers name other machines and people's directories; nothing in
// them is judged, so that a recording does without.
var private = []string{"mounts", "nfs", "nfsmounts", "smb", "exports", "nsmb"}

var (
	ofCluster = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]*)-[0-9]+$`) })
	macs      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){5}\b`) })
	addresses = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F:.]*|\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b`)
	})
	numbers = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(0x)?[0-9a-fA-F]{32,}\b|\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\bc[0-9]+t[0-9A-Fa-f]{16,}d[0-9]+([sp][0-9]+)?\b`)
	})
)

// Share is an answer as it may be shown to others: without what a login printed before it, host
// names, hardware addresses, public addresses, long identifiers, and the commands that name other
// machines. What stands for one thing is the same everywhere. Private addresses, names of interfaces
// and of data sets, and files of settings stay.
func Share(answer []byte) ([]byte, error) {
	frames, err := Parse(answer)
	if err != nil {
		return nil, err
	}
	h := hiding{map[string]string{}}
	host := strings.TrimSpace(frames["nodename"].Text)
	if host == "" || frames["nodename"].Code != 0 {
		return nil, fmt.Errorf("share the answer: uname -n did not name the host (exit code %d), so that its name cannot be taken out of the rest", frames["nodename"].Code)
	}
	short, _, _ := strings.Cut(host, ".")
	var out strings.Builder
	out.WriteString(first + "\n")
	n := 0
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		if slices.Contains(private, name) {
			continue
		}
		text := frames[name].Text
		text = otherNodes(text, short)
		text = strings.ReplaceAll(text, host, "host")
		if short != host && len(short) > 2 {
			text = regexp.MustCompile(`\b`+regexp.QuoteMeta(short)+`\b`).ReplaceAllString(text, "host")
		}
		text = macs().ReplaceAllStringFunc(text, func(s string) string { return h.as("02:00:00:00:00:%02x", s) })
		text = addresses().ReplaceAllStringFunc(text, h.address)
		text = numbers().ReplaceAllStringFunc(text, func(s string) string { return h.as("%032d", s) })
		fmt.Fprintf(&out, "begin %s %d %d\n%s\n", name, frames[name].Code, len(text), text)
		n++
	}
	fmt.Fprintf(&out, "%s%d\n", last, n)
	return []byte(out.String()), nil
}

// otherNodes hides the names of a cluster's other nodes, which differ from this one's by their number.
func otherNodes(text, host string) string {
	node := ofCluster().FindStringSubmatch(host)
	if node == nil {
		return text
	}
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(node[1])+`-[0-9]+\b`).ReplaceAllStringFunc(text, func(s string) string {
		if s == host {
			return s
		}
		return "host" + strings.TrimPrefix(s, node[1])
	})
}

// hiding has what each thing became.
type hiding struct{ became map[string]string }

func (h hiding) as(format, was string) string {
	if _, ok := h.became[was]; !ok {
		h.became[was] = fmt.Sprintf(format, len(h.became)+1)
	}
	return h.became[was]
}

func (h hiding) address(s string) string {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.IsPrivate() && a.Is4():
		return s // a time of day, or one that tells nothing
	case a.Is4() && (a.IsLinkLocalUnicast() || strings.HasPrefix(s, "255.") || strings.HasPrefix(s, "0.")):
		return s
	case a.Is4():
		return h.as("192.0.2.%d", s)
	case a.IsLinkLocalUnicast():
		return h.as("fe80::%x", s)
	}
	return h.as("2001:db8::%x", s)
}
