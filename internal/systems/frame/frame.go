// Package frame reads what a fixed script of linerate printed on a host where linerate itself
// does not run: one frame for each command, between two marks. It refuses an answer whose end
// is missing, and a command that said nothing and yet reports success.
package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"linerate/internal/model"
)

// Frame is what one command of the script did.
type Frame struct {
	Name string
	Code int    // of its exit
	Text string // its output and its errors, as it printed them
}

// Frames by the name that the script gave each.
type Frames map[string]Frame

// Marks of the first and the last line; what a login prints before and after is not looked at.
const (
	first = "linerate-frames 1"
	last  = "linerate-frames end "
)

// ErrCut is that of an answer that is not whole.
var ErrCut = errors.New("the answer is cut off")

// Most is how many bytes an answer may have.
const Most = 8 << 20

// Parse reads an answer. A frame is "begin NAME CODE BYTES", a line end, so many bytes, and
// another line end; the last mark has the number of frames.
func Parse(answer []byte) (Frames, error) {
	answer, redirected := asPrinted(answer)
	f, err := parse(answer)
	if err != nil && redirected {
		return nil, fmt.Errorf("%w; a PowerShell wrote this file and changed it: record it from cmd, or by cmd /c \"… > FILE\"", err)
	}
	return f, err
}

// asPrinted undoes what a PowerShell does to what it redirects to a file: 5.1 writes UTF-16, and all of
// them end lines with CR and LF.
func asPrinted(answer []byte) (printed []byte, redirected bool) {
	if text, ok := bytes.CutPrefix(answer, []byte{0xff, 0xfe}); ok {
		units := make([]uint16, len(text)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(text[2*i:])
		}
		answer, redirected = []byte(string(utf16.Decode(units))), true
	}
	answer = bytes.TrimPrefix(answer, []byte("\ufeff"))
	if bytes.Contains(answer, []byte(first+"\r\n")) {
		answer, redirected = bytes.ReplaceAll(answer, []byte("\r\n"), []byte("\n")), true
	}
	return answer, redirected
}

func parse(answer []byte) (Frames, error) {
	rest, ok := start(answer)
	if !ok {
		return nil, fmt.Errorf("read the answer: %w before it began", ErrCut)
	}
	out := Frames{}
	for {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil, fmt.Errorf("read the answer after %d commands: %w", len(out), ErrCut)
		}
		if count, ok := strings.CutPrefix(string(line), last); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(count)); err != nil || n != len(out) {
				return nil, fmt.Errorf("read the answer: %d frames came, %q were sent", len(out), count)
			}
			return out, nil
		}
		f, size, err := header(string(line))
		if err != nil {
			return nil, err
		}
		if size >= len(after) {
			return nil, fmt.Errorf("read the answer of %s: %w", f.Name, ErrCut)
		}
		if _, twice := out[f.Name]; twice || after[size] != '\n' {
			return nil, fmt.Errorf("read the answer of %s: its frame does not end where it says", f.Name)
		}
		f.Text = string(after[:size])
		out[f.Name], rest = f, after[size+1:]
	}
}

// start is what follows the first mark, which is a line of its own.
func start(answer []byte) ([]byte, bool) {
	for rest := answer; len(rest) > 0; {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if ok && string(line) == first {
			return after, true
		}
		rest = after
	}
	return nil, false
}

func header(line string) (Frame, int, error) {
	w := strings.Fields(line)
	if len(w) != 4 || w[0] != "begin" {
		return Frame{}, 0, fmt.Errorf("read the answer: %q where a frame should begin", line)
	}
	code, err1 := strconv.Atoi(w[2])
	size, err2 := strconv.Atoi(w[3])
	if err := errors.Join(err1, err2); err != nil || size < 0 {
		return Frame{}, 0, fmt.Errorf("read the answer: %q where a frame should begin", line)
	}
	return Frame{Name: w[1], Code: code}, size, nil
}

// Exit codes of a shell that could not start a program.
const (
	notExecutable = 126
	notFound      = 127
)

// Text is the output of one command; without one the fact says why. Nothing at all with exit
// code 0 is no answer: a command that is only a shell of itself looks like that.
func (f Frames) Text(name string) model.Fact[string] {
	c, ok := f[name]
	said := strings.Join(strings.Fields(c.Text), " ")
	low := strings.ToLower(said)
	switch {
	case !ok:
		return model.Unknown[string](model.Absent, "it was not asked")
	case c.Code == notFound || c.Code == notExecutable:
		return model.Unknown[string](model.Unsupported, "the host has no such program")
	case c.Code != 0 && (strings.Contains(low, "permission denied") || strings.Contains(low, "not owner") ||
		strings.Contains(low, "insufficient priv") || strings.Contains(low, "only privile") || strings.Contains(low, "not permitted")):
		return model.Unknown[string](model.Denied, said)
	case c.Code != 0 && (strings.Contains(low, "no such file") || strings.Contains(low, "unknown property") ||
		strings.Contains(low, "no datasets available") || strings.Contains(low, "no such object")):
		return model.Unknown[string](model.Absent, said)
	case c.Code != 0:
		if said == "" {
			said = "its command printed nothing"
		}
		return model.Unknown[string](model.Absent, fmt.Sprintf("%s (exit code %d)", said, c.Code))
	case said == "":
		return model.Unknown[string](model.Absent, "it printed nothing and reported success, which is no answer")
	}
	return model.Known(c.Text)
}

// Split takes a line of ipadm's or dladm's parsable output apart: fields end at colons, and a
// backslash keeps the next character as it is.
func Split(line string) []string {
	var out []string
	var field strings.Builder
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			field.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == ':':
			out = append(out, field.String())
			field.Reset()
		default:
			field.WriteRune(r)
		}
	}
	return append(out, field.String())
}
