package conf

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"linerate/internal/unit"
)

// Node is a value of a file. One that is not there reads as empty; one that
// is of another type than the one read is a problem.
type Node struct {
	Line int    // of its key, or of itself in a list
	Key  string // for messages
	r    *Reader
	n    ast.Node
}

func (r *Reader) node(n ast.Node, line int, key string) Node {
	if n != nil && n.Type() == ast.NullType {
		n = nil
	}
	return Node{Line: line, Key: key, r: r, n: n}
}

// Missing tells that there is no value.
func (n Node) Missing() bool { return n.n == nil }

// IsMapping tells whether a value is key: value pairs.
func (n Node) IsMapping() bool {
	switch n.n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

// IsList tells whether a value is a list.
func (n Node) IsList() bool {
	_, ok := n.n.(*ast.SequenceNode)
	return ok
}

// Problem notes what is wrong with a value, after its key.
func (n Node) Problem(format string, args ...any) {
	n.r.Problem(n.Line, "%s: "+format, append([]any{n.Key}, args...)...)
}

// Text is a single value as it was written; empty where there is none.
func (n Node) Text() string {
	if n.Missing() {
		return ""
	}
	s, ok := n.n.(ast.ScalarNode)
	if !ok {
		n.Problem("want a single value")
		return ""
	}
	// A number stays as it was written: 010 and 1e3 are no numbers of ours.
	text, ok := s.GetValue().(string)
	if !ok {
		text = n.n.GetToken().Value
	}
	if len(text) > maxText {
		n.Problem("%d bytes, at most %d", len(text), maxText)
		return ""
	}
	return strings.TrimSpace(text)
}

// List are the elements of a list; a single value is a problem.
func (n Node) List() []Node {
	if n.Missing() {
		return nil
	}
	s, ok := n.n.(*ast.SequenceNode)
	if !ok {
		n.Problem("want a list")
		return nil
	}
	if most := n.r.kind.Entries; most > 0 && len(s.Values) > most {
		n.Problem("%d entries, at most %d", len(s.Values), most)
		return nil
	}
	out := make([]Node, 0, len(s.Values))
	for _, v := range s.Values {
		out = append(out, n.r.node(v, lineOf(v, n.Line), n.Key))
	}
	return out
}

// Items are the elements of a list; a single value is a list of one.
func (n Node) Items() []Node {
	if n.Missing() || n.IsList() {
		return n.List()
	}
	return []Node{n}
}

// Texts are the elements of a list of single values.
func (n Node) Texts() []string {
	var out []string
	for _, v := range n.List() {
		if _, ok := v.n.(ast.ScalarNode); !ok || v.Text() == "" {
			v.Problem("want single values")
			continue
		}
		out = append(out, v.Text())
	}
	return out
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

// Read parses a single value; want says what it should be. A value that is not
// there is zero, and no problem.
func Read[T any](n Node, want string, parse func(string) (T, error)) T {
	var zero T
	s := n.Text()
	if n.Missing() {
		return zero
	}
	v, err := parse(s)
	if err != nil {
		n.Problem("%q: want %s", s, want)
		return zero
	}
	return v
}

// Bool is true or false; false where there is none.
func (n Node) Bool() bool {
	s := n.Text()
	if s != "" && !slices.Contains([]string{"true", "True", "TRUE", "false", "False", "FALSE"}, s) {
		n.Problem("%q: want true or false", s)
	}
	return strings.EqualFold(s, "true")
}

// Integer is a whole number within bounds; otherwise where there is none.
func (n Node) Integer(low, high, otherwise int) int {
	s := n.Text()
	if s == "" {
		return otherwise
	}
	v, err := strconv.Atoi(s)
	if err != nil || v < low || v > high {
		n.Problem("%q: want a whole number from %d to %d", s, low, high)
		return otherwise
	}
	return v
}

// Number is a fraction strictly between low and high; otherwise where there is
// none.
func (n Node) Number(low, high, otherwise float64) float64 {
	s := n.Text()
	if s == "" {
		return otherwise
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || x <= low || x >= high {
		n.Problem("%q: want a number between %v and %v", s, low, high)
		return otherwise
	}
	return x
}

// Duration is a time such as 90s or 2h within bounds; otherwise where there is
// none.
func (n Node) Duration(low, high, otherwise time.Duration) time.Duration {
	s := n.Text()
	if s == "" {
		return otherwise
	}
	d, err := unit.ParseTime(s)
	if err != nil || d < low || d > high {
		n.Problem("%q: want a time from %v to %v, such as 90s or 2h", s, low, high)
		return otherwise
	}
	return d
}
