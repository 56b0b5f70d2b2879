package conf

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Table is a mapping.
type Table struct {
	Line int
	Keys []string // in the order of the file
	r    *Reader
	at   map[string]Node
}

// Table reads key: value pairs; what names them in messages. It refuses keys
// that are not in known (none: any key will do) and keys that stand twice. A
// value that is not there is a table without keys.
func (n Node) Table(what string, known ...string) Table {
	t := Table{Line: n.Line, r: n.r, at: map[string]Node{}}
	for _, p := range n.pairs(what) {
		line := lineOf(p.Key, n.Line)
		key := p.Key.String()
		if s, ok := p.Key.(*ast.StringNode); ok {
			key = s.Value
		}
		_, twice := t.at[key]
		switch {
		case len(known) > 0 && !slices.Contains(known, key):
			n.r.Problem(line, "%s: there is no key %q%s", what, key, meant(key, known))
		case twice:
			n.r.Problem(line, "%s: %s stands twice; take one out", what, key)
		default:
			t.Keys = append(t.Keys, key)
			t.at[key] = n.r.node(p.Value, line, key)
		}
	}
	return t
}

func (n Node) pairs(what string) []*ast.MappingValueNode {
	switch v := n.n.(type) {
	case nil:
	case *ast.MappingNode:
		return v.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}
	default:
		n.r.Problem(lineOf(v, n.Line), "%s: want key: value pairs", what)
	}
	return nil
}

// Get is the value of a key, or one that is not there.
func (t Table) Get(key string) Node {
	if n, ok := t.at[key]; ok {
		return n
	}
	return Node{Line: t.Line, Key: key, r: t.r}
}

// All are the values, in the order of the file.
func (t Table) All() []Node {
	var out []Node
	for _, key := range t.Keys {
		out = append(out, t.at[key])
	}
	return out
}

// Has tells whether a key has a value.
func (t Table) Has(key string) bool { return !t.Get(key).Missing() }

// Text is the single value of a key; empty where there is none.
func (t Table) Text(key string) string { return t.Get(key).Text() }

// Where is the line of a key, or of the table where the key is missing.
func (t Table) Where(key string) int { return t.Get(key).Line }

// Problem notes what is wrong with the value of a key.
func (t Table) Problem(key, format string, args ...any) { t.Get(key).Problem(format, args...) }

// meant names the key that was likely meant, or else all there are.
func meant(key string, known []string) string {
	near := Closest(key, known, 1)[0]
	if Away(key, near) < 3 {
		return "; did you mean " + near + "?"
	}
	return "; there are " + strings.Join(known, ", ")
}
