package wire

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
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

// closing is a connection that says when it is closed.
type closing struct {
	net.Conn
	closed func()
}

func (c *closing) Close() error {
	c.closed()
	return c.Conn.Close()
}

// partedSink finishes once all data streams have ended.
type partedSink struct {
	*memorySink
	ended <-chan struct{}
}

func (s partedSink) Finish(ctx context.Context) error {
	select {
	case <-s.ended:
		return s.memorySink.Finish(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// The data streams end while the receiver makes everything durable: their last round trip is not
// waited for after it.
func TestDataStreamsEndWhileTheReceiverFinishes(t *testing.T) {
	l, d := parties(t, false)
	connect, ended, n := d.Connect, make(chan struct{}), atomic.Int32{}
	var open sync.WaitGroup
	open.Add(2)
	go func() { open.Wait(); close(ended) }()
	d.Connect = func(ctx context.Context) (net.Conn, error) {
		c, err := connect(ctx)
		if err != nil || n.Add(1) == 1 { // the first is the control stream
			return c, err
		}
		return &closing{c, sync.OnceFunc(open.Done)}, nil
	}
	m, s := sampleTree(15), partedSink{newMemorySink(), ended}
	if _, _, send, receive := runEnds(t, d, l, m, s, Options{Streams: 2}); send != nil || receive != nil {
		t.Fatal(send, receive)
	}
	same(t, m, s.memorySink)
}

// fewParty has no stream from number less on.
type fewParty struct {
	Party
	less uint32
}

var errFew = errors.New("no more connections")

func (p fewParty) Stream(ctx context.Context, n uint32) (*Conn, error) {
	if n >= p.less {
		return nil, errFew
	}
	return p.Party.Stream(ctx, n)
}

// A further stream that does not come is not waited for: the copy goes on with those that it has,
// and ends.
func TestAStreamThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	l, d := parties(t, true)
	done := make(chan error, 1)
	go func() { done <- Receive(t.Context(), l, Nothing{}, move.NewReport(nil), Near{}, &Stats{}) }()
	s := &sender{side: side{party: fewParty{d, 3}, stats: &Stats{}}, o: Options{Streams: 2}, out: make(chan outgoing), finished: make(chan string, 1)}
	if err := s.meet(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, ctx := errgroup.WithContext(t.Context())
	g.Go(func() error {
		if err := s.listen(ctx); !errors.Is(err, errFinished) {
			return err
		}
		return nil
	})
	f := s.fan(ctx, g)
	if err := f.begin(); err != nil {
		t.Fatal(err)
	}
	if err := f.more(); err == nil || !strings.Contains(err.Error(), errFew.Error()) {
		t.Errorf("the third stream: %v", err)
	}
	f.enough()
	if err := s.finish(ctx); err != nil {
		t.Error(err)
	}
	if err := errors.Join(g.Wait(), s.control.Close()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error("the receiver:", err)
	}
}

// closedParty has no stream, and counts who asks for one.
type closedParty struct {
	Party
	asked *int
}

func (p closedParty) Stream(context.Context, uint32) (*Conn, error) {
	*p.asked++
	return nil, errFew
}

// Where a stream does not come, as behind a firewall that answers nothing, no other is waited for.
func TestAfterAStreamThatDoesNotComeNoneIsOpened(t *testing.T) {
	l, d := parties(t, false)
	go func() { _, _ = l.Stream(t.Context(), 0) }() // what it is told is not read
	s := &sender{side: side{party: d, stats: &Stats{}}}
	if err := s.meet(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := 0
	s.party = closedParty{d, &asked}
	f := s.fan(t.Context(), nil)
	if err := f.widen(8); err == nil || asked != 1 {
		t.Errorf("%d streams were asked for: %v", asked, err)
	}
	if err := s.control.Close(); err != nil {
		t.Error(err)
	}
}

// No stream is announced once the other end was told that nothing follows: it does not listen
// any more, and who waits for that stream would wait for ever.
func TestNoStreamIsAnnouncedAfterTheLastWord(t *testing.T) {
	l, d := parties(t, true)
	accepted := make(chan *Conn, 1)
	go func() {
		c, err := l.Stream(t.Context(), 0)
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	s := &sender{side: side{party: d, stats: &Stats{}}}
	if err := s.meet(t.Context()); err != nil {
		t.Fatal(err)
	}
	far := <-accepted
	f := s.fan(t.Context(), nil)
	n, err := f.announce()
	if err == nil && n == 1 {
		err = s.sendFinish()
	}
	if err != nil {
		t.Fatal(n, err)
	}
	if n, err := f.announce(); !errors.Is(err, errEnough) {
		t.Errorf("stream %d was announced: %v", n, err)
	}
	if err := s.control.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []kind{kindMore, kindFinish} {
		if k, _, _, err := far.receive(); k != want || err != nil {
			t.Errorf("%v arrived, want %v: %v", k, want, err)
		}
	}
	if k, _, _, err := far.receive(); err == nil {
		t.Errorf("%v arrived after the last word", k)
	}
}
