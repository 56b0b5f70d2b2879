package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"linerate/internal/move"
)

// Times of an end's parting.
const (
	lastWords  = 2 * time.Second // to tell the other end why
	lastHeard  = 4 * time.Second // to hear from it why the connections broke
	wasStopped = "it was interrupted"
)

// part has the control stream closed once ctx ends, after it was said why; heard is closed
// when nothing more is heard from the other end. Good tells that there is nothing to say.
// The caller waits with what is returned.
func (c *Conn) part(ctx context.Context, heard <-chan struct{}, good func() bool) (wait func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		defer c.Close()
		if good() {
			return
		}
		cause := context.Cause(ctx)
		if broken(cause) {
			select { // the other end may have said why
			case <-heard:
				return
			case <-time.After(lastHeard):
			}
		}
		text := cause.Error()
		if errors.Is(cause, context.Canceled) {
			text = wasStopped
		}
		c.farewell(text)
	})
	return func() {
		if stop() {
			_ = c.Close()
			return
		}
		<-done
	}
}

// broken tells whether an error is of a connection, or of the other end, and so tells it
// nothing. A full target is the answer to one entry: the end that gave it waits for more.
func broken(err error) bool {
	if errors.Is(err, move.ErrSink) {
		return false
	}
	var n *net.OpError
	var far *farError
	return errors.As(err, &n) || errors.As(err, &far) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// farewell says why the run is over, to an end that may hear nothing any more.
func (c *Conn) farewell(text string) {
	_ = c.raw.SetDeadline(time.Now().Add(lastWords)) // who holds the stream lets it go
	c.sending.Lock()
	defer c.sending.Unlock()
	c.last = time.Now().Add(lastWords)
	_ = c.frame(frame{kind: kindFail, meta: appendText(nil, text)})
}

// prefer is the other end's reason, where that is known: what broke here followed from it.
func prefer(err, heard error) error {
	var far *farError
	if err != nil && errors.As(heard, &far) && !errors.As(err, &far) {
		return heard
	}
	return err
}
