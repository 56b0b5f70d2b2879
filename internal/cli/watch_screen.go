package cli

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"linerate/internal/app/watch"
	"linerate/internal/report/document"
)

// onScreen is a view that is drawn in place and takes keys. One goroutine has all of it, the view
// included: pictures come to it, and keys.
type onScreen struct {
	*view
	live     *document.Live
	pictures chan []watch.Picture
	over     chan struct{} // closed when no more pictures come
	gone     chan struct{} // closed when it has left the terminal
	failed   error         // why it left the terminal; after that

	last   scene  // what was seen last
	held   *scene // what is shown instead
	order  []string
	chosen string // the path that Enter opens; empty: the first
	opened string // the path that is shown alone; empty: all
	top    int    // the line at which the list began, when a path was opened
	help   bool
	before int  // the first line of what the help covers
	ended  bool // no more pictures come
}

// scene is one moment, of which a page is made.
type scene struct {
	at      time.Time
	all     []watch.Picture
	under   map[string]beneath
	changes []string
}

// open takes the terminal. Where that cannot be had, changes are printed as lines.
func (v *view) open() {
	env := v.env
	file, ok := env.out.Stream().(*os.File)
	if !ok {
		v.drawn = false
		return
	}
	live, err := document.OpenLive(file, env.color)
	if err != nil {
		v.drawn = false
		env.err.Printf("linerate: changes are printed as lines: %v\n", err)
		return
	}
	v.terminal.Store(live)
	v.screen = newOnScreen(v, live)
	go v.screen.run()
}

func newOnScreen(v *view, live *document.Live) *onScreen {
	return &onScreen{view: v, live: live, pictures: make(chan []watch.Picture), over: make(chan struct{}), gone: make(chan struct{})}
}

// crashed gives the terminal back before a panic ends the program, whatever goroutine it is of.
func (v *view) crashed() {
	if live := v.terminal.Load(); live != nil {
		live.Leave()
	}
}

// end leaves the terminal, if the view has it.
func (v *view) end() error {
	v.quit()
	if v.screen == nil {
		return nil
	}
	<-v.screen.gone
	return v.screen.failed
}

// show hands over the pictures of one moment.
func (s *onScreen) show(all []watch.Picture) error {
	select {
	case s.pictures <- all:
		return nil
	case <-s.gone:
		return errSeen
	}
}

// stay leaves the last picture of a recording there until the user wants no more.
func (s *onScreen) stay() {
	close(s.over)
	<-s.gone
}

// run draws until the view is done or the user wants no more, which ends the view.
func (s *onScreen) run() {
	defer close(s.gone)
	defer s.quit()
	release := func() error { return nil }
	if on, _ := isTerminal(s.env.err.Stream()); on {
		release = s.env.err.Hold()
	}
	defer func() { s.failed = errors.Join(s.failed, release()) }()
	defer s.live.Close()
	stops, end := onStop()
	defer end()
	over := s.over
	for {
		select {
		case <-s.done:
			return
		case all := <-s.pictures:
			s.take(all)
		case <-over:
			over, s.ended = nil, true
			s.draw()
		case <-stops:
			s.failed = s.live.Suspend(stopSelf)
		case key := <-s.live.Keys():
			if key == "Ctrl-C" || key == document.HungUp || key == "q" && !s.help {
				return
			}
			s.press(key)
		}
		if s.failed != nil {
			return
		}
	}
}

// take draws what is seen now, or keeps it for later.
func (s *onScreen) take(all []watch.Picture) {
	s.note(all)
	s.last.at, s.last.all = s.env.Now(), all
	if len(all) > 0 {
		s.last.at = all[0].At // of a recording, too
	}
	s.follow(s.followed())
	s.draw()
}

// followed are the paths that have a timeline and a ladder: the first, and the one that is looked at.
func (s *onScreen) followed() []watch.Picture {
	some := slices.Clone(s.last.all[:min(len(s.last.all), mostTimelines)])
	if i := place(s.last.all, s.opened); i >= len(some) {
		some = append(some, s.last.all[i])
	}
	return some
}

// place is where a path is among others; -1: it is not there.
func place(all []watch.Picture, path string) int {
	return slices.IndexFunc(all, func(p watch.Picture) bool { return p.Path == path })
}

// press does what a key is for. While the keys are shown any of them leaves that, but those that scroll.
func (s *onScreen) press(key string) {
	if s.live.Scroll(key) {
		return
	}
	if s.help && key != document.Resized {
		s.help = false
		s.live.SetTop(s.before)
		s.draw()
		return
	}
	switch key {
	case "p", " ":
		s.hold()
	case "?":
		s.help, s.before = true, s.live.Top()
		s.live.SetTop(0)
	case "Enter":
		if s.opened == "" && len(s.order) > 1 {
			s.look(s.order[s.at()])
		}
	case "Esc", "Backspace":
		if s.opened == "" {
			return
		}
		s.opened = ""
		s.live.SetTop(s.top)
	case "Tab":
		s.step(1)
	case "Backtab":
		s.step(-1)
	case "Ctrl-L":
		s.live.Redraw()
		return
	case "Ctrl-Z":
		s.failed = stopAll()
		return
	default:
		if n := strings.Index("123456789", key); len(key) == 1 && n >= 0 && n < len(s.order) && len(s.order) > 1 {
			s.look(s.order[n])
		}
	}
	s.draw()
}

