package conf

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// What a file may hold. The parser's memory grows with the square of the depth
// and of the keys: 250 KB of "{a: " took 5 GB. Its lexer's grows with the size of
// the text alone, so the tokens are counted before they are parsed.
const (
	maxDepth = 64
	maxKeys  = 4096
)

// Bounded refuses a text that would cost a YAML parser more than its size accounts for, and
// what no file that a person writes for linerate needs: Document's bounds, for the readers that
// decode YAML by themselves. The error quotes the text.
func Bounded(text []byte) error {
	if len(text) > MaxFile {
		return fmt.Errorf("%d bytes, of at most %d", len(text), MaxFile)
	}
	_, line, err := tokenize(string(text))
	if err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return nil
}

// tokenize takes a text apart and bounds what the parser will do with it. The
// line is where an error stands. A byte order mark, with which some editors begin a file, is no
// part of the text.
func tokenize(text string) (tokens token.Tokens, line int, err error) {
	tokens = lexer.Tokenize(strings.TrimPrefix(text, "\ufeff"))
	var d depth
	for _, t := range tokens {
		if err := d.add(t); err != nil {
			return nil, t.Position.Line, fmt.Errorf("column %d: %w", t.Position.Column, err)
		}
	}
	return tokens, 0, nil
}

// depth follows the nesting of a text, token by token. Its count is within a
// factor of two of the true depth.
type depth struct {
	flow   int   // brackets that are open
	blocks []int // columns at which open blocks begin, rising
	keys   int
	line   int
}

func (d *depth) add(t *token.Token) error {
	switch t.Type {
	case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType:
		return fmt.Errorf("%q: anchors, aliases, merge keys and tags are not read; write the value itself", t.Value)
	case token.MappingStartType, token.SequenceStartType:
		d.flow++
	case token.MappingEndType, token.SequenceEndType:
		d.flow = max(d.flow-1, 0)
		d.line = t.Position.Line
	case token.MappingValueType:
		d.keys++
		d.line = t.Position.Line
	case token.CommentType:
		return nil
	}
	if d.flow == 0 {
		d.block(t)
	}
	switch {
	case d.flow+len(d.blocks) > maxDepth:
		return fmt.Errorf("nested more than %d deep", maxDepth)
	case d.keys > maxKeys:
		return fmt.Errorf("more than %d keys", maxKeys)
	}
	return nil
}

// block opens and closes blocks: by the column of what begins a line, and by the
// marks that nest within one line, as in "- - a".
func (d *depth) block(t *token.Token) {
	column := t.Position.Column
	if t.Position.Line != d.line {
		d.line = t.Position.Line
		for len(d.blocks) > 0 && d.blocks[len(d.blocks)-1] >= column {
			d.blocks = d.blocks[:len(d.blocks)-1]
		}
		d.blocks = append(d.blocks, column)
		return
	}
	if t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType {
		d.blocks = append(d.blocks, column)
	}
}
