package profile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"linerate/internal/guide"
)

// Bounds of a file: far above any profile, so that a hostile one costs little.
const (
	maxFile     = 256 << 10
	maxLines    = 500
	maxProblems = 8 // that are told of one file
)

// Parse reads a profile. name is the file's, for messages: each problem is
// "NAME:LINE: what is wrong", one per line of the error. Keys that mean
// nothing, settings that the guide does not know and formulas that cannot be
// read are problems.
func Parse(name string, text []byte) (Profile, error) {
	return parse(name, text, readCatalogue())
}

func parse(name string, text []byte, c *catalogue) (Profile, error) {
	r := &reader{name: name, catalogue: c}
	p := r.profile(text)
	if len(r.problems) > 0 {
		return Profile{}, errors.New(strings.Join(r.problems, "\n"))
	}
	return p, nil
}

type reader struct {
	*catalogue
	name     string
	problems []string
}

func (r *reader) problem(line int, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("%s:%d: %s", r.name, line, fmt.Sprintf(format, args...)))
	}
}

func (r *reader) profile(text []byte) Profile {
	if len(text) > maxFile {
		r.problem(1, "%d bytes: a profile has at most %d", len(text), maxFile)
		return Profile{}
	}
	root := r.document(text)
	if root == nil {
		return Profile{}
	}
	m := r.mapping(root, 1, "profile", "v", "name", "title", "for", "base", "lines", "rejected")
	p := Profile{V: Version, Name: m.text("name"), Title: m.text("title"), For: m.text("for")}
	if v := m.integer("v", 1, 1<<20); v != Version {
		r.problem(m.at("v"), "v: this linerate reads profiles of version %d", Version)
	}
	if err := CheckName(p.Name); err != nil {
		r.problem(m.at("name"), "%v", err)
	}
	for _, n := range r.list(m, "lines") {
		p.Lines = append(p.Lines, r.line(n))
	}
	for _, n := range r.list(m, "rejected") {
		p.Rejected = append(p.Rejected, r.rejected(n))
	}
	r.once(p.Lines)
	p = p.onto(r.bases(m, &p))
	if len(p.Lines) == 0 && len(r.problems) == 0 {
		r.problem(1, "lines: there is none, so the profile says nothing")
	}
	return p
}

// bases reads the names of what the profile stands on. A built-in profile may
// stand on parts only, so that none stands on itself.
func (r *reader) bases(m fields, p *Profile) []Profile {
	var out []Profile
	for _, n := range r.list(m, "base") {
		name := ""
		if s, ok := n.node.(ast.ScalarNode); ok {
			name = fmt.Sprint(s.GetValue())
		}
		b, ok := Profile{}, false
		if name != p.Name {
			b, ok = base(name, r.catalogue)
		}
		if !ok {
			r.problem(n.line, "base: there is no %q to stand on; there are %s", name, strings.Join(append(parts(), Names()...), ", "))
			continue
		}
		p.Base = append(p.Base, name)
		out = append(out, b)
	}
	return out
}

// once refuses a setting that has two lines without conditions between them.
func (r *reader) once(lines []Line) {
	seen := map[string]int{}
	for _, l := range lines {
		if first, ok := seen[l.Setting]; ok && l.Setting != "" && l.When == "" && l.Finding == "" {
			r.problem(l.line, "setting: %s has a line already, %d; give one of them a condition", l.Setting, first)
		}
		seen[l.Setting] = l.line
	}
}

func (r *reader) line(n located) Line {
	m := r.mapping(n.node, n.line, "line", "setting", "value", "at_least", "cap", "when", "finding", "reason", "source", "risk", "needs")
	l := Line{
		Setting: m.text("setting"), Value: m.text("value"), AtLeast: m.text("at_least"), Cap: m.text("cap"),
		When: m.text("when"), Finding: m.text("finding"), Reason: m.text("reason"), Source: m.text("source"),
		Risk: m.text("risk"), Needs: m.text("needs"), line: n.line,
	}
	r.setting(m, l.Setting)
	if (l.Value == "") == (l.AtLeast == "") {
		r.problem(n.line, "%s: give it either a value or at_least", l.Setting)
		return l
	}
	var err error
	if l.rule, err = parseTemplate(l.Value + l.AtLeast); err != nil {
		r.problem(max(m.at("value"), m.at("at_least")), "%s: %v", l.Setting, err)
	}
	if l.when, err = parseCondition(l.When); err != nil {
		r.problem(m.at("when"), "%s: %v", l.Setting, err)
	}
	if l.Cap != "" {
		x, err := parseExpression(l.Cap)
		if err != nil {
			r.problem(m.at("cap"), "%s: cap: %v", l.Setting, err)
		}
		l.cap = &x
	}
	r.finding(m, l)
	for _, key := range []string{"reason", "source"} {
		if m.text(key) == "" {
			r.problem(n.line, "%s: %s is missing: a line says why, and where that is from", l.Setting, key)
		}
	}
	return l
}

func (r *reader) finding(m fields, l Line) {
	if l.Finding == "" {
		return
	}
	if !slices.Contains(r.findings, l.Finding) {
		r.problem(m.at("finding"), "%s: linerate check has no rule %q; near it are %s", l.Setting, l.Finding, strings.Join(guide.Closest(l.Finding, r.findings, 3), ", "))
	}
}

