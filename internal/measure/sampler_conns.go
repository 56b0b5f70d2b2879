package measure

import (
	"context"
	"errors"
	"slices"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

const (
	// relist is how long a new connection may stay unseen. Listing makes the kernel walk its
	// whole connection table, which costs more than all else that a sample consists of; lookups of
	// known connections do not disturb the measurement.
	relist = time.Second
	// relistUnopened is the same while the host's counters say that none was opened.
	relistUnopened = 30 * time.Second
	// fewConns is the largest number of connections for which lookups are cheaper than listing.
	fewConns = 32
)

// connReader reads the watched connections: it lists them until two consecutive lists agree, and
// from then on looks them up, listing again once a second and when one is gone.
type connReader struct {
	src    kernel.Source
	filter kernel.TCPFilter
	owners []int // processes whose connections, and those of their descendants, are watched too
	not    []int // processes whose connections, and those of their descendants, are not watched
	known  []model.Conn
	steady bool
	listed time.Time
	opens  int64 // connections that the host had opened before the list; -1: not known
}

func newConnReader(src kernel.Source, w Watch) connReader {
	return connReader{src: src, filter: kernel.TCPFilter{Addrs: w.Addrs, Ports: w.Ports}, owners: w.OwnedBy, not: w.NotOwnedBy}
}

// asked tells whether any connection is to be watched.
func (r *connReader) asked() bool { return r.filtered() || len(r.owners) > 0 }

func (r *connReader) filtered() bool { return len(r.filter.Addrs) > 0 || len(r.filter.Ports) > 0 }

func (r *connReader) read(ctx context.Context, out *model.Sample) error {
	opens := opened(out.SNMP)
	most := relist
	if opens >= 0 && opens == r.opens && len(r.owners) == 0 { // a process may be given a connection, too
		most = relistUnopened
	}
	if age := out.HostAt.Sub(r.listed); r.steady && (len(r.known) > 0 || most > relist) && len(r.known) <= fewConns && age >= 0 && age < most {
		conns, err := r.src.TCPAgain(ctx, r.known)
		if err == nil && len(conns) == len(r.known) {
			out.Conns = conns
			return nil
		}
	}
	conns, err := r.list(ctx)
	if err != nil {
		return err
	}
	r.steady = slices.EqualFunc(conns, r.known, func(a, b model.Conn) bool {
		return a.Local == b.Local && a.Remote == b.Remote && a.Inode == b.Inode
	})
	r.known, r.listed, r.opens = slices.Clone(conns), out.HostAt, opens
	out.Conns = conns
	return nil
}

// opened is how many connections the host has opened and accepted (RFC 4022, tcpActiveOpens and
// tcpPassiveOpens), since it started; -1: it does not say.
func opened(snmp map[string]int64) int64 {
	active, ok1 := snmp["Tcp.ActiveOpens"]
	passive, ok2 := snmp["Tcp.PassiveOpens"]
	if !ok1 || !ok2 {
		return -1
	}
	return active + passive
}

// list returns the connections that the filter selects and those that the owners hold, but for those
// that are left out.
func (r *connReader) list(ctx context.Context) ([]model.Conn, error) {
	all, err := r.wanted(ctx)
	if err != nil || len(r.not) == 0 {
		return all, err
	}
	held, err := r.held(r.not)
	return slices.DeleteFunc(all, func(c model.Conn) bool { return c.Inode != 0 && held[c.Inode] }), err
}

func (r *connReader) wanted(ctx context.Context) ([]model.Conn, error) {
	if len(r.owners) == 0 {
		return r.src.TCPConns(ctx, r.filter)
	}
	held, err := r.held(r.owners)
	if err != nil {
		return nil, err
	}
	all, err := r.src.TCPConns(ctx, kernel.TCPFilter{})
	return slices.DeleteFunc(all, func(c model.Conn) bool {
		return !(c.Inode != 0 && held[c.Inode]) && !(r.filtered() && r.filter.Match(c.Local, c.Remote))
	}), err
}

// held are the inodes of owners' sockets. An owner that ended holds none; a descendant of
// another user is left out.
func (r *connReader) held(owners []int) (map[uint32]bool, error) {
	held := map[uint32]bool{}
	for _, owner := range owners {
		for _, pid := range kernel.Family(r.src, owner) {
			inodes, err := kernel.Sockets(r.src, pid)
			if err != nil && pid == owner && !kernel.IsGone(err) {
				return nil, errors.Join(errOwner, err)
			}
			for _, i := range inodes {
				held[i] = true
			}
		}
	}
	return held, nil
}

var errOwner = errors.New("find the connections of a process")
