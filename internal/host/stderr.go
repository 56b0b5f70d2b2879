package host

import (
	"strings"
	"sync"
)

// maxTail is how much of the end of a process's stderr is kept for error messages.
const maxTail = 2 << 10

// tail keeps the end of what was written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - maxTail; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

// all is what it kept.
func (t *tail) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// last is the last line written.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.TrimSpace(string(t.b))
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// lineWriter passes on whole lines of an agent's stderr, without characters that could control
// a terminal.
type lineWriter struct {
	tail *tail
	log  func(line string)
	rest []byte
}

// Write implements io.Writer.
func (l *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for _, c := range b {
		if c == '\n' || len(l.rest) >= maxTail {
			l.flush()
		}
		if c != '\n' {
			l.rest = append(l.rest, c)
		}
	}
	return n, nil
}

// flush passes on an incomplete last line.
func (l *lineWriter) flush() {
	line := strings.Map(harmless, strings.ToValidUTF8(string(l.rest), ""))
	l.rest = l.rest[:0]
	if strings.TrimSpace(line) == "" {
		return
	}
	// A tail accepts everything.
	_, _ = l.tail.Write([]byte(line + "\n"))
	l.log(line)
}
