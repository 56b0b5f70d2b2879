package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"linerate/internal/kernel"
)

// maxWorkers bounds the processes of an agent: one for each direction of each load with an end
// on this host, and one for each copy.
const maxWorkers = 64

// process is a worker or a mover: this program in a role of its own. Its task is the first line
// of its stdin; each line of its stdout is an event.
type process struct {
	role    string
	events  events
	longest int // bytes of a line
	pid     int
	stdin   io.WriteCloser
	cancel  context.CancelFunc
	gone    <-chan struct{} // closed when it was told to end
	errs    tail
	ended   chan struct{} // closed when the process is gone
	endErr  error         // read only after ended

	mu      sync.Mutex
	rest    []byte
	changed chan struct{} // closed and replaced when events come or go
}

// events are what a process has said. The process's mutex guards them.
type events interface {
	// add takes one line.
	add(line []byte) error
	// full makes the process wait until events are taken.
	full() bool
}

// order is how a process is started.
type order struct {
	argv    []string // without the role
	role    string
	task    any
	longest int           // bytes of an event
	ending  time.Duration // that it has to end by itself, before it is killed
	log     io.Writer
}

// spawn starts a process and sends it its task.
func spawn(o order, e events) (*process, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{role: o.role, events: e, longest: o.longest, cancel: cancel, gone: ctx.Done(), ended: make(chan struct{}), changed: make(chan struct{})}
	cmd := kernel.Exec(ctx, append(o.argv[:len(o.argv):len(o.argv)], o.role)...)
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", o.role, err)
	}
	cmd.Stdout = p
	cmd.Stderr = io.MultiWriter(&p.errs, o.log)
	// The end of its input stops a process; if it does not stop, it is killed.
	cmd.Cancel, cmd.WaitDelay = p.stdin.Close, o.ending
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", o.role, err)
	}
	p.pid = cmd.Process.Pid
	go func() {
		p.endErr = cmd.Wait()
		close(p.ended)
	}()
	if err := p.tellJSON(o.task); err != nil {
		p.stop()
		return nil, fmt.Errorf("start %s: %w", o.role, errors.Join(err, p.why()))
	}
	return p, nil
}

// Write takes the stdout of the process apart. A line that is too long or no event ends the
// process; it waits while its events are full.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, b...)
	for {
		line, rest, ok := bytes.Cut(p.rest, []byte{'\n'})
		if !ok {
			if len(p.rest) > p.longest {
				return 0, fmt.Errorf("read %s event: longer than %d bytes", p.role, p.longest)
			}
			return len(b), nil
		}
		if err := p.events.add(line); err != nil {
			return 0, fmt.Errorf("read %s event: %w", p.role, err)
		}
		p.rest = rest
		p.change()
		if err := p.room(); err != nil {
			return 0, err
		}
	}
}

// change wakes who waits for events to come or go; p.mu is held.
func (p *process) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// room waits until there is room for an event; p.mu is held, but not while it waits.
func (p *process) room() error {
	for p.events.full() {
		changed := p.changed
		p.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-p.gone:
			err = fmt.Errorf("nobody takes the events of the %s", p.role)
		}
		p.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// await waits until look finds among the events what it looks for, and tells whether it took
// some of them.
func (p *process) await(ctx context.Context, look func() (found, took bool)) error {
	try := func() (bool, chan struct{}) {
		p.mu.Lock()
		defer p.mu.Unlock()
		found, took := look()
		if took {
			p.change()
		}
		return found, p.changed
	}
	for {
		found, changed := try()
		if found {
			return nil
		}
		select {
		case <-changed:
		case <-p.ended:
			if found, _ := try(); found { // sent before it ended
				return nil
			}
			return p.why()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", p.role, context.Cause(ctx))
		}
	}
}

// why returns the reason why a process ended unexpectedly; call it only after ended.
func (p *process) why() error {
	how := "it ended without a result"
	if p.endErr != nil {
		how = p.endErr.Error()
	}
	if last := p.errs.last(); last != "" {
		how += ": " + last
	}
	return fmt.Errorf("%s %d ended: %s", p.role, p.pid, how)
}

// stop ends the process and waits until it is gone.
func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// tell sends the process a line.
func (p *process) tell(line string) error {
	if _, err := io.WriteString(p.stdin, line); err != nil {
		return fmt.Errorf("tell the %s: %w", p.role, err)
	}
	return nil
}

func (p *process) tellJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("tell the %s: %w", p.role, err)
	}
	return p.tell(string(line) + "\n")
}

// started enters what was spawned into the agent's table.
func (a *agent) started(p *process, err error) (startedResult, error) {
	if err != nil {
		return startedResult{}, err
	}
	id, err := a.workers.add(p)
	if err != nil {
		p.stop()
		return startedResult{}, err
	}
	return startedResult{ID: id, PID: p.pid}, nil
}

// processOf is a process whose events are an E.
func processOf[E events](a *agent, id int) (*process, E, error) {
	p, err := a.workers.get(id)
	if err != nil {
		return nil, *new(E), err
	}
	e, ok := p.events.(E)
	if !ok {
		return nil, e, fmt.Errorf("number %d of the workers is a %s", id, p.role)
	}
	return p, e, nil
}

// endWorker does nothing if the process has ended.
func (a *agent) endWorker(_ context.Context, p idParams) (none, error) {
	if w, ok := a.workers.remove(p.ID); ok {
		w.stop()
	}
	return none{}, nil
}
