package load

import "linerate/internal/unit"

// An exchange is a request that is written in two pieces, as a program writes
// that sends a header and then what follows it, and that waits for the answer
// before the next one. Nagle's algorithm (RFC 1122, section 4.2.3.4) is left on,
// unless Spec.NoDelay turns it off:
// where the second piece is small, it stays with the sender until the first one is
// acknowledged, which the receiver delays because it has nothing to answer yet.

const (
	// headerPiece is the first piece of a request.
	headerPiece = 128
	// leastExchange has room for both pieces.
	leastExchange = 2 * headerPiece
)

// exchange makes one request after the other until the session is stopped.
func (s *session) exchange(st *stream) error {
	if !s.spec.NoDelay { // a new connection of Go's has the algorithm off
		if err := st.wire.nagle(); err != nil {
			return err
		}
	}
	answer := make([]byte, 1)
	for !s.stop.Load() {
		for _, piece := range [][]byte{s.payload[:headerPiece], s.payload[headerPiece:s.spec.Exchange]} {
			if err := s.whole(st, piece); err != nil {
				return err
			}
		}
		for n := 0; n == 0 && !s.stop.Load(); {
			var err error
			if n, err = st.wire.recv(answer, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// whole writes all of a piece.
func (s *session) whole(st *stream, piece []byte) error {
	for len(piece) > 0 && !s.stop.Load() {
		n, err := st.wire.send(piece)
		st.moved.Add(int64(n))
		if err != nil {
			return err
		}
		piece = piece[n:]
	}
	return nil
}

// answer is the other side: a byte for each request that has come whole.
func (s *session) answer(st *stream, buf []byte) error {
	var answered int64
	yes := []byte{1}
	for !s.stop.Load() {
		n, err := st.wire.recv(buf, s.spec.Discard)
		moved := st.moved.Add(int64(n))
		if err != nil {
			return err
		}
		for answered < moved/int64(s.spec.Exchange) && !s.stop.Load() {
			n, err := st.wire.send(yes)
			if err != nil {
				return err
			}
			answered += int64(n)
		}
	}
	return nil
}

// checkExchange: what else shapes the stream has no meaning beside it.
func (s *Spec) checkExchange() string {
	switch {
	case s.Exchange == 0:
		return ""
	case s.Exchange < leastExchange || s.Exchange > block:
		return "requests of " + s.Exchange.String() + ", want " + unit.Bytes(leastExchange).String() + " to 1 MiB"
	case s.Rate > 0 || s.ReadRate > 0 || s.WriteSize > 0 || s.ZeroCopy:
		return "requests that wait for an answer have neither a rate nor a size of writes, and are copied"
	}
	return ""
}
