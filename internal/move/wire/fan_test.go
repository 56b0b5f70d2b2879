package wire

import (
	"context"
	"testing"
)

// lateParty has its stream 2 only after a channel was closed.
type lateParty struct {
	Party
	now <-chan struct{}
}

func (p lateParty) Stream(ctx context.Context, n uint32) (*Conn, error) {
	if n == 2 {
		select {
		case <-p.now:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return p.Party.Stream(ctx, n)
}

// finishedSink says when it was finished.
type finishedSink struct {
	*memorySink
	done chan struct{}
}

func (s finishedSink) Finish(ctx context.Context) error {
	defer close(s.done)
	return s.memorySink.Finish(ctx)
}

// A stream that takes long to open holds up no other: all is there before it is.
func TestAStreamThatOpensLateHoldsUpNothing(t *testing.T) {
	l, d := parties(t, false)
	m, s := sampleTree(13), finishedSink{newMemorySink(), make(chan struct{})}
	sent, received, send, receive := runEnds(t, lateParty{d, s.done}, l, m, s, Options{})
	if send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	same(t, m, s.memorySink)
	wantFailures(t, sent)
	wantFailures(t, received)
}
