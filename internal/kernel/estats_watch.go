package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// ErrNoConn is the error of Estats for a connection that is gone.
var ErrNoConn = errors.New("there is no such connection")

// mostEstats bounds how many connections are watched at once.
const mostEstats = 512

// EstatsBook remembers what is switched on beyond the end of this process.
type EstatsBook interface {
	// Keep records what this process has switched on or is about to, in place of what it recorded before:
	// durably, before it returns. None removes the record.
	Keep(all []EstatsSwitched) error
}

// EstatsWatch reads the connections of a Windows host. Their statistics are switched on when they
// are first read, and Close puts each back as it was. It is not for several goroutines at once.
type EstatsWatch struct {
	calls Estats
	book  EstatsBook
	seen  map[string]*estatsWatched // by row but for its state
	left  int                       // that did not fit
	why   error                     // of the last connection that could not be read
	lost  int                       // connections of that kind
}

// estatsWatched is a connection whose groups were looked at.
type estatsWatched struct {
	row   []byte
	pid   int
	wants []EstatsGroup // that are off, and are to be switched on
	ours  []EstatsGroup // that were off
	other []EstatsGroup // that were on before
	whole bool          // all of them could be read last
	why   error         // what stood in the way of a group that is needed
}

// NewEstatsWatch watches by these calls, and has the book know what it switches on before it does.
func NewEstatsWatch(calls Estats, book EstatsBook) *EstatsWatch {
	return &EstatsWatch{calls: calls, book: book, seen: map[string]*estatsWatched{}}
}

// Read reads the connections that f selects and that one of the processes holds; no process is all. A
// connection that cannot be read is left out: if all are, that is an error.
func (w *EstatsWatch) Read(f TCPFilter, pids []int) ([]model.Conn, error) {
	ends, err := w.list(f, pids)
	if err != nil {
		return nil, err
	}
	if err := w.switchOnAll(ends); err != nil {
		return nil, err
	}
	w.left, w.lost = 0, 0
	var out []model.Conn
	for _, e := range ends {
		s := w.seen[e.key()]
		if s == nil {
			w.left++
			continue
		}
		read := estatsRead{}
		for _, g := range slices.Concat(s.ours, s.other) {
			if b, on := w.group(e.row, g); on {
				read[g] = b
			}
		}
		s.whole = len(read) == len(s.ours)+len(s.other)
		if s.why != nil {
			w.lost, w.why = w.lost+1, s.why
		} else if c, ok := read.conn(e); ok {
			out = append(out, c)
		}
	}
	if w.lost > 0 && w.lost == len(ends) {
		return nil, fmt.Errorf("switch on the statistics of %s: %w", unit.Count(len(ends), "connection"), w.why)
	}
	return out, nil
}

// list is the connections that are wanted.
func (w *EstatsWatch) list(f TCPFilter, pids []int) ([]estatsEnds, error) {
	all, err := estatsTables(w.calls)
	return slices.DeleteFunc(all, func(e estatsEnds) bool {
		return !f.Match(e.local, e.remote) || len(pids) > 0 && !slices.Contains(pids, e.pid)
	}), err
}

// estatsTables is the connections of both families.
func estatsTables(calls Estats) ([]estatsEnds, error) {
	var out []estatsEnds
	for _, ipv6 := range []bool{false, true} {
		b, err := calls.Table(ipv6)
		if ipv6 && errors.Is(err, errors.ErrUnsupported) {
			continue // the host has no IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("list TCP connections: %w", err)
		}
		ends, err := ParseTCPTable(b, ipv6)
		if err != nil {
			return nil, fmt.Errorf("list TCP connections: %w", err)
		}
		out = append(out, ends...)
	}
	return out, nil
}

