package kernel

import (
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

// EstatsWatch reads the connections of a Windows host. Their statistics are switched on when they
// are first read, and Close puts each back as it was. It is not for several goroutines at once.
type EstatsWatch struct {
	calls Estats
	seen  map[string]*estatsWatched // by row but for its state
	left  int                       // that did not fit
	why   error                     // of the last connection that could not be read
	lost  int                       // connections of that kind
}

// estatsWatched is a connection whose groups were looked at.
type estatsWatched struct {
	row   []byte
	ours  []EstatsGroup // that were off
	other []EstatsGroup // that were on before
	whole bool          // all of them could be read last
	why   error         // what stood in the way of a group that is needed
}

// NewEstatsWatch watches by these calls.
func NewEstatsWatch(calls Estats) *EstatsWatch {
	return &EstatsWatch{calls: calls, seen: map[string]*estatsWatched{}}
}

// Read reads the connections that f selects and that one of the processes holds; no process is all. A
// connection that cannot be read is left out: if all are, that is an error.
func (w *EstatsWatch) Read(f TCPFilter, pids []int) ([]model.Conn, error) {
	ends, err := w.list(f, pids)
	if err != nil {
		return nil, err
	}
	w.left, w.lost = 0, 0
	var out []model.Conn
	for _, e := range ends {
		s := w.watch(e)
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
	var out []estatsEnds
	for _, ipv6 := range []bool{false, true} {
		b, err := w.calls.Table(ipv6)
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
		for _, e := range ends {
			if f.Match(e.local, e.remote) && (len(pids) == 0 || slices.Contains(pids, e.pid)) {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// watch switches on what is off of a connection that was not seen before, or is another one at the same
// addresses since. nil: there are too many.
func (w *EstatsWatch) watch(e estatsEnds) *estatsWatched {
	key := string(e.row[4:]) // without the state
	s := w.seen[key]
	switch {
	case s != nil && (s.whole || s.why != nil):
		return s
	case s == nil && len(w.seen) >= mostEstats:
		return nil
	case s == nil:
		s = &estatsWatched{row: e.row}
		w.seen[key] = s
	}
	s.other = nil
	for _, g := range estatsGroups() {
		if err := w.switchOn(s, g.group); err != nil && g.group != estatsFineRTT { // round trips in milliseconds do
			if !errors.Is(err, ErrNoConn) {
				s.why = err
			}
			return s
		}
	}
	s.whole = true
	return s
}

func (w *EstatsWatch) switchOn(s *estatsWatched, g EstatsGroup) error {
	ours := slices.Contains(s.ours, g)
	if _, on := w.group(s.row, g); on {
		if !ours {
			s.other = append(s.other, g)
		}
		return nil
	}
	if err := w.calls.Switch(s.row, g, true); err != nil {
		return err
	}
	if !ours {
		s.ours = append(s.ours, g)
	}
	if _, on := w.group(s.row, g); !on {
		return fmt.Errorf("group %d was switched on, and is off", g)
	}
	return nil
}

// group reads a group; on is false where it is off or cannot be read.
func (w *EstatsWatch) group(row []byte, g EstatsGroup) (b []byte, on bool) {
	for _, x := range estatsGroups() {
		if x.group == g {
			b = make([]byte, x.size)
		}
	}
	rw, err := w.calls.Read(row, g, b)
	return b, err == nil && rw == 1
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

// Close switches off what was off before. Connections that are gone took it with them.
func (w *EstatsWatch) Close() error {
	var failed []error
	for key, s := range w.seen {
		for _, g := range s.ours {
			if err := w.calls.Switch(s.row, g, false); err != nil && !errors.Is(err, ErrNoConn) {
				failed = append(failed, fmt.Errorf("switch off group %d: %w", g, err))
			} else if _, on := w.group(s.row, g); on {
				failed = append(failed, fmt.Errorf("group %d was switched off, and is on", g))
			}
		}
		delete(w.seen, key)
	}
	if len(failed) > 0 {
		return fmt.Errorf("put back TCP statistics, which end with their connections: %w (%d in all)", failed[0], len(failed))
	}
	return nil
}

// NeedsAdministrator tells whether a reading failed for want of the right to switch on statistics.
func NeedsAdministrator(err error) bool { return errors.Is(err, fs.ErrPermission) }
