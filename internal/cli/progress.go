package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells on stderr what goes on, each line with the seconds since the
// start.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	started time.Time
	now     func() time.Time
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "%5.1fs  %s\n", p.now().Sub(p.started).Seconds(), fmt.Sprintf(format, args...))
}

// detail prints what a room below had to say.
func (p *progress) detail(line string) { p.say("%s", line) }
