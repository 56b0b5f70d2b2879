package topology

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"linerate/internal/unit"
)

// node is a piece of the file with its line. A node that is not there reads as
// empty; one that holds something else than is asked for is a problem.
type node struct {
	r    *reader
	n    ast.Node
	line int
	what string // the key, for messages
}

type field struct {
	key   string
	value node
}

// maxFile bounds what is parsed.
const maxFile = 256 << 10

func (r *reader) document(data []byte) node {
	if len(data) > maxFile {
		r.line(1, "%d bytes: a topology has at most %d", len(data), maxFile)
		return node{r: r}
	}
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		line, what := position(err)
		r.line(line, "not YAML: %s", what)
		return node{r: r}
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		r.line(1, "want one YAML document with hosts and links")
		return node{r: r}
	}
	n := r.node(f.Docs[0].Body, 1, "topology")
	if !n.isMap() {
		r.at(n, "want keys such as name, hosts and links")
	}
	return n
}

// position takes the line out of a parser's message, "[5:3] what is wrong", and
// leaves out the excerpt of the file that follows.
func position(err error) (line int, what string) {
	what, _, _ = strings.Cut(err.Error(), "\n")
	var column int
	if _, serr := fmt.Sscanf(what, "[%d:%d]", &line, &column); serr != nil {
		return 1, what
	}
	_, what, _ = strings.Cut(what, "] ")
	return line, what
}

func (r *reader) node(n ast.Node, line int, what string) node {
	if n == nil || n.Type() == ast.NullType {
		return node{r: r, line: line, what: what}
	}
	if tok := n.GetToken(); tok != nil && tok.Position != nil {
		line = tok.Position.Line
	}
	return node{r: r, n: n, line: line, what: what}
}

func (n node) ok() bool { return n.n != nil }

func (n node) isMap() bool { return n.pairs() != nil }

func (n node) pairs() []*ast.MappingValueNode {
	switch v := n.n.(type) {
	case *ast.MappingNode:
		return v.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}
	}
	return nil
}

// fields are the keys and values of a mapping, in the order of the file.
func (n node) fields() []field {
	if !n.ok() {
		return nil
	}
	pairs := n.pairs()
	if pairs == nil && n.n.Type() != ast.MappingType {
		n.r.at(n, "%s: want key: value pairs", n.what)
		return nil
	}
	var out []field
	for _, p := range pairs {
		line := n.line
		if tok := p.Key.GetToken(); tok != nil && tok.Position != nil {
			line = tok.Position.Line
		}
		key := p.Key.String()
		if s, ok := p.Key.(*ast.StringNode); ok {
			key = s.Value
		}
		v := n.r.node(p.Value, line, key)
		v.line = line
		out = append(out, field{key, v})
	}
	return out
}

// get is the value of a key, or a node that is not there.
func (n node) get(key string) node {
	for _, f := range n.fields() {
		if f.key == key {
			return f.value
		}
	}
	return node{r: n.r, line: n.line, what: key}
}

// items are the elements of a list; a single value is a list of one.
func (n node) items() []node {
	if !n.ok() {
		return nil
	}
	s, ok := n.n.(*ast.SequenceNode)
	if !ok {
		return []node{n}
	}
	var out []node
	for _, v := range s.Values {
		out = append(out, n.r.node(v, n.line, n.what))
	}
	return out
}

// known reports keys that mean nothing, with the nearest that does.
func (r *reader) known(n node, keys ...string) {
	for _, f := range n.fields() {
		if slices.Contains(keys, f.key) {
			continue
		}
		r.at(f.value, "%s: there is no key %q%s", n.what, f.key, nearest(f.key, keys))
	}
}

func (n node) text() string {
	if !n.ok() || n.isMap() {
		return ""
	}
	if s, ok := n.n.(ast.ScalarNode); ok {
		if str, ok := s.GetValue().(string); ok {
			return strings.TrimSpace(str)
		}
		return strings.TrimSpace(n.n.GetToken().Value)
	}
	n.r.at(n, "%s: want a single value", n.what)
	return ""
}

// read parses a text; an empty node is zero and no problem.
func read[T any](n node, want string, parse func(string) (T, error)) T {
	var zero T
	s := n.text()
	if !n.ok() {
		return zero
	}
	v, err := parse(s)
	if err != nil {
		n.r.at(n, "%s: %q: want %s", n.what, s, want)
		return zero
	}
	return v
}

func (n node) rate() unit.BitRate {
	return read(n, "a rate such as 10Gbit/s", unit.ParseBitRate)
}

func (n node) duration() time.Duration {
	return read(n, "a time such as 5ms", time.ParseDuration)
}

func (n node) prefix() netip.Prefix {
	return read(n, "an address with its prefix length, such as 10.0.0.1/24", netip.ParsePrefix)
}

func (n node) addr() netip.Addr { return read(n, "an address such as 10.0.0.1", netip.ParseAddr) }

func (n node) boolean() bool { return read(n, "true or false", strconv.ParseBool) }

func (n node) number() float64 { return read(n, "a number", parseNumber) }

func (n node) share() float64 { return read(n, "a share such as 0.1%, from 0 to 100%", ParseShare) }

func (n node) bytes(otherwise unit.Bytes) unit.Bytes {
	if !n.ok() {
		return otherwise
	}
	return read(n, "a size such as 256KiB", unit.ParseBytes)
}

func (n node) integer(otherwise int) int {
	if !n.ok() {
		return otherwise
	}
	return read(n, "a whole number", strconv.Atoi)
}

func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (v != v || v > 1e12 || v < 0) {
		return 0, strconv.ErrRange
	}
	return v, err
}

// ParseShare reads "0.1%" or "0.001" as 0.001; beyond 0 to 1 is an error.
func ParseShare(s string) (float64, error) {
	num, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := parseNumber(strings.TrimSpace(num))
	if percent {
		v /= 100
	}
	if err == nil && v > 1 {
		return 0, strconv.ErrRange
	}
	return v, err
}

// nearest suggests the key that was meant.
func nearest(key string, keys []string) string {
	best, at := "", 3
	for _, k := range keys {
		if d := distance(key, k); d < at {
			best, at = k, d
		}
	}
	if best != "" {
		return "; did you mean " + best + "?"
	}
	return "; there are " + strings.Join(keys, ", ")
}

// distance is the number of letters to change, insert or remove (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := left
			if a[i] != b[j] {
				cost = 1 + min(left, row[j], row[j+1])
			}
			left, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
