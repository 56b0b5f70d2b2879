package mover

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"linerate/internal/move"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
	"linerate/internal/move/wire"
)

// Why a copy ended that was not done.
var (
	errParted  = errors.New("nobody is left who asked for it")
	errStopped = errors.New("it was interrupted")
	errAnother = errors.New("another command came") // ends a way to meet, not the copy
)

// mover is one end.
type mover struct {
	task   Task
	keys   *wire.Keys
	report *move.Report
	stats  wire.Stats

	src   *tree.Tree
	dst   *place.Place
	began time.Time

	mu   sync.Mutex // of out and lost
	out  io.Writer
	lost []Loss
}

// Main is a whole mover. The end of stdin ends it, without an error.
func Main(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	m := &mover{out: stdout}
	m.report = move.NewReport(m.lose)
	in := bufio.NewReaderSize(stdin, MaxTask)
	err := m.main(ctx, in)
	if errors.Is(err, errParted) {
		return nil
	}
	if err != nil {
		var usage *usageError
		w := m.work()
		return errors.Join(err, m.emitLosses(), m.emit(Event{Kind: Failed, Text: err.Error(), Usage: errors.As(err, &usage), Work: &w}))
	}
	w := m.work()
	return errors.Join(m.emitLosses(), m.emit(Event{Kind: Over, Work: &w}))
}

func (m *mover) main(ctx context.Context, in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read task from standard input: %w (the mover is started by linerate, not by hand)", err)
	}
	if m.task, err = DecodeTask(line); err != nil {
		return err
	}
	self, err := wire.NewIdentity()
	if err != nil {
		return err
	}
	m.keys = &wire.Keys{Run: m.task.Run, Secret: m.task.Secret, Self: self, Plain: m.task.Plain}
	_, one, err := topsOf(m.task.Read)
	if err == nil {
		err = m.emit(Event{Kind: Ready, Pin: self.Pin(), One: one})
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	commands := make(chan Command)
	go m.listen(ctx, in, commands, cancel)
	err = m.obey(ctx, commands)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, m.close())
}

// listen passes commands on, and ends the copy with its input or a line without sense.
func (m *mover) listen(ctx context.Context, in *bufio.Reader, out chan<- Command, cancel context.CancelCauseFunc) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			cancel(errParted)
			return
		}
		var c Command
		if err := decode(line, &c); err != nil {
			cancel(fmt.Errorf("read command: %w", err))
			return
		}
		if c.Order == Stop {
			cancel(errStopped)
			continue
		}
		select {
		case out <- c:
		case <-ctx.Done():
		}
	}
}

