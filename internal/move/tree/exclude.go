package tree

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Excludes are globs as rsync has them: without '/' (but at its end) and "**" one matches the last
// part of a path anywhere, with one the end of the path below the source's root, or all of it if
// it begins with '/'; '*' and '?' stop at '/', "**" does not; a '/' at the end asks for a
// directory, and "/***" for one and what it holds. What a directory holds goes with it.
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
		g.whole = anchored || strings.Contains(trimmed, "/") || strings.Contains(trimmed, "**")
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
	if !strings.ContainsAny(p, "*?[") {
		return regexp.QuoteMeta(p), nil // a '\\' is one where it has nothing to escape
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '/':
			if p[i:] == "/***" {
				return b.String() + "(?:/.*)?", nil
			}
			b.WriteByte(c)
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
			set, n, err := setOf(p[i:])
			if err != nil {
				return "", err
			}
			b.WriteString(set)
			i += n - 1
		case '\\':
			if i++; i == len(p) {
				return "", errEscape
			}
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		}
	}
	return b.String(), nil
}

var (
	errEscape = errors.New("a '\\' at its end")
	errSet    = errors.New("a '[' without its ']'; write [[] for the character")
)

// setOf is the set with which p begins as a regular expression, and its length in p. A ']' that
// comes first is one of its characters, and "[:alpha:]" a class of them.
func setOf(p string) (string, int, error) {
	out, i := "[", 1
	if strings.HasPrefix(p[i:], "!") || strings.HasPrefix(p[i:], "^") {
		out, i = "[^/", 2
	}
	for first := i; i < len(p); i++ {
		class := -1
		if strings.HasPrefix(p[i:], "[:") {
			class = strings.Index(p[i:], ":]")
		}
		switch c := p[i]; {
		case c == ']' && i > first:
			return out + "]", i + 1, nil
		case class > 0:
			out += p[i : i+class+2]
			i += class + 1
		case c == '\\':
			if i++; i == len(p) {
				return "", 0, errEscape
			}
			out += inSet(p[i : i+1])
		case c == '-' && i > first:
			out += "-"
		default:
			out += inSet(p[i : i+1])
		}
	}
	return "", 0, errSet
}

// inSet is a character as one of a set.
func inSet(c string) string {
	if strings.ContainsAny(c, `[]\^-`) {
		return `\` + c
	}
	return c
}
