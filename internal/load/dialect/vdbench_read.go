package dialect

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// word is a parameter of a definition: its name and its values.
type word struct {
	name   string
	values []string
	line   int
}

// general is the kind of a line of parameters that hold for all runs.
const general = "general"

// definition is a line of a parameter file: hd=, sd=, wd=, fsd=, fwd= or rd=, or general parameters, and
// its words.
type definition struct {
	kind, name string
	line       int
	words      []word
}

// definitions reads a vdbench parameter file. Comments begin with *, # or /; a
// line that ends with a comma goes on in the next one. What is defined as default
// goes before what follows.
func definitions(text string) ([]definition, error) {
	if len(text) > maxText {
		return nil, wrong(0, "the file is larger than %d bytes", maxText)
	}
	var out []definition
	defaults := map[string][]word{}
	rest, from := "", 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if i >= maxLines {
			return nil, wrong(i+1, "more than %d lines", maxLines)
		}
		if line == "" || strings.ContainsRune("*#/", rune(line[0])) {
			continue
		}
		if rest == "" {
			from = i + 1
		}
		if rest += line; strings.HasSuffix(line, ",") {
			continue
		}
		d, err := define(rest, from)
		if err != nil {
			return nil, err
		}
		rest = ""
		if d.name == "default" {
			defaults[d.kind] = d.words
			continue
		}
		d.words = append(slices.Clone(defaults[d.kind]), d.words...)
		out = append(out, d)
	}
	if rest != "" {
		return nil, wrong(from, "the definition has no end: its last line ends with a comma")
	}
	return out, nil
}

// define reads one definition.
func define(text string, line int) (definition, error) {
	var d definition
	for i, part := range splitOutside(text) {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return d, wrong(line, "%q is no parameter: want NAME=VALUE", part)
		}
		if i == 0 && slices.Contains([]string{"compratio", "dedupratio", "dedupunit"}, name) {
			d = definition{kind: general, line: line}
		} else if i == 0 {
			if !slices.Contains([]string{"hd", "sd", "wd", "rd", "fsd", "fwd"}, name) {
				return d, wrong(line, "%s= is not supported: want hd=, sd=, wd=, fsd=, fwd= or rd=", name)
			}
			d = definition{kind: name, name: value, line: line}
			continue
		}
		d.words = append(d.words, word{name, listOf(value), line})
	}
	return d, nil
}

// splitOutside splits at commas that are not between parentheses.
func splitOutside(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// listOf takes the parentheses off.
func listOf(s string) []string {
	if !strings.HasPrefix(s, "(") || !strings.HasSuffix(s, ")") {
		return []string{s}
	}
	var out []string
	for _, v := range strings.Split(s[1:len(s)-1], ",") {
		out = append(out, strings.TrimSpace(v))
	}
	return out
}

var rangePattern = regexp.MustCompile(`^([A-Za-z_]+)(\d{1,4})-([A-Za-z_]+)?(\d{1,4})$`)

// namesOf resolves a list of names, ranges as sd1-sd8, and patterns as sd*.
func namesOf(w word, known []string) ([]string, error) {
	var out []string
	add := func(n string) {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for _, v := range w.values {
		before := len(out)
		m := rangePattern.FindStringSubmatch(v)
		if m != nil && (m[3] == "" || m[3] == m[1]) {
			from, _ := strconv.Atoi(m[2]) // digits, by the pattern
			to, _ := strconv.Atoi(m[4])
			for i := from; i <= to; i++ {
				if n := fmt.Sprintf("%s%d", m[1], i); slices.Contains(known, n) {
					add(n)
				} else {
					return nil, wrong(w.line, "%s=%s: %s is not defined before", w.name, v, n)
				}
			}
		}
		for _, n := range known {
			if ok, err := path.Match(v, n); err == nil && ok {
				add(n)
			}
		}
		if len(out) == before && !slices.Contains(out, v) {
			return nil, wrong(w.line, "%s=%s is not defined before", w.name, v)
		}
	}
	return out, nil
}