// obey does what is ordered until the copy is over.
func (m *mover) obey(ctx context.Context, commands <-chan Command) error {
	var meeting *meeting
	defer func() { meeting.end() }()
	for {
		select {
		case c := <-commands:
			var err error
			switch c.Order {
			case Open:
				err = m.open(c)
			case Listen, Dial:
				meeting.end()
				meeting, err = m.meet(ctx, c)
			default:
				err = fmt.Errorf("unknown order %q", c.Order)
			}
			if err != nil {
				return err
			}
		case err := <-meeting.over():
			meeting = nil
			var not *wire.UnreachedError
			if !errors.As(err, &not) {
				return err
			}
			if err := m.emit(Event{Kind: Unreached, Text: err.Error()}); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// open opens the files of this end.
func (m *mover) open(c Command) (err error) {
	as, doubt := c.As, ""
	verify := move.Fast
	if m.task.Full {
		verify = move.Full
	}
	switch {
	case m.src != nil || m.dst != nil:
		return errors.New("opened twice")
	case len(m.task.Read) > 0:
		tops, one, terr := topsOf(m.task.Read)
		if terr != nil {
			return terr
		}
		if as != "" && one {
			tops[0].As = as
		}
		m.src, err = tree.Open(tops, tree.Options{Exclude: m.task.Exclude, Verify: verify, Direct: !m.task.Buffered}, m.report)
		if err != nil {
			return &usageError{err}
		}
	case m.task.Write != "":
		root := ""
		if root, as, err = rootOf(m.task.Write, c.One); err != nil {
			return err
		}
		m.dst, err = place.Open(root, place.Options{Run: runName(), Verify: verify, Direct: !m.task.Buffered, Setuid: m.task.Setuid}, m.report)
		if err != nil {
			return err
		}
		if m.dst.Unlocked() {
			doubt = "the target's file system has no locks: that no other copy writes there is not known"
		}
	}
	return m.emit(Event{Kind: Opened, As: as, Text: doubt})
}

// runName names the temporary files of this run.
func runName() string {
	const letters = "abcdefghjkmnpqrstuvwxyz23456789"
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}

func (m *mover) close() error {
	var errs []error
	if m.src != nil {
		errs = append(errs, m.src.Close())
	}
	if m.dst != nil {
		errs = append(errs, m.dst.Close())
	}
	return errors.Join(errs...)
}

// meeting is a way to the other end, and the session over it.
type meeting struct {
	cancel context.CancelCauseFunc
	done   chan error
}

func (g *meeting) over() <-chan error {
	if g == nil {
		return nil
	}
	return g.done
}

func (g *meeting) end() {
	if g != nil {
		g.cancel(errAnother)
		<-g.done
	}
}

// meet begins to meet the other end.
func (m *mover) meet(ctx context.Context, c Command) (*meeting, error) {
	if m.task.Mem == 0 && m.src == nil && m.dst == nil {
		return nil, errors.New("to meet the other end comes before to open")
	}
	if !c.At.IsValid() {
		return nil, errors.New("no address to meet the other end at")
	}
	keys := *m.keys
	keys.Peer = c.Peer
	var party wire.Party
	if c.Order == Dial {
		party = &wire.Dialler{Keys: &keys, Connect: wire.To(c.At, c.From)}
	} else {
		l, err := wire.Listen(c.At, &keys)
		if err != nil {
			return nil, err
		}
		if err := m.emit(Event{Kind: Listening, Addr: l.Addr()}); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		party = l
	}
	ctx, cancel := context.WithCancelCause(ctx)
	g := &meeting{cancel, make(chan error, 1)}
	go func() {
		g.done <- errors.Join(m.session(ctx, party), party.Close())
		close(g.done)
	}()
	return g, nil
}

// session is the copy itself.
func (m *mover) session(ctx context.Context, p wire.Party) error {
	m.mu.Lock()
	m.began = time.Now()
	m.mu.Unlock()
	watching, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { m.watch(watching) })
	defer watch.Wait()
	defer cancel()
	if m.task.sends() {
		var src move.Source = wire.Nothing{}
		if m.src != nil {
			src = m.src
		}
		return wire.Send(ctx, p, src, m.report, wire.Options{Streams: m.task.Streams, Limit: m.task.Limit, Mem: m.task.Mem}, &m.stats)
	}
	var dst move.Sink = wire.Nothing{}
	if m.dst != nil {
		dst = m.dst
	}
	return wire.Receive(ctx, p, dst, m.report, &m.stats)
}

// seenEvery is how often a mover tells what it has done.
const seenEvery = 500 * time.Millisecond

func (m *mover) watch(ctx context.Context) {
	t := time.NewTicker(seenEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			w := m.work()
			// Whoever is gone is told by the end of stdin.
			_ = errors.Join(m.emitLosses(), m.emit(Event{Kind: Seen, Work: &w}))
		case <-ctx.Done():
			return
		}
	}
}

func (m *mover) work() Work {
	w := Work{Moved: m.report.Summary(), Look: m.stats.Look(), Sockets: m.stats.Sockets(), CPU: cpuTime(), CPUs: runtime.NumCPU()}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.began.IsZero() {
		w.Took = time.Since(m.began)
	}
	return w
}

// lossesOf one event: their paths are at most 1 MiB long, and most are short.
const lossesOf = 200

// lose keeps a loss until it is told; losses come from several goroutines, one at a time.
func (m *mover) lose(l move.Loss) error {
	m.mu.Lock()
	m.lost = append(m.lost, Loss{l.What, []byte(l.Path[:min(len(l.Path), 4096)]), l.Detail[:min(len(l.Detail), 1024)]})
	full := len(m.lost) >= lossesOf
	m.mu.Unlock()
	if full {
		return m.emitLosses()
	}
	return nil
}

func (m *mover) emitLosses() error {
	m.mu.Lock()
	lost := m.lost
	m.lost = nil
	m.mu.Unlock()
	if len(lost) == 0 {
		return nil
	}
	return m.emit(Event{Kind: Lost, Losses: lost})
}

func (m *mover) emit(e Event) error {
	e.V = Version
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
