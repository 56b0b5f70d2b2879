package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/model"
)

// atOnce is how many streams knock at once, at most: a proof takes three round trips, so that many
// streams one after the other would take long on a long path. The sink holds at least a quarter of its
// places for a source that nobody announced.
const atOnce = 8

// connectAll brings up the source's streams: the first alone, which tells whether the sink can be
// reached, and then several at once.
func (w *load) connectAll(ctx context.Context, s *session) error {
	conns := make([]net.Conn, w.spec.Streams)
	up := func(ctx context.Context, i int) (err error) {
		ctx, cancel := context.WithTimeoutCause(ctx, w.lim.connect, fmt.Errorf("%w (within %v)", errUnanswered, w.lim.connect))
		defer cancel()
		if conns[i], err = w.connect(ctx, uint32(i)); err != nil {
			return fmt.Errorf("connect stream %d to %v: %w", i, w.spec.Peer, err)
		}
		return nil
	}
	err := up(ctx, 0)
	if err == nil {
		all, ctx := errgroup.WithContext(ctx)
		all.SetLimit(min(atOnce, max(1, w.spec.maxConns()/4)))
		for i := range conns[1:] {
			all.Go(func() error { return up(ctx, i+1) })
		}
		err = all.Wait()
	}
	if err == nil {
		return s.take(conns)
	}
	for _, c := range conns {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// maxBusy is how often a source comes back to a sink that others flood: over seconds, and
// never beyond the time for all connections.
const maxBusy = 30

// connect makes one proven connection. A sink that is flooded by others may
// let go of a connection in the middle of the proof, so that is tried again.
func (w *load) connect(ctx context.Context, stream uint32) (net.Conn, error) {
	var err error
	evicted := 0
	for try := 0; try < 5+evicted; try++ {
		if perr := pause(ctx, min(time.Duration(try*try)*20*time.Millisecond, 320*time.Millisecond)); perr != nil {
			if evicted > 0 && errors.Is(perr, errUnanswered) {
				return nil, flooded(evicted)
			}
			if err != nil {
				perr = fmt.Errorf("%w; %w", perr, err)
			}
			return nil, perr
		}
		var c net.Conn
		if c, err = w.connectOnce(ctx, stream); err == nil {
			return c, nil
		}
		if errors.Is(err, errBusy) {
			evicted = min(evicted+1, maxBusy)
			continue
		}
		if evicted > 0 && errors.Is(context.Cause(ctx), errUnanswered) {
			return nil, flooded(evicted) // it did answer: the network lets TCP through
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) &&
			!errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			return nil, err
		}
	}
	if evicted > 0 {
		return nil, flooded(evicted)
	}
	return nil, fmt.Errorf("the sink closes the connection during the proof, as it does when the tokens differ or when others flood it: %w", err)
}

// flooded is why a source that was let go so many times gives up.
func flooded(evicted int) error {
	return fmt.Errorf("tried %d times: %w; let no other host than the source reach the sink's port, and nobody else on the source, or use another port", evicted, errBusy)
}

func (w *load) connectOnce(ctx context.Context, stream uint32) (net.Conn, error) {
	d := net.Dialer{
		LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(w.spec.Bind, 0)),
		Control:   w.spec.socketOptions(),
		KeepAlive: -1, // a run is shorter than any keepalive
	}
	d.SetMultipathTCP(false) // it is TCP that is measured
	began := time.Now()
	c, err := d.DialContext(ctx, "tcp", w.spec.Peer.String())
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if how, ok := refusal(err); ok {
		return nil, &UnreachedError{model.Unreached{How: how, From: w.spec.Bind, To: w.spec.Peer, Waited: time.Since(began), Text: err.Error()}}
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	err = c.SetDeadline(time.Now().Add(w.lim.proof))
	if err == nil {
		err = proveAsSource(c, rand.Reader, w.spec.Token, stream)
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
