package file

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"linerate/internal/guide"
)

// reader gathers problems, so that a user sees several at once.
type reader struct {
	*catalogue
	name     string
	problems []string
	factors  map[string]int // the line of each
}

// maxProblems are told of one file.
const maxProblems = 8

func (r *reader) problem(line int, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf("%s: line %d: %s", r.name, line, fmt.Sprintf(format, args...)))
	}
}

// value is a node of the file with the line of its key.
type value struct {
	node ast.Node
	line int
}

func (v value) missing() bool { return v.node == nil || v.node.Type() == ast.NullType }

// table is a mapping, its keys in the order of the file.
type table struct {
	r    *reader
	what string
	line int
	keys []string
	at   map[string]value
}

func (r *reader) document(text []byte) (value, bool) {
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		line, what := placeOf(err)
		r.problem(line, "not YAML: %s", what)
		return value{}, false
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		r.problem(1, "want one YAML document; linerate study new prints one to begin with")
		return value{}, false
	}
	return value{f.Docs[0].Body, 1}, true
}

// placeOf takes the line out of the parser's "[5:3] what is wrong" and drops
// the excerpt that follows.
func placeOf(err error) (line int, what string) {
	first, _, _ := strings.Cut(err.Error(), "\n")
	inside, rest, ok := strings.Cut(strings.TrimPrefix(first, "["), "] ")
	number, _, _ := strings.Cut(inside, ":")
	if line, err := strconv.Atoi(number); ok && err == nil {
		return line, rest
	}
	return 1, first
}

// lineOf is where a node stands, or else otherwise.
func lineOf(n ast.Node, otherwise int) int {
	if n == nil {
		return otherwise
	}
	if tok := n.GetToken(); tok != nil && tok.Position != nil {
		return tok.Position.Line
	}
	return otherwise
}

// mapping reads key: value pairs. It refuses keys that are not in known (nil:
// any key will do) and keys that stand twice.
func (r *reader) mapping(v value, what string, known []string) table {
	t := table{r: r, what: what, line: v.line, at: map[string]value{}}
	var pairs []*ast.MappingValueNode
	switch n := v.node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		r.problem(lineOf(v.node, v.line), "%s: want key: value pairs", what)
		return t
	}
	for _, p := range pairs {
		line := lineOf(p.Key, v.line)
		key := p.Key.String()
		if s, ok := p.Key.(*ast.StringNode); ok {
			key = s.Value
		}
		_, twice := t.at[key]
		switch {
		case known != nil && !slices.Contains(known, key):
			r.problem(line, "%s: there is no key %q; did you mean %s?", what, key, strings.Join(guide.Closest(key, known, 1), ""))
		case twice:
			r.problem(line, "%s: %s stands twice; take one out", what, key)
		default:
			t.keys = append(t.keys, key)
			t.at[key] = value{p.Value, line}
		}
	}
	return t
}

func (t table) has(key string) bool { v, ok := t.at[key]; return ok && !v.missing() }

// where is the line of a key, or of the mapping where the key is missing.
func (t table) where(key string) int {
	if v, ok := t.at[key]; ok {
		return v.line
	}
	return t.line
}

func (t table) problem(key, format string, args ...any) {
	t.r.problem(t.where(key), "%s: %s", key, fmt.Sprintf(format, args...))
}

// text is a single value as it was written; empty where there is none.
func (t table) text(key string) string {
	v, ok := t.at[key]
	if !ok || v.missing() {
		return ""
	}
	s, ok := scalar(v.node)
	if !ok {
		t.problem(key, "want a single value")
	}
	if len(s) > maxText {
		t.problem(key, "%d bytes, at most %d", len(s), maxText)
		return ""
	}
	return s
}

// maxText bounds one value of a file, in bytes.
const maxText = 4096

func scalar(n ast.Node) (string, bool) {
	s, ok := n.(ast.ScalarNode)
	if !ok {
		return "", false
	}
	if text, ok := s.GetValue().(string); ok {
		return strings.TrimSpace(text), true
	}
	// A number as it was written: 010 and 1e3 are no numbers of ours.
	return strings.TrimSpace(n.GetToken().Value), true
}

// list are the elements of a list; a single value is a list of one.
func (t table) list(key string) []value {
	v, ok := t.at[key]
	if !ok || v.missing() {
		return nil
	}
	s, ok := v.node.(*ast.SequenceNode)
	if !ok {
		t.problem(key, "want a list")
		return nil
	}
	if len(s.Values) > maxEntries {
		t.problem(key, "%d entries, at most %d", len(s.Values), maxEntries)
		return nil
	}
	out := make([]value, 0, len(s.Values))
	for _, n := range s.Values {
		out = append(out, value{n, lineOf(n, v.line)})
	}
	return out
}

// texts is a list of single values.
func (t table) texts(key string) []string {
	var out []string
	for _, v := range t.list(key) {
		s, ok := scalar(v.node)
		if !ok || s == "" {
			t.r.problem(v.line, "%s: want single values", key)
			continue
		}
		out = append(out, s)
	}
	return out
}

// isList tells whether a key has a list.
func (t table) isList(key string) bool {
	_, ok := t.at[key].node.(*ast.SequenceNode)
	return ok
}

func (t table) boolean(key string) bool {
	switch s := t.text(key); s {
	case "true":
		return true
	case "", "false":
	default:
		t.problem(key, "%q: want true or false", s)
	}
	return false
}

// integer is a whole number within bounds; otherwise where there is none.
func (t table) integer(key string, low, high, otherwise int) int {
	s := t.text(key)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		t.problem(key, "%q: want a whole number from %d to %d", s, low, high)
		return otherwise
	}
	return n
}

// number is a fraction strictly between low and high.
func (t table) number(key string, low, high, otherwise float64) float64 {
	s := t.text(key)
	if s == "" {
		return otherwise
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || x <= low || x >= high {
		t.problem(key, "%q: want a number between %v and %v", s, low, high)
		return otherwise
	}
	return x
}

// duration is a time such as 90s or 2h, within bounds.
func (t table) duration(key string, low, high, otherwise time.Duration) time.Duration {
	s := t.text(key)
	if s == "" {
		return otherwise
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < low || d > high {
		t.problem(key, "%q: want a time from %v to %v, such as 90s or 2h", s, low, high)
		return otherwise
	}
	return d
}
