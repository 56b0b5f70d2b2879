package document

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// Terminal codes (ECMA-48, and xterm's for the second screen) of pages that replace each other. The
// terminal does not wrap meanwhile (?7l): a name longer than a line would push the first lines out.
const (
	liveOpen  = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	liveClose = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	liveHome  = "\x1b[H"
	eraseLine = "\x1b[K"
	eraseRest = "\x1b[J"
)

// Live draws documents over each other on a terminal, whose own content comes back at the end.
type Live struct {
	More string // how to see what does not fit; empty: not said
	to   *Screen
	mu   sync.Mutex
	open bool
}

// Live begins with nothing drawn.
func (s *Screen) Live() *Live { return &Live{to: s} }

// Draw puts a document in the place of the one before. What does not fit into height lines is cut
// off, which the last line says. It fails when the stream does.
func (l *Live) Draw(d Document, color bool, width, height int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var page, out bytes.Buffer
	if err := d.Text(&page, color, width); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(page.String(), "\n"), "\n")
	if len(lines) > height {
		cut := len(lines) - height + 1
		lines = append(lines[:height-1], fmt.Sprintf("… %d lines more than this terminal shows%s", cut, l.More))
	}
	// What was there before is erased first: after a line as wide as the terminal the cursor stands on
	// its last character.
	for i := range lines {
		erase := eraseLine
		if i == len(lines)-1 {
			erase = eraseRest
		}
		lines[i] = erase + lines[i]
	}
	if !l.open {
		l.open = true
		out.WriteString(liveOpen)
	}
	out.WriteString(liveHome + strings.Join(lines, "\r\n"))
	return l.write(out.Bytes())
}

// Close leaves the terminal as it was. It fails when the stream does.
func (l *Live) Close() error { return l.Suspend(func() {}) }

// Suspend leaves the terminal as it was while stopped runs; the next document opens the second screen
// again. It fails when the stream does.
func (l *Live) Suspend(stopped func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer stopped()
	if !l.open {
		return nil
	}
	l.open = false
	return l.write([]byte(liveClose))
}

func (l *Live) write(b []byte) error {
	l.to.mu.Lock()
	defer l.to.mu.Unlock()
	if _, err := l.to.to.Write(b); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}
