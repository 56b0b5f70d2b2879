package host

import (
	"fmt"
	"net/netip"
	"strings"
)

// Reach is how an agent gets to a host.
type Reach string

// The ways to a host.
const (
	Local Reach = "local"
	Lab   Reach = "lab"
	SSH   Reach = "ssh"
	Site  Reach = "site" // its agent calls out, and a site's desk knows it
)

// Name is a host, or a place on one, as the user writes it.
type Name struct {
	Reach Reach
	User  string // SSH; empty leaves it to the user's ssh configuration
	Host  string // SSH, Lab, Site
	Lab   string // Lab; empty: the only lab that is up
	Site  string // Site; empty: the only site that is kept on this machine
	Path  string // absolute, except for Local, where it is as written; may be empty for the others
}

// maxName bounds a name; a path on Linux has at most 4096 bytes.
const maxName = 4096 + 512

// isUser and isHost: letters, digits, "_", "." and "-", and the first is neither "." nor "-".
func isUser(s string) bool { return isWord(s, 64) }
func isHost(s string) bool { return isWord(s, 253) }

func isWord(s string, most int) bool {
	const first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return s != "" && len(s) <= most && strings.Contains(first, s[:1]) && strings.Trim(s, first+".-") == ""
}

// ParseName reads "[user@]host[:/path]", "lab:[NAME/]host[:/path]",
// "site:[NAME/]host[:/path]" and local paths, which begin with "/", "./" or "../" (or are "." or ".."). An IPv6
// address as host stands in brackets. Whatever could be taken for an option or
// holds a control character is refused.
func ParseName(s string) (Name, error) {
	if s == "" || len(s) > maxName {
		return Name{}, fmt.Errorf("read host name: %d bytes, want 1 to %d", len(s), maxName)
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return Name{}, fmt.Errorf("read host name %q: control characters are not allowed", s)
		}
	}
	if strings.HasPrefix(s, "-") {
		return Name{}, fmt.Errorf("read host name %q: looks like an option; write ./%s for a file", s, s)
	}
	if s == "." || s == ".." || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") {
		return Name{Reach: Local, Path: s}, nil
	}
	if rest, ok := strings.CutPrefix(s, "lab:"); ok {
		n := Name{Reach: Lab}
		var err error
		n.Lab, n.Host, n.Path, err = parseWithin(s, rest, "lab")
		return n, err
	}
	if rest, ok := strings.CutPrefix(s, "site:"); ok {
		n := Name{Reach: Site}
		var err error
		n.Site, n.Host, n.Path, err = parseWithin(s, rest, "site")
		return n, err
	}
	return parseSSH(s)
}

// parseWithin reads "[NAME/]host[:/path]", a host within a lab or a site.
func parseWithin(whole, s, kind string) (within, host, path string, err error) {
	host, path, hasPath := strings.Cut(s, ":")
	if hasPath && !strings.HasPrefix(path, "/") {
		return "", "", "", fmt.Errorf("read host name %q: the path must be absolute, %s:host:/path", whole, kind)
	}
	if name, rest, ok := strings.Cut(host, "/"); ok {
		if !isHost(name) {
			return "", "", "", fmt.Errorf("read host name %q: %q is no name of a %s", whole, name, kind)
		}
		within, host = name, rest
	}
	if !isHost(host) {
		return "", "", "", fmt.Errorf("read host name %q: %q is no name of a %s host", whole, host, kind)
	}
	return within, host, path, nil
}

func parseSSH(s string) (Name, error) {
	n := Name{Reach: SSH}
	rest := s
	// A path may hold "@" and ":"; what comes before it may not hold "/".
	head, _, _ := strings.Cut(rest, "/")
	if user, _, ok := strings.Cut(head, "@"); ok {
		if !isUser(user) {
			return Name{}, fmt.Errorf("read host name %q: %q is no user name", s, user)
		}
		n.User, rest = user, rest[len(user)+1:]
	}
	if inner, ok := strings.CutPrefix(rest, "["); ok {
		addr, after, ok := strings.Cut(inner, "]")
		a, err := netip.ParseAddr(addr)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" && !isHost(a.Zone()) {
			return Name{}, fmt.Errorf("read host name %q: brackets are for an IPv6 address", s)
		}
		n.Host, rest = addr, after
	} else {
		host, _, _ := strings.Cut(rest, ":")
		if !isHost(host) {
			return Name{}, fmt.Errorf("read host name %q: %q is no host name; write ./%s for a file", s, host, s)
		}
		n.Host, rest = host, rest[len(host):]
	}
	if rest == "" {
		return n, nil
	}
	if !strings.HasPrefix(rest, ":/") {
		return Name{}, fmt.Errorf("read host name %q: the path must be absolute, host:/path", s)
	}
	n.Path = rest[1:]
	return n, nil
}

// String writes the name as ParseName reads it.
func (n Name) String() string {
	if n.Reach == Local {
		return n.Path
	}
	s := n.Host
	if strings.Contains(s, ":") {
		s = "[" + s + "]"
	}
	switch {
	case n.Reach == Lab && n.Lab != "":
		s = "lab:" + n.Lab + "/" + s
	case n.Reach == Lab:
		s = "lab:" + s
	case n.Reach == Site && n.Site != "":
		s = "site:" + n.Site + "/" + s
	case n.Reach == Site:
		s = "site:" + s
	case n.User != "":
		s = n.User + "@" + s
	}
	if n.Path != "" {
		s += ":" + n.Path
	}
	return s
}