// at is the place of the chosen path in the list.
func (s *onScreen) at() int { return max(0, slices.Index(s.order, s.chosen)) }

// look opens a path.
func (s *onScreen) look(path string) {
	if s.opened == "" {
		s.top = s.live.Top()
	}
	s.opened, s.chosen = path, path
	s.live.SetTop(0)
}

// step goes to the next path, or the one before: to look at it where one is looked at.
func (s *onScreen) step(by int) {
	if len(s.order) < 2 {
		return
	}
	s.chosen = s.order[(s.at()+by+len(s.order))%len(s.order)]
	if s.opened != "" {
		s.look(s.chosen)
	} else {
		s.live.Reveal()
	}
}

// hold keeps the picture as it is, or lets it go on.
func (s *onScreen) hold() {
	if s.held != nil {
		s.held = nil
		return
	}
	m := s.now()
	s.held = &m
}

// now is what was seen last, for the width that the terminal has.
func (s *onScreen) now() scene {
	m := s.last
	m.under, m.changes = s.beneath(s.followed(), s.live.Width()), s.listed()
	return m
}

func (s *onScreen) draw() {
	if s.last.at.IsZero() {
		return
	}
	m := s.now()
	if s.held != nil {
		m = *s.held
	}
	foot := document.Foot{Say: m.at.Local().Format(time.TimeOnly), Keys: []string{"q quit", "? keys"}}
	switch {
	case s.opened != "":
		foot.Keys = slices.Insert(foot.Keys, 0, "Esc back")
	case len(m.all) > 1:
		foot.Keys = append(foot.Keys, "Enter open")
	}
	switch {
	case s.held != nil:
		foot.Say, foot.Keys = "held since "+foot.Say, slices.Insert(foot.Keys, 0, "p go on")
	case s.ended:
		foot.Say = "the recording is over"
	default:
		foot.Keys = append(foot.Keys, "p hold")
	}
	if len(m.all) > 1 {
		foot.Keys = append(foot.Keys, "Tab next")
	}
	foot.Keys = append(foot.Keys, "↑↓ scroll")
	page := s.page(m)
	if s.help {
		page, foot.Keys = keysPage(), []string{"any key goes back"}
	}
	s.live.Draw(page, foot)
}

// page is all paths, or the one that is looked at. Many are listed alone.
func (s *onScreen) page(m scene) document.Document {
	s.order = s.order[:0]
	for _, p := range byUrgency(m.all) {
		s.order = append(s.order, p.Path)
	}
	i := place(m.all, s.opened)
	switch {
	case s.opened != "" && i < 0:
		return saying(s.opened + " is no longer there")
	case s.opened != "":
		return watchPage(m.all[i:i+1], m.under, m.changes)
	case len(m.all) < 2:
		return watchPage(m.all, m.under, m.changes)
	}
	d := document.Document{Sections: []document.Section{keyedGrid(m.all, s.order[s.at()])}}
	if len(m.all) <= mostTimelines {
		d.Sections = append(d.Sections, pathSections(m.all, m.under)...)
	}
	if len(m.changes) > 0 {
		d.Add("What changed", document.List("", m.changes...))
	}
	return d
}

// keysPage says what each key and each sign is for.
func keysPage() document.Document {
	pairs := func(of ...[2]string) (b document.Block) {
		for _, p := range of {
			b.Pairs = append(b.Pairs, document.Pair{Name: p[0], Value: p[1]})
		}
		return b
	}
	d := document.Document{Labels: 18}
	d.Add("Keys", pairs(
		[2]string{"q, Ctrl-C", "end"},
		[2]string{"↑ ↓, j k", "scroll by a line"},
		[2]string{"PgUp PgDn", "scroll by a page"},
		[2]string{"Home End, g G", "to the beginning, to the end"},
		[2]string{"Tab, Shift-Tab", "to the next path, to the one before"},
		[2]string{"Enter, 1 to 9", "open the marked path, or the one with this digit"},
		[2]string{"Esc", "back to all paths"},
		[2]string{"p, space", "hold the picture, and let it go on; what happens meanwhile is not lost"},
		[2]string{"Ctrl-L", "draw all again"},
		[2]string{"Ctrl-Z", "stop; fg continues"},
	))
	d.Add("Signs", pairs(
		[2]string{"▲", "something holds the path back"},
		[2]string{"●", "at its ceiling"},
		[2]string{"?", "cannot tell"},
		[2]string{"–", "idle"},
		[2]string{"◌", "starting"},
		[2]string{"✕", "stale or lost"},
	), document.Block{Text: "A bar is what is carried, of the ceiling. All numbers: docs/watch.md."})
	return d
}
