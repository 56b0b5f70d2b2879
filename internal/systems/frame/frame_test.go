package frame

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

const recorded = "linerate-frames 1\nbegin os 0 7\n{\"a\":1}\nbegin none 1 0\n\nlinerate-frames end 2\n"

// A recording that was redirected to a file in a PowerShell is read as it was printed; one that the
// PowerShell damaged is refused, with a way to make another.
func TestRedirectedByPowerShell(t *testing.T) {
	utf16le := func(s string) []byte {
		out := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(s)) {
			out = binary.LittleEndian.AppendUint16(out, u)
		}
		return out
	}
	crlf := strings.ReplaceAll(recorded, "\n", "\r\n")
	for name, b := range map[string][]byte{
		"as printed": []byte(recorded), "5.1": utf16le(crlf), "5.1, LF": utf16le(recorded), "7": []byte(crlf), "with a mark": []byte("\ufeff" + crlf),
	} {
		f, err := Parse(b)
		if err != nil || f["os"].Text != `{"a":1}` || f["none"].Code != 1 {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	for name, b := range map[string][]byte{"a letter more": utf16le(strings.Replace(crlf, "{", "{x", 1)), "half a letter": utf16le(crlf)[:101]} {
		if _, err := Parse(b); err == nil || !strings.Contains(err.Error(), "cmd /c") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f, err := Parse([]byte(recorded)); err != nil || f.Text("none").Why != "its command printed nothing (exit code 1)" {
		t.Errorf("%v, %v", f.Text("none"), err)
	}
}
