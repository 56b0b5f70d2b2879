package measure

import (
	"context"
	"slices"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

const (
	// relist is how long a new connection may stay unseen. Listing makes the
	// kernel walk its whole connection table; looking up known connections
	// does not disturb what is being measured.
	relist = time.Second
	// fewConns is up to how many connections looking up beats listing.
	fewConns = 32
)

// connReader reads the watched connections: it lists them until two lists in
// a row agree, and from then on looks them up, listing again once a second
// and when one is gone.
type connReader struct {
	src    kernel.Source
	filter kernel.TCPFilter
	known  []model.Conn
	steady bool
	listed time.Time
}

func (r *connReader) read(ctx context.Context, out *model.Sample) error {
	if age := out.HostAt.Sub(r.listed); r.steady && len(r.known) > 0 && len(r.known) <= fewConns && age >= 0 && age < relist {
		conns, err := r.src.TCPAgain(ctx, r.known)
		if err == nil && len(conns) == len(r.known) {
			out.Conns = conns
			return nil
		}
	}
	conns, err := r.src.TCPConns(ctx, r.filter)
	if err != nil {
		return err
	}
	r.steady = slices.EqualFunc(conns, r.known, func(a, b model.Conn) bool {
		return a.Local == b.Local && a.Remote == b.Remote && a.Inode == b.Inode
	})
	r.known, r.listed = slices.Clone(conns), out.HostAt
	out.Conns = conns
	return nil
}