func (r *reader) setting(m fields, id string) {
	if id == "" {
		r.problem(m.line, "setting is missing")
		return
	}
	if _, ok := r.settings.Find(id); !ok {
		r.problem(m.at("setting"), "setting %q is not known; near it are %s", id, strings.Join(guide.Closest(id, r.ids, 3), ", "))
	}
}

func (r *reader) rejected(n located) Rejected {
	m := r.mapping(n.node, n.line, "rejected", "setting", "value", "guide", "why", "source")
	x := Rejected{Setting: m.text("setting"), Value: m.text("value"), Guide: m.text("guide"), Why: m.text("why"), Source: m.text("source"), line: n.line}
	r.setting(m, x.Setting)
	if x.Guide == "" {
		if x.Why == "" || x.Source == "" {
			r.problem(n.line, "%s: give a guide, or a why and a source", x.Setting)
		}
		return x
	}
	for _, a := range r.advice[x.Setting] {
		if a.Guide == x.Guide && a.Value == x.Value {
			if x.Why == "" {
				x.Why = fmt.Sprintf("%s (%s)", a.Why, a.Status)
			}
			if x.Source == "" {
				x.Source = a.Guide + ", " + a.Where
			}
			return x
		}
	}
	r.problem(n.line, "%s: the guide %q does not advise %q; linerate guide show %s lists what it does", x.Setting, x.Guide, x.Value, x.Guide)
	return x
}

// located is a node with its line.
type located struct {
	node ast.Node
	line int
}

// fields are the values of a mapping by key.
type fields struct {
	r      *reader
	what   string
	line   int
	values map[string]located
}

func (r *reader) document(text []byte) ast.Node {
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		line, what := position(err)
		r.problem(line, "not YAML: %s", what)
		return nil
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		r.problem(1, "want one YAML document, with name and lines")
		return nil
	}
	return f.Docs[0].Body
}

// position takes the line out of the parser's "[5:3] what is wrong", and leaves
// out the excerpt that follows.
func position(err error) (line int, what string) {
	what, _, _ = strings.Cut(err.Error(), "\n")
	var column int
	if _, serr := fmt.Sscanf(what, "[%d:%d]", &line, &column); serr != nil {
		return 1, what
	}
	_, what, _ = strings.Cut(what, "] ")
	return line, what
}

func lineOf(n ast.Node, otherwise int) int {
	if n != nil {
		if tok := n.GetToken(); tok != nil && tok.Position != nil {
			return tok.Position.Line
		}
	}
	return otherwise
}

// mapping reads key: value pairs and refuses keys that are not in keys.
func (r *reader) mapping(n ast.Node, line int, what string, keys ...string) fields {
	m := fields{r: r, what: what, line: line, values: map[string]located{}}
	var pairs []*ast.MappingValueNode
	switch v := n.(type) {
	case *ast.MappingNode:
		pairs = v.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{v}
	default:
		r.problem(lineOf(n, line), "%s: want key: value pairs", what)
		return m
	}
	for _, p := range pairs {
		at := lineOf(p.Key, line)
		key := p.Key.String()
		if s, ok := p.Key.(*ast.StringNode); ok {
			key = s.Value
		}
		if !slices.Contains(keys, key) {
			r.problem(at, "%s: there is no key %q; did you mean %s?", what, key, strings.Join(guide.Closest(key, keys, 1), ""))
			continue
		}
		m.values[key] = located{p.Value, at}
	}
	return m
}

func (m fields) at(key string) int {
	if v, ok := m.values[key]; ok {
		return v.line
	}
	return m.line
}

// text is a single value; empty where there is none.
func (m fields) text(key string) string {
	v, ok := m.values[key]
	if !ok || v.node == nil || v.node.Type() == ast.NullType {
		return ""
	}
	s, ok := v.node.(ast.ScalarNode)
	if !ok {
		m.r.problem(v.line, "%s: want a single value", key)
		return ""
	}
	if str, ok := s.GetValue().(string); ok {
		return strings.TrimSpace(str)
	}
	return strings.TrimSpace(v.node.GetToken().Value)
}

// integer is a whole number within bounds; 0 where there is none.
func (m fields) integer(key string, low, high int) int {
	text := m.text(key)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		m.r.problem(m.at(key), "%s: %q: want a whole number from %d to %d", key, text, low, high)
		return 0
	}
	return n
}

// list are the elements of a list, none where there is none.
func (r *reader) list(m fields, key string) []located {
	v, ok := m.values[key]
	if !ok || v.node == nil || v.node.Type() == ast.NullType {
		return nil
	}
	s, ok := v.node.(*ast.SequenceNode)
	if !ok {
		r.problem(v.line, "%s: want a list", key)
		return nil
	}
	if len(s.Values) > maxLines {
		r.problem(v.line, "%s: %d entries, at most %d", key, len(s.Values), maxLines)
		return nil
	}
	var out []located
	for _, n := range s.Values {
		out = append(out, located{n, lineOf(n, v.line)})
	}
	return out
}
