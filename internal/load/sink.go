package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// acceptAll listens until every stream has a proven connection, and then no
// more.
func (w *load) acceptAll(ctx context.Context, s *session) error {
	lc := net.ListenConfig{Control: w.spec.socketOptions(), KeepAlive: -1}
	lc.SetMultipathTCP(false) // it is TCP that is measured
	ln, err := lc.Listen(ctx, "tcp", netip.AddrPortFrom(w.spec.Bind, w.spec.Port).String())
	if err != nil {
		return fmt.Errorf("listen on data address: %w", err)
	}
	d := &door{spec: w.spec, proof: w.lim.proof, proven: make([]net.Conn, w.spec.Streams), full: make(chan struct{})}
	var wg sync.WaitGroup
	failed := make(chan error, 1)
	wg.Go(func() { failed <- d.acceptLoop(ln, &wg) })
	addr, err := netip.ParseAddrPort(ln.Addr().String())
	if err == nil {
		err = w.stage.Listening(addr)
	}
	if err == nil {
		select {
		case <-d.full:
		case err = <-failed:
		case <-ctx.Done():
			err = d.crowd(context.Cause(ctx))
		}
	}
	err = errors.Join(err, ln.Close())
	conns := d.shut()
	wg.Wait()
	s.refused, s.evicted = d.refused, d.evicted
	if err != nil {
		for _, c := range conns {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	return s.take(conns)
}
