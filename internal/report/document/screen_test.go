package document

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever is written to a screen in whatever pieces, only its lines, tabulators and
// visible characters arrive.
func TestScreenShowsText(t *testing.T) {
	text := bad + "\tplain é ✓ 中\n"
	want := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(Plain(text), "  NEW LINE", " \nNEW LINE"), " plain é", "\tplain é"), "中 ", "中\n")
	for _, piece := range []int{1, 2, 3, 7, len(text)} {
		var out strings.Builder
		s := NewScreen(&out)
		for rest := text; rest != ""; rest = rest[min(piece, len(rest)):] {
			if n, err := s.Write([]byte(rest[:min(piece, len(rest))])); err != nil || n != min(piece, len(rest)) {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", piece, out.String(), want)
		}
	}
	if _, err := NewScreen(full{}).Write([]byte("x")); err == nil {
		t.Error("a full disk is not told")
	}
}

// What is said while a picture has the terminal comes after it, the newest of it where it is much.
func TestScreenIsHeld(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out)
	release := s.Hold()
	if err := s.Printf("first\x1b[2J\n"); err != nil || out.Len() > 0 {
		t.Errorf("%q: %v", out.String(), err)
	}
	if err := release(); err != nil || out.String() != "first [2J\n" {
		t.Errorf("%q: %v", out.String(), err)
	}
	if err := s.Printf("now\n"); err != nil || !strings.HasSuffix(out.String(), "\nnow\n") {
		t.Errorf("%q: %v", out.String(), err)
	}
	out.Reset()
	release = s.Hold()
	for range 1000 {
		if err := s.Printf("%s\n", strings.Repeat("x", 999)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Printf("last\n"); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil || out.Len() != mostHeld || !strings.HasSuffix(out.String(), "x\nlast\n") {
		t.Errorf("%d bytes: %v", out.Len(), err)
	}
	s = NewScreen(full{})
	release = s.Hold()
	if err := s.Printf("x"); err != nil || release() == nil {
		t.Error("a full disk is not told", err)
	}
}

// A verb's text is one line; numbers keep their verbs.
func TestScreenPrintf(t *testing.T) {
	type named string
	var out strings.Builder
	if err := NewScreen(&out).Printf("%s|%v|%q|%v|%3d\n", "a\nb\t", errors.New("c\r\nd"), named("e\n"), nil, 7); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "a b |c  d|\"e \"|<nil>|  7\n" {
		t.Errorf("%q", got)
	}
}

// Our own colours reach a screen; a colour in a text does not.
func TestScreenKeepsOwnColors(t *testing.T) {
	var out strings.Builder
	if err := (Document{Headline: "H\x1b[31m"}).Text(NewScreen(&out), true, 80); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != sgrBold+"H [31m"+sgrReset+"\n" {
		t.Errorf("%q", got)
	}
}

// JSON means what was said, and shows nothing that a terminal could obey.
func TestJSONIsPlainAndExact(t *testing.T) {
	said := map[string]string{"key\u202e": strings.ToValidUTF8(bad, "") + "\u007f\U000e0001é ✓\u202f中<&>"}
	var out strings.Builder
	if err := JSON(&out, said); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.String() {
		if r != '\n' && Harmful(r) {
			t.Errorf("%q got through", r)
		}
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got["key\u202e"] != said["key\u202e"] {
		t.Errorf("%v: %q, want %q", err, got, said)
	}
	if JSON(io.Discard, func() {}) == nil || JSON(full{}, 1) == nil {
		t.Error("an error is not told")
	}
}

func FuzzScreen(f *testing.F) {
	f.Add(bad, 3)
	f.Add("\xe2\x80", 1)
	f.Fuzz(func(t *testing.T, text string, piece int) {
		var out strings.Builder
		s := NewScreen(&out)
		piece = min(max(piece, 1), 1<<10)
		for rest := text; rest != ""; rest = rest[min(piece, len(rest)):] {
			_, _ = s.Write([]byte(rest[:min(piece, len(rest))])) // a builder takes everything
		}
		for _, r := range out.String() {
			if r != '\n' && r != '\t' && Harmful(r) {
				t.Fatalf("%q got through of %q", r, text)
			}
		}
		if strings.Count(out.String(), "\n") != strings.Count(text, "\n") || !utf8.ValidString(out.String()) {
			t.Fatalf("%q of %q", out.String(), text)
		}
	})
}
