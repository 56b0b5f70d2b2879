package guide

import (
	"fmt"
	"strconv"
	"strings"
)

// Release is the leading numbers of a kernel release, e.g. {6, 18, 44} of "6.18.44-generic". An
// empty Release is unknown.
type Release []int

// ParseRelease reads /proc/sys/kernel/osrelease. What follows the dotted numbers is ignored.
func ParseRelease(s string) (Release, error) {
	s = strings.TrimSpace(s)
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(s)
	}
	var out Release
	for _, part := range strings.Split(strings.TrimRight(s[:end], "."), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("parse kernel release %q: want numbers such as 6.18", s)
		}
		out = append(out, n)
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("parse kernel release %q: want numbers such as 6.18", s)
	}
	return out, nil
}

// before reports whether r is older than other; missing numbers count as zero.
func (r Release) before(other Release) bool {
	for i := range max(len(r), len(other)) {
		if a, b := r.at(i), other.at(i); a != b {
			return a < b
		}
	}
	return false
}

func (r Release) at(i int) int {
	if i < len(r) {
		return r[i]
	}
	return 0
}

// Range is a span of releases: "any", "before 6.16", "6.16 and later", or "4.20 to 6.5". The
// last form includes every release that begins with its second number (6.5.13).
type Range struct{ from, below Release }

// ParseRange parses a range.
func ParseRange(s string) (Range, error) {
	switch {
	case s == "any":
		return Range{}, nil
	case strings.HasPrefix(s, "before "):
		r, err := ParseRelease(strings.TrimPrefix(s, "before "))
		return Range{below: r}, err
	case strings.HasSuffix(s, " and later"):
		r, err := ParseRelease(strings.TrimSuffix(s, " and later"))
		return Range{from: r}, err
	}
	from, to, ok := strings.Cut(s, " to ")
	if !ok {
		return Range{}, fmt.Errorf(`parse kernel range %q: want any, "before X", "X and later" or "X to Y"`, s)
	}
	a, err := ParseRelease(from)
	if err != nil {
		return Range{}, err
	}
	b, err := ParseRelease(to)
	if err != nil {
		return Range{}, err
	}
	b[len(b)-1]++ // below the next release, so that 6.5.13 is included
	return Range{from: a, below: b}, nil
}

// Any reports whether the range includes every release.
func (g Range) Any() bool { return g.from == nil && g.below == nil }

// Has reports whether the range includes a release. An unknown release is only in the range
// "any".
func (g Range) Has(r Release) bool {
	if len(r) == 0 {
		return g.Any()
	}
	return (g.from == nil || !r.before(g.from)) && (g.below == nil || r.before(g.below))
}

// DefaultOn returns the default of a setting on a release; false unless there is exactly one.
func (s Setting) DefaultOn(r Release) (Default, bool) {
	for _, d := range s.Defaults {
		g, err := ParseRange(d.Kernel)
		if err == nil && g.Has(r) {
			return d, true
		}
	}
	return Default{}, false
}
