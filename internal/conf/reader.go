package conf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// MaxFile bounds a file, in bytes: far above any that a person writes.
const MaxFile = 256 << 10

// maxText bounds one value, in bytes.
const maxText = 4096

// maxProblems of one file are reported.
const maxProblems = 8

// Kind is what one kind of file is called, and how its problems are printed.
type Kind struct {
	Name    string // with its article, such as "a topology"
	Want    string // what is said of a file that is no single document
	Place   string // format of a problem: file, line, what is wrong
	Entries int    // of one list at most; 0: as many as the file has room for
}

// Reader gathers the problems of one file, so that a user sees several at once.
type Reader struct {
	kind     Kind
	file     string
	problems []problem
}

type problem struct {
	line int
	what string
}

// NewReader begins to read a file; name is for messages.
func NewReader(k Kind, name string) *Reader { return &Reader{kind: k, file: name} }

// Problem notes what is wrong at a line, from 1 on.
func (r *Reader) Problem(line int, format string, args ...any) {
	p := problem{line, fmt.Sprintf(format, args...)}
	if len(r.problems) < maxProblems && !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

// Failed tells whether there is a problem.
func (r *Reader) Failed() bool { return len(r.problems) > 0 }

// Err is all problems, one a line, in the order of the file; nil without any.
func (r *Reader) Err() error {
	slices.SortStableFunc(r.problems, func(a, b problem) int { return a.line - b.line })
	var out []string
	for _, p := range r.problems {
		out = append(out, fmt.Sprintf(r.kind.Place, r.file, p.line, p.what))
	}
	if out == nil {
		return nil
	}
	return errors.New(strings.Join(out, "\n"))
}

// Document parses a file of one document. After a problem the node is empty.
func (r *Reader) Document(text []byte) Node {
	if len(text) > MaxFile {
		r.Problem(1, "%d bytes: %s has at most %d", len(text), r.kind.Name, MaxFile)
		return Node{r: r}
	}
	tokens, line, err := tokenize(string(text))
	if err != nil {
		r.Problem(line, "%v", err)
		return Node{r: r}
	}
	f, err := parser.Parse(tokens, 0)
	if err != nil {
		line, what := placeOf(err)
		r.Problem(line, "not YAML: %s", what)
		return Node{r: r}
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		r.Problem(1, "%s", r.kind.Want)
		return Node{r: r}
	}
	return r.node(f.Docs[0].Body, 1, "")
}

// placeOf is the line and the message of a parser's error. Its Error method is
// not called: it prints an excerpt, and what that costs grows with the square of
// the tokens of a line.
func placeOf(err error) (line int, what string) {
	var e yaml.Error
	if !errors.As(err, &e) {
		return 1, err.Error()
	}
	if t := e.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line, e.GetMessage()
	}
	return 1, e.GetMessage()
}
