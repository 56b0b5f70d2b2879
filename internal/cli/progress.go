package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"linerate/internal/report/document"
)

// progress is the app.Progress of a terminal or a log: it tells on stderr what
// goes on, each line with the seconds since the start. On a terminal, lines of the same
// work replace each other.
type progress struct {
	mu    sync.Mutex
	w     *document.Screen
	began time.Time
	now   func() time.Time
	live  bool   // w is a terminal
	width int    // of it
	work  string // what the line that may be replaced is about
	told  map[string]bool
}

func newProgress(env *environment) *progress {
	live, width := isTerminal(env.err.Stream())
	live = live && env.Getenv("TERM") != "dumb" // which replaces no line
	return &progress{w: env.err, began: env.Now(), now: env.Now, live: live, width: width}
}

// Say implements app.Progress.
func (p *progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	work, _, counted := strings.Cut(text, ": run ")
	if !p.live || !counted {
		work = ""
	}
	p.print(work, text)
}

// Tick replaces the line about the same work. Where nobody watches a terminal it
// says nothing: a log has no use for it.
func (p *progress) Tick(work, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.print(work, work+": "+text)
	}
}

// print writes a line about some work, behind which the cursor stays; without work it
// is a line that nothing replaces.
func (p *progress) print(work, text string) {
	after := ""
	switch p.work {
	case "":
	case work:
		_ = p.w.Rewind() // a line too many harms less than an end of the work
	default:
		fmt.Fprintln(p.w)
	}
	if work == "" {
		after = "\n"
	} else {
		text = shorten(text, p.width-9)
	}
	p.work = work
	fmt.Fprintf(p.w, "%5.1fs  %s%s", p.now().Sub(p.began).Seconds(), ownLines(text), after)
}

// Live implements app.Progress.
func (p *progress) Live() bool { return p.live }

// Started implements app.Progress.
func (p *progress) Started() time.Time { return p.began }

// End closes a line that was left open.
func (p *progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.work != "" {
		p.work = ""
		fmt.Fprintln(p.w)
	}
}

// Detail prints what a room below had to say, once.
func (p *progress) Detail(line string) {
	p.mu.Lock()
	known := p.told[line]
	if p.told == nil {
		p.told = map[string]bool{}
	}
	p.told[line] = true
	p.mu.Unlock()
	if !known {
		p.Say("%s", line)
	}
}

// shorten cuts s to n characters.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
