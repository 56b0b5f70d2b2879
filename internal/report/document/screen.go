package document

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Screen is a stream that a person reads, in a terminal or through a pipe into one.
// Whoever writes to it may forget to escape: of what is written only lines and
// tabulators survive, the rest is made Plain. The escape sequences that are ours go
// past that: those of Document.Text, and Rewind.
type Screen struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte // the beginning of a character that the next write completes
}

// NewScreen makes a screen of a stream.
func NewScreen(w io.Writer) *Screen { return &Screen{to: w} }

// Write implements io.Writer.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, b...)
	n := len(text) - unfinished(text)
	s.rest = bytes.Clone(text[n:])
	if _, err := s.to.Write(plainText(text[:n])); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Printf writes a text whose lines are those of the format alone: a newline within a
// text or an error that stands for a verb is no newline. It fails when the stream does.
func (s *Screen) Printf(format string, args ...any) error {
	for i, a := range args {
		args[i] = plainValue(a)
	}
	_, err := fmt.Fprintf(s, format, args...)
	return err
}

// Rewind takes the cursor back to the start of a terminal's line and clears the line.
func (s *Screen) Rewind() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.to, "\r\x1b[K")
	return err
}

// mostHeld is how much a screen keeps back, the newest of it.
const mostHeld = 64 << 10

// Hold keeps back what is written, while a Live has the same terminal. The returned function writes it;
// that fails when the stream does.
func (s *Screen) Hold() (release func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to, held := s.to, &newest{}
	s.to = held
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.to = to
		if len(held.kept) == 0 {
			return nil
		}
		if _, err := to.Write(held.kept); err != nil {
			return fmt.Errorf("write what was kept back: %w", err)
		}
		return nil
	}
}

// newest keeps the end of what is written.
type newest struct{ kept []byte }

func (n *newest) Write(b []byte) (int, error) {
	n.kept = append(n.kept, b...)
	if over := len(n.kept) - mostHeld; over > 0 {
		n.kept = bytes.Clone(n.kept[over:])
	}
	return len(b), nil
}

// Bytes writes what is no text, such as a Parquet file. It fails when the stream does.
func (s *Screen) Bytes(b []byte) error {
	_, err := s.to.Write(b)
	return err
}

// Stream is what is beneath: for a program that the user runs through us, which does as
// it likes with a terminal of its own, and to ask whether it is a terminal.
func (s *Screen) Stream() io.Writer { return s.to }

// Harmful tells whether a terminal could obey a character, hide it or turn the direction
// of writing by it. Newline and tabulator are harmful too.
func Harmful(r rune) bool { return plainRune(r) != r || r == utf8.RuneError }

// plainText is Plain for text of many lines.
func plainText(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return plainRune(r)
	}, bytes.ToValidUTF8(b, []byte("?")))
}

// plainRune is what stands for a character in plain text.
func plainRune(r rune) rune {
	switch {
	case unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp):
		return ' '
	case r == unicode.ReplacementChar || !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r):
		return '?'
	}
	return r
}

// plainValue makes a text plain, whatever its type, and leaves numbers to their verbs.
func plainValue(a any) any {
	switch v := a.(type) {
	case error:
		return Plain(v.Error())
	case string:
		return Plain(v)
	case nil:
		return nil
	}
	if v := reflect.ValueOf(a); v.Kind() == reflect.String {
		if named, ok := a.(fmt.Stringer); ok {
			return Plain(named.String())
		}
		return Plain(v.String())
	}
	return a
}

// unfinished is how many bytes at the end begin a character that is not complete.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
