package tree

import (
	"fmt"
	"regexp"
	"strings"
)

// Excludes are globs as rsync has them: without '/' (but at its end) one matches the last
// part of a path anywhere, with one the whole path below the source's root; '*' and '?' stop
// at '/', "**" does not; a '/' at the end asks for a directory. What a directory holds goes
// with it.
type Excludes struct{ globs []glob }

type glob struct {
	re       *regexp.Regexp
	whole    bool // matched with the path, not its last part
	dirsOnly bool
}

// NewExcludes reads globs.
func NewExcludes(patterns []string) (Excludes, error) {
	var out Excludes
	for _, p := range patterns {
		g := glob{}
		rest, dirs := strings.CutSuffix(p, "/")
		g.dirsOnly = dirs
		trimmed, anchored := strings.CutPrefix(rest, "/")
		g.whole = anchored || strings.Contains(trimmed, "/")
		if trimmed == "" {
			return Excludes{}, fmt.Errorf("exclude %q matches nothing: give a glob such as '*.tmp' or '/cache/'", p)
		}
		text, err := expression(trimmed)
		if err != nil {
			return Excludes{}, fmt.Errorf("exclude %q: %w", p, err)
		}
		if g.whole && !anchored {
			text = "(?:.*/)?" + text
		}
		if g.re, err = regexp.Compile("(?s)^" + text + "$"); err != nil {
			return Excludes{}, fmt.Errorf("exclude %q: %w", p, err)
		}
		out.globs = append(out.globs, g)
	}
	return out, nil
}

// Match tells whether an entry is left out.
func (x Excludes) Match(path string, directory bool) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	for _, g := range x.globs {
		name := last
		if g.whole {
			name = path
		}
		if (directory || !g.dirsOnly) && g.re.MatchString(name) {
			return true
		}
	}
	return false
}

// expression is a glob as a regular expression, which takes time in proportion to the path
// whatever the glob. Bytes that are no UTF-8 match '?' and '*' one by one.
func expression(p string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '*':
			switch {
			case strings.HasPrefix(p[i:], "**/"):
				b.WriteString("(?:.*/)?")
				i += 2
			case strings.HasPrefix(p[i:], "**"):
				b.WriteString(".*")
				i++
			default:
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			end := strings.IndexByte(p[i+1:], ']')
			if end <= 0 {
				return "", fmt.Errorf("a '[' without its ']'; write [[] for the character")
			}
			set := strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(p[i+1 : i+1+end])
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + set + "]")
			i += end + 1
		case '\\':
			if i++; i == len(p) {
				return "", fmt.Errorf("a '\\' at its end")
			}
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		}
	}
	return b.String(), nil
}
