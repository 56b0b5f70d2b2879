package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// JSON writes a value as one indented document whose texts mean what they meant, but
// which a terminal can show: what it could obey, hide or turn the direction of writing
// by is a \u escape. It fails when the value has no JSON or w does.
func JSON(w io.Writer, v any) error { return writeJSON(w, v, "  ") }

// JSONLine is JSON on one line, for documents that follow each other.
func JSONLine(w io.Writer, v any) error { return writeJSON(w, v, "") }

func writeJSON(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escaped(text.Bytes()))
	return err
}

// escaped replaces harmful characters of a JSON document, which stand within its texts
// alone, by the escapes that mean them.
func escaped(text []byte) []byte {
	var out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || !Harmful(r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}
