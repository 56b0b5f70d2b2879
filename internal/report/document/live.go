package document

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v3"
	"golang.org/x/text/encoding"
)

// Live draws documents on a terminal, one in the place of the other, and hears its keys. Of what changed
// only the cells are sent. The terminal's own content comes back at the end. It is one goroutine's.
type Live struct {
	screen tcell.Screen
	color  bool
	keys   chan string
	closed chan struct{}

	lines  []string // of the document, with their styles
	chosen int      // which of them has the chosen rung; -1: none
	reveal bool     // the next picture shows it
	top    int      // the first line that is shown
	foot   Foot
}

// Foot is the last line of the terminal: what is to be said, which lines are shown, and which keys there
// are, the first of them where not all have room.
type Foot struct {
	Say  string
	Keys []string
}

// OpenLive takes the terminal that a stream is. It fails where the keys of that cannot be had.
func OpenLive(out *os.File, color bool) (*Live, error) {
	// The terminal is opened again, for an open file description of its own: what tcell sets on
	// that is not left to the shell. The way through /proc also leads to a terminal other than the
	// process's own, and to that of a session without one (su -c).
	dev := fmt.Sprintf("/proc/self/fd/%d", out.Fd())
	tty, err := tcell.NewDevTtyFromDev(dev)
	if err != nil {
		dev = "/dev/tty"
		tty, err = tcell.NewDevTty()
	}
	if err != nil {
		return nil, fmt.Errorf("open the terminal: %w", err)
	}
	return LiveOn(ownReader(tty, dev), color)
}

// LiveOn draws on a terminal. It sends the terminal no query: the answer would take a round trip,
// or arrive when another program reads.
func LiveOn(tty tcell.Tty, color bool) (*Live, error) {
	// linerate prints UTF-8 in any locale, so it does here too. If tcell 3.6.0 checks what is
	// typed, it waits for ever for the rest of bytes that are not UTF-8.
	tcell.SetEncodingFallback(tcell.EncodingFallbackUTF8)
	for _, name := range []string{"UTF-8", "UTF8", "US-ASCII", "ASCII", "ISO646"} {
		tcell.RegisterEncoding(name, encoding.Nop)
	}
	colors := tcell.OptColors(0)
	if color {
		colors = tcell.OptColors(8)
	}
	screen, err := tcell.NewTerminfoScreenFromTty(tty, tcell.OptNegotiation(false), colors)
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return nil, fmt.Errorf("open the terminal: %w", err)
	}
	l := &Live{screen: screen, color: color, keys: make(chan string), closed: make(chan struct{}), chosen: -1}
	go l.listen()
	return l, nil
}

// Keys that are no keys: the terminal has another size, or is gone.
const (
	Resized = "Resized"
	HungUp  = "HungUp"
)

// Keys delivers what is pressed: a character, or a name such as Up, PgDn, Esc or Ctrl-C; and Resized,
// HungUp. It ends with Close.
func (l *Live) Keys() <-chan string { return l.keys }

func (l *Live) listen() {
	defer close(l.keys)
	for event := range l.screen.EventQ() {
		name := keyName(event)
		if name == "" {
			continue
		}
		select {
		case l.keys <- name:
		case <-l.closed:
			return
		}
	}
}

func keyName(event tcell.Event) string {
	switch e := event.(type) {
	case *tcell.EventResize:
		return Resized
	case *tcell.EventError:
		return HungUp
	case *tcell.EventKey:
		if e.Key() != tcell.KeyRune {
			return tcell.KeyNames[e.Key()]
		}
		if e.Modifiers()&^tcell.ModShift == 0 {
			return e.Str()
		}
	}
	return ""
}

// Width is how many columns the terminal has.
func (l *Live) Width() int {
	width, _ := l.screen.Size()
	return width
}

// Draw puts a document in the place of the one before, from the line on that was the first.
func (l *Live) Draw(d Document, foot Foot) {
	var page strings.Builder
	_ = d.Text(&page, l.color, l.Width()) // a builder takes everything
	l.lines = strings.Split(strings.TrimSuffix(page.String(), "\n"), "\n")
	l.chosen = slices.IndexFunc(l.lines, func(s string) bool { return strings.Contains(s, sgrReverse) })
	l.foot = foot
	l.paint()
}

