package cli

import "fmt"

// tick replaces the line about the same work. Where nobody watches a terminal it
// says nothing: a log has no use for it.
func (p *progress) tick(work, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live {
		return
	}
	before := ""
	switch p.work {
	case work:
		before = "\r\x1b[K"
	case "":
	default:
		before = "\n"
	}
	p.work = work
	fmt.Fprintf(p.w, "%s%5.1fs  %s", before, p.now().Sub(p.started).Seconds(), shorten(work+": "+text, p.width-9))
}
