package local

import (
	"context"
	"strings"

	"linerate/internal/move"
)

// Of a target on a server, files of several directories are written at once: kernels make and rename in
// one directory one after another, and each of them waits for the server.
const (
	servedFiles = 32   // in flight there, where the caller says nothing
	servedAhead = 8192 // entries that are held to find further directories among them
)

// served is a sink that may lie on a server.
type served interface {
	// Served tells so.
	Served() bool
}

// turns are files that wait, by directory. A directory with files in it has one place in the queue.
type turns struct {
	queue []*turn
	of    map[string]*turn
	held  int
}

type turn struct {
	dir   string
	files []*move.Entry
}

func (t *turns) add(e *move.Entry) {
	dir := e.Path[:max(0, strings.LastIndexByte(e.Path, '/'))]
	x := t.of[dir]
	if x == nil {
		x = &turn{dir: dir}
		t.of[dir] = x
		t.queue = append(t.queue, x)
	}
	x.files = append(x.files, e)
	t.held++
}

// next takes the file whose turn it is; there has to be one.
func (t *turns) next() *move.Entry {
	x := t.queue[0]
	t.queue = t.queue[1:]
	e := x.files[0]
	if x.files = x.files[1:]; len(x.files) > 0 {
		t.queue = append(t.queue, x)
	} else {
		delete(t.of, x.dir)
	}
	t.held--
	return e
}

// inTurns hands files on, of each directory one in turn, and closes out after the last.
func inTurns(ctx context.Context, in <-chan *move.Entry, out chan<- *move.Entry) error {
	defer close(out)
	t := turns{of: map[string]*turn{}}
	var waits *move.Entry // is offered
	for in != nil || waits != nil {
		more, to := in, out
		if t.held >= servedAhead {
			more = nil
		}
		if waits == nil {
			to = nil
		}
		select {
		case e, ok := <-more:
			if !ok {
				in = nil
				continue
			}
			t.add(e)
		case to <- waits:
			waits = nil
		case <-ctx.Done():
			return ctx.Err()
		}
		if waits == nil && t.held > 0 {
			waits = t.next()
		}
	}
	return nil
}