// Redraw sends all of it again, for a terminal on which somebody else wrote.
func (l *Live) Redraw() {
	l.paint()
	l.screen.Sync()
}

// Reveal has the next picture show the chosen rung.
func (l *Live) Reveal() { l.reveal = true }

// Top is the first line that is shown.
func (l *Live) Top() int { return l.top }

// SetTop has the next picture begin with a line, as far as that is there.
func (l *Live) SetTop(line int) { l.top = line }

// Scroll moves the picture if that is what a key is for, and tells whether it is.
func (l *Live) Scroll(key string) bool {
	_, height := l.screen.Size()
	page := max(1, height-2) // of what was seen a line stays
	switch key {
	case "Up", "k":
		l.top--
	case "Down", "j":
		l.top++
	case "PgUp":
		l.top -= page
	case "PgDn":
		l.top += page
	case "Home", "g":
		l.top = 0
	case "End", "G":
		l.top = len(l.lines)
	default:
		return false
	}
	l.paint()
	return true
}

// Suspend leaves the terminal as it was while stopped runs. It fails where the terminal cannot be had
// again.
func (l *Live) Suspend(stopped func()) error {
	if err := l.screen.Suspend(); err != nil {
		return fmt.Errorf("leave the terminal: %w", err)
	}
	stopped()
	if err := l.screen.Resume(); err != nil {
		return fmt.Errorf("come back to the terminal: %w", err)
	}
	l.Redraw()
	return nil
}

// Leave gives the terminal back before the program ends with a panic; any goroutine may call it.
func (l *Live) Leave() { l.screen.Fini() }

// Close leaves the terminal as it was.
func (l *Live) Close() {
	close(l.closed)
	l.screen.Fini()
}

func (l *Live) paint() {
	width, height := l.screen.Size()
	shown := max(0, height-1)
	if l.reveal && l.chosen >= 0 {
		l.top = min(max(l.top, l.chosen-shown+1), l.chosen)
	}
	l.reveal = false
	l.top = max(0, min(l.top, len(l.lines)-shown))
	for y := range shown {
		text := ""
		if l.top+y < len(l.lines) {
			text = l.lines[l.top+y]
		}
		l.put(y, text)
	}
	l.put(shown, sgrReverse+l.foot.text(l.top, shown, len(l.lines), width))
	l.screen.Show()
}

// text is the last line, in so many columns.
func (f Foot) text(top, shown, all, width int) string {
	part := fmt.Sprintf("lines %d-%d of %d", top+1, min(top+shown, all), all)
	if all <= shown {
		part = "all shown"
	}
	out := " " + Plain(f.Say) + "  " + part
	for _, k := range f.Keys {
		if length(out)+2+length(k) < width {
			out += "  " + k
		}
	}
	return out
}

// put fills a line of the terminal with a text and its styles. A character is put with the marks that
// belong to it, in as many cells as it takes.
func (l *Live) put(y int, text string) {
	width, _ := l.screen.Size()
	style, x := tcell.StyleDefault, 0
	for text != "" && x < width {
		if code, rest, ok := cutStyle(text); ok {
			style, text = styled(style, code), rest
			continue
		}
		n := 0
		if text, n = l.screen.Put(x, y, text, style); n == 0 {
			break
		}
		x += n
	}
	for ; x < width; x++ {
		l.screen.Put(x, y, " ", style)
	}
}

// cutStyle takes a code (ECMA-48, SGR) off the beginning of a line. There are no others than those of
// this package: what comes from elsewhere is Plain.
func cutStyle(text string) (code, rest string, ok bool) {
	after, ok := strings.CutPrefix(text, "\x1b[")
	if !ok {
		return "", text, false
	}
	return strings.Cut(after, "m")
}

// styled is a style after a code.
func styled(s tcell.Style, code string) tcell.Style {
	for part := range strings.SplitSeq(code, ";") {
		switch n, _ := strconv.Atoi(part); { // what is no number is 0
		case n == 0:
			s = tcell.StyleDefault
		case n == 1:
			s = s.Bold(true)
		case n == 2:
			s = s.Dim(true)
		case n == 7:
			s = s.Reverse(true)
		case n >= 30 && n < 38:
			s = s.Foreground(tcell.PaletteColor(n - 30))
		}
	}
	return s
}
