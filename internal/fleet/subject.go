package fleet

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Subjects, under "lr.1." and the site:
//
//	up.ID.live      what a host shows of itself, once a second
//	up.ID.event     what happened on it: started, a request that changed it, and by whom
//	up.ID.s.STREAM  its answers to the controller with this id
//	dn.ID.ro.METHOD requests that read
//	dn.ID.rw.METHOD requests that change, load or move
//	enrol.TOKEN.ask, enrol.TOKEN.answer
const prefix = "lr.1."

var (
	sitePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`) })
	hostName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$`) })
	labelKey    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`) })
	labelValue  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`) })
)

// CheckSite refuses what cannot be the name of a site.
func CheckSite(site string) error {
	if !sitePattern().MatchString(site) {
		return fmt.Errorf("site %q: want up to 32 small letters, digits and hyphens", site)
	}
	return nil
}

func upSubject(site, id, stream string) string { return prefix + site + ".up." + id + "." + stream }

func downSubject(site, id, method string, ro bool) string {
	kind := "rw."
	if ro {
		kind = "ro."
	}
	return prefix + site + ".dn." + id + "." + kind + method
}

// parseDown takes a subject of requests apart.
func parseDown(subject string) (site, id, method string, ro bool, err error) {
	rest, ok := strings.CutPrefix(subject, prefix)
	parts := strings.SplitN(rest, ".", 5)
	if !ok || len(parts) != 5 || parts[1] != "dn" || parts[3] != "ro" && parts[3] != "rw" || parts[4] == "" {
		return "", "", "", false, fmt.Errorf("read subject %q: not one of requests", printable(subject))
	}
	return parts[0], parts[2], parts[4], parts[3] == "ro", nil
}

// parseUp takes a subject of what hosts say apart; stream is "live", "event" or "s.STREAM".
func parseUp(subject string) (site, id, stream string, err error) {
	rest, ok := strings.CutPrefix(subject, prefix)
	parts := strings.SplitN(rest, ".", 4)
	if !ok || len(parts) != 4 || parts[1] != "up" || parts[3] == "" {
		return "", "", "", fmt.Errorf("read subject %q: not one of hosts", printable(subject))
	}
	return parts[0], parts[2], parts[3], nil
}

// printable is s without what could control a terminal, cut to a line.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\uFFFD' || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)
	return strings.ToValidUTF8(s[:min(len(s), 300)], "")
}