// switchOnAll switches on what is off of the connections that were not seen before, or are others at the same
// addresses since. What it switches on is in the book before.
func (w *EstatsWatch) switchOnAll(ends []estatsEnds) error {
	var fresh []*estatsWatched
	more := false
	for _, e := range ends {
		s := w.seen[e.key()]
		switch {
		case s != nil && (s.whole || s.why != nil):
			continue
		case s == nil && len(w.seen) >= mostEstats:
			continue
		case s == nil:
			s = &estatsWatched{row: e.row, pid: e.pid}
			w.seen[e.key()] = s
		}
		more = w.look(s) || more || s.pid != e.pid
		s.pid = e.pid
		fresh = append(fresh, s)
	}
	if more {
		if err := w.book.Keep(w.switched()); err != nil {
			for _, s := range fresh {
				s.wants = nil
			}
			return fmt.Errorf("record what is to be switched on, so that it can be switched off whatever happens: %w", err)
		}
	}
	failed := false
	for _, s := range fresh {
		failed = !w.switchOn(s) || failed
	}
	if failed { // then less is on than was recorded
		return w.book.Keep(w.switched())
	}
	return nil
}

// look finds out which groups are off, and whether some are new to the book.
func (w *EstatsWatch) look(s *estatsWatched) (more bool) {
	s.other, s.wants = nil, nil
	for _, g := range estatsGroups() {
		ours := slices.Contains(s.ours, g.group)
		switch _, on := w.group(s.row, g.group); {
		case !on:
			s.wants = append(s.wants, g.group)
			more = more || !ours
		case !ours:
			s.other = append(s.other, g.group)
		}
	}
	return more
}

// switchOn switches on what is wanted of a connection, and reads it back; all: it was accepted.
func (w *EstatsWatch) switchOn(s *estatsWatched) (all bool) {
	wants := s.wants
	s.wants = nil
	all = true
	for _, g := range wants {
		err := w.calls.Switch(s.row, g, true)
		if err != nil {
			all = false
		} else if !slices.Contains(s.ours, g) {
			s.ours = append(s.ours, g)
		}
		if _, on := w.group(s.row, g); err == nil && !on {
			err = fmt.Errorf("group %d was switched on, and is off", g)
		}
		if err != nil && g != estatsFineRTT { // round trips in milliseconds do
			if !errors.Is(err, ErrNoConn) {
				s.why = err
			}
			return false
		}
	}
	s.whole = true
	return all
}

// switched is what is on by this watch, or about to be.
func (w *EstatsWatch) switched() []EstatsSwitched {
	var out []EstatsSwitched
	for _, s := range w.seen {
		var groups []EstatsGroup
		for _, g := range estatsGroups() {
			if slices.Contains(s.ours, g.group) || slices.Contains(s.wants, g.group) {
				groups = append(groups, g.group)
			}
		}
		if len(groups) > 0 {
			out = append(out, EstatsSwitched{Row: s.row, PID: s.pid, Groups: groups})
		}
	}
	slices.SortFunc(out, func(a, b EstatsSwitched) int { return bytes.Compare(a.Row, b.Row) })
	return out
}

// group reads a group; on is false where it is off or cannot be read.
func (w *EstatsWatch) group(row []byte, g EstatsGroup) (b []byte, on bool) {
	b, rw, err := readGroup(w.calls, row, g)
	return b, err == nil && rw == 1
}

// readGroup reads a group as Estats.Read does.
func readGroup(calls Estats, row []byte, g EstatsGroup) (b []byte, rw byte, err error) {
	for _, x := range estatsGroups() {
		if x.group == g {
			b = make([]byte, x.size)
		}
	}
	rw, err = calls.Read(row, g, b)
	return b, rw, err
}

// Changed is how many connections had statistics switched on.
func (w *EstatsWatch) Changed() (n int) {
	for _, s := range w.seen {
		if len(s.ours) > 0 {
			n++
		}
	}
	return n
}

// Unread is how many connections were left out of the last reading, as too many or as unreadable.
func (w *EstatsWatch) Unread() int { return w.left + w.lost }

// Close switches off what was off before, and has the book forget it. Connections that are gone took it with
// them. What could not be switched off stays in the book.
func (w *EstatsWatch) Close() error {
	if len(w.seen) == 0 {
		return nil
	}
	ours := w.switched()
	w.seen = map[string]*estatsWatched{}
	left, err := switchOff(w.calls, ours)
	if kept := w.book.Keep(left); kept != nil {
		err = errors.Join(err, fmt.Errorf("record what is off again: %w", kept))
	}
	if err != nil {
		return fmt.Errorf("put back TCP statistics: %w", err)
	}
	return nil
}

// NeedsAdministrator tells whether a reading failed for want of the right to switch on statistics.
func NeedsAdministrator(err error) bool { return errors.Is(err, fs.ErrPermission) }
