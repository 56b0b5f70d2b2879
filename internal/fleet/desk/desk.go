// Package desk is where a site is kept: its secrets, the tokens that admit hosts, the hosts that
// were admitted, and the site's log, in one directory that its owner alone may read. The process
// that holds the directory answers newcomers through the site's brokers, and other commands of
// the same user through a socket in that directory.
//
// It refuses to hand out the secrets of a site, to admit two hosts with one name or one token,
// to forget a line of the log, and to share its directory with a second process.
package desk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"linerate/internal/fleet"
	"linerate/internal/kernel"
)

// Files of a site's directory.
const (
	secretsName = "secrets.json"
	stateName   = "hosts.json"
	logName     = "log.jsonl"
	lockName    = "lock"
	socketName  = "desk"
)

// Brokers are told whom they let in no more.
type Brokers interface {
	// Account hands them the site's account, a JWT.
	Account(jwt string) error
}

// Desk is a site whose directory this process holds.
type Desk struct {
	dir string
	m   *fleet.Material
	now func() time.Time
	log *siteLog

	mu      sync.Mutex
	lock    *os.File
	book    *book
	heard   map[string]heard // by the host's ID
	seq     map[string]uint64
	brokers Brokers

	elsewhere []string // where brokers were before
}

// heard is the last that a host has said of itself since the desk was opened.
type heard struct {
	at    time.Time // by the desk's clock
	ahead time.Duration
	agent string
	about map[string]string
	ended bool

	earlier []string  // agents that it had before, the newest last
	twins   []string  // two agents that run at once, in words
	twinsAt time.Time // when that was last seen
}

// mostEarlier bounds how many agents of a host are remembered.
const mostEarlier = 16

// says takes what a host says of itself. An agent that speaks again after another has spoken is no
// earlier start of it: both run, with one identity.
func (x heard) says(w fleet.Word, now time.Time) heard {
	n := heard{at: now, ahead: w.At.Sub(now), agent: w.Agent, about: w.About, earlier: x.earlier, twins: x.twins, twinsAt: x.twinsAt}
	switch {
	case x.agent == "" || x.agent == w.Agent:
	case slices.Contains(x.earlier, w.Agent):
		n.twins, n.twinsAt = []string{inWords(x.agent, x.about), inWords(w.Agent, w.About)}, now
		slices.Sort(n.twins)
		fallthrough
	default:
		n.earlier = append(slices.DeleteFunc(slices.Clone(x.earlier), func(a string) bool { return a == x.agent }), x.agent)
		n.earlier = n.earlier[max(0, len(n.earlier)-mostEarlier):]
	}
	return n
}

func inWords(agent string, about map[string]string) string {
	return fmt.Sprintf("%s, boot %s", agent, about["boot"])
}

// HeldError: another process holds the site.
type HeldError struct{ Dir string }

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("another process holds the site in %s: end it first", e.Dir)
}

// Open takes a site's directory; where there is none it makes the site. servers are where hosts
// reach its brokers.
func Open(dir, site string, servers []string, now func() time.Time) (*Desk, error) {
	if err := errors.Join(fleet.CheckSite(site), fleet.CheckServers(servers)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of site %s: %w", site, err)
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	lock, err := kernel.LockFile(filepath.Join(dir, lockName))
	if errors.Is(err, kernel.ErrLocked) {
		return nil, &HeldError{dir}
	}
	if err != nil {
		return nil, fmt.Errorf("hold site %s: %w", site, err)
	}
	d := &Desk{dir: dir, now: now, lock: lock, heard: map[string]heard{}, seq: map[string]uint64{}}
	if err := d.read(site, servers); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// private refuses a directory that others may read or write, or that is another's.
func private(dir string) error {
	i, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if !i.IsDir() || i.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s (%s): want a directory that its owner alone may read: chmod 700", dir, i.Mode())
	}
	return nil
}

// read reads the site, or makes it.
func (d *Desk) read(site string, servers []string) error {
	at := filepath.Join(d.dir, secretsName)
	var m fleet.Material
	err := fleet.ReadPrivate(at, &m)
	switch {
	case errors.Is(err, os.ErrNotExist):
		made, err := fleet.NewMaterial(site, servers, d.now())
		if err != nil {
			return err
		}
		if err := fleet.WritePrivate(at, made); err != nil {
			return err
		}
		d.m = made
	case err != nil:
		return err
	case m.V != 1 || m.Site != site:
		return fmt.Errorf("%s is of site %q, version %d; want site %q, version 1", at, m.Site, m.V, site)
	default:
		d.m = &m
	}
	if !slices.Equal(d.m.Servers, servers) {
		d.elsewhere, d.m.Servers = d.m.Servers, servers
		if err := fleet.WritePrivate(at, d.m); err != nil {
			return err
		}
	}
	if d.book, err = openBook(d.dir, d.now); err != nil {
		return err
	}
	d.log, err = openLog(filepath.Join(d.dir, logName))
	return err
}

// Elsewhere is where the site's brokers were until now, if that has changed and hosts may call
// there still.
func (d *Desk) Elsewhere() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.book.Hosts) == 0 {
		return nil
	}
	return d.elsewhere
}

// Task is what a broker of the site that listens at host is given.
func (d *Desk) Task(host string, port int) (fleet.BrokerTask, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.m.Broker(host, port, d.book.revoked(), d.now())
}

// Attach takes the desk's place at the site's brokers; it hears newcomers and hosts until the
// returned Front is closed.
func (d *Desk) Attach(b Brokers, odd func(error)) (*fleet.Front, error) {
	d.mu.Lock()
	d.brokers = b
	d.mu.Unlock()
	return d.m.Front(fleet.Hearing{Enter: d.enter, Live: d.live, Happened: d.happened, Odd: odd})
}

// Close lets the directory go.
func (d *Desk) Close() error {
	var err error
	if d.log != nil {
		err = d.log.close()
	}
	if d.book != nil {
		err = errors.Join(err, d.book.close())
	}
	return errors.Join(err, kernel.UnlockFile(d.lock))
}

// live notes that a host is there.
func (d *Desk) live(w fleet.Word) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.book.byID(w.ID) != nil {
		d.heard[w.ID] = d.heard[w.ID].says(w, d.now())
	}
}

// happened writes what a host says into the site's log.
func (d *Desk) happened(w fleet.Word) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.book.byID(w.ID)
	if h == nil {
		return // who is not enrolled cannot be let in by brokers, unless they lie
	}
	run := w.ID + " " + w.Agent
	last, known := d.seq[run]
	if known && w.Seq <= last {
		return // said before: a broker repeats it
	}
	d.seq[run] = w.Seq
	if known && w.Seq > last+1 {
		d.write(Line{Event: "missed", Host: h.Name, ID: h.ID, About: map[string]string{"events": fmt.Sprint(w.Seq - last - 1)}})
	}
	d.write(Line{Event: w.Event, Host: h.Name, ID: h.ID, At: w.At, About: w.About})
	if w.Event == "ended" {
		x := d.heard[w.ID]
		x.at, x.agent, x.ended = d.now(), w.Agent, true
		d.heard[w.ID] = x
	}
}

// write adds a line to the site's log. One that cannot be written ends the desk's promise, and
// is said with each answer until it can.
func (d *Desk) write(l Line) {
	l.Time = d.now().UTC()
	d.log.add(l)
}
