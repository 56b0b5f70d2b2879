package mover

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"linerate/internal/failure"
	"linerate/internal/kernel"
	"linerate/internal/move"
	"linerate/internal/move/place"
	"linerate/internal/move/route"
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
	pace   *move.Pacer  // of all that this end sends
	stats  []wire.Stats // of each other end

	src    move.Source
	dst    move.Sink
	spread *spread // where there are several other ends; guarded by mu
	ends   []opened
	began  time.Time
	isNew  bool // the target holds nothing of what is copied

	mu    sync.Mutex // of what follows
	total *Total
	// nearTo is where threads run; nil: that was not decided.
	nearTo *Near
	out    io.Writer
	lost   []Loss
	steps  []Step
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
		w := m.work()
		last := errors.Join(m.emitTold(), m.emit(Event{Kind: Failed, Text: err.Error(), Usage: failure.KindOf(err) == failure.Usage, Sink: errors.Is(err, move.ErrSink), Work: &w}))
		if last == nil && m.task.V == Version { // else nobody may be there who reads events
			return failure.Told(err)
		}
		return errors.Join(err, last)
	}
	w := m.work()
	return errors.Join(m.emitTold(), m.emit(Event{Kind: Over, Work: &w}))
}

func (m *mover) main(ctx context.Context, in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read task from standard input: %w (the mover is started by linerate, not by hand)", err)
	}
	if m.task, err = DecodeTask(line); err != nil {
		return err
	}
	if err := m.task.Congestion.Check(kernel.Root("/")); err != nil {
		return failure.As(failure.Usage, err)
	}
	self, err := wire.NewIdentity()
	if err != nil {
		return err
	}
	m.pace = move.NewPacer(m.task.Limit)
	m.stats = make([]wire.Stats, max(1, len(m.task.Spread)))
	m.keys = &wire.Keys{Run: m.task.Run, Secret: m.task.Secret, Self: self, Plain: m.task.Plain}
	from, err := route.SourceOf(move.Strings(m.task.Read))
	var lie route.Lie
	if err == nil {
		lie, err = m.lie(from)
	}
	if err == nil && m.task.First == nil {
		err = m.emit(Event{Kind: Ready, Pin: self.Pin(), One: from.One(), Whole: move.Raws(from.Whole()), Lie: lie})
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	commands := make(chan Command)
	go m.listen(ctx, in, commands, cancel)
	if len(m.task.Spread) > 0 {
		err = m.obeySpread(ctx, commands)
	} else {
		err = m.obey(ctx, commands)
	}
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
	if m.task.First != nil {
		var err error
		if meeting, err = m.opens(ctx, *m.task.First); err != nil {
			return err
		}
	}
	for {
		select {
		case c := <-commands:
			var err error
			m.isNew = m.isNew || c.New
			switch c.Order {
			case Open:
				meeting, err = m.opens(ctx, c)
			case Listen, Dial:
				meeting.end()
				meeting, err = m.meet(ctx, c, Event{Kind: Listening})
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

// opens opens the files of this end, and listens if it is told where: one order, and one answer.
func (m *mover) opens(ctx context.Context, c Command) (*meeting, error) {
	e, err := m.open(c)
	switch {
	case err != nil:
		return nil, err
	case c.At.IsValid():
		return m.meet(ctx, c, e)
	}
	return nil, m.emit(e)
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

// meet begins to meet the other end. One that listens tells so, and where.
func (m *mover) meet(ctx context.Context, c Command, listening Event) (*meeting, error) {
	if m.task.Mem == 0 && m.src == nil && m.dst == nil {
		return nil, errors.New("to meet the other end comes before to open")
	}
	if !c.At.IsValid() {
		return nil, errors.New("no address to meet the other end at")
	}
	keys := *m.keys
	keys.Peer = c.Peer
	if len(m.task.Spread) > 0 {
		keys.Run, keys.Secret = m.task.Spread[c.Pair].Run, m.task.Spread[c.Pair].Secret
	}
	var party wire.Party
	at := c.At.Addr() // of this end
	if c.Order == Dial {
		at = c.From
		party = &wire.Dialler{Keys: &keys, Connect: wire.To(c.At, c.From), Ahead: cmp.Or(m.task.Streams, wire.FirstStreams)}
	} else {
		l, err := wire.Listen(c.At, &keys)
		if err != nil {
			return nil, err
		}
		listening.Addr = l.Addr()
		if err := m.emit(listening); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		party = l
	}
	ctx, cancel := context.WithCancelCause(ctx)
	g := &meeting{cancel, make(chan error, 1)}
	go func() {
		session := func(ctx context.Context, p wire.Party) error { return m.session(ctx, p, at) }
		if len(m.task.Spread) > 0 {
			session = func(ctx context.Context, p wire.Party) error { return m.pair(ctx, c.Pair, p) }
		}
		g.done <- errors.Join(session(ctx, party), party.Close())
		close(g.done)
	}()
	return g, nil
}

// session is the copy itself.
func (m *mover) session(ctx context.Context, p wire.Party, at netip.Addr) error {
	near := m.near(at)
	m.mu.Lock()
	m.nearTo = near
	m.mu.Unlock()
	defer m.begin(ctx)()
	if m.task.sends() {
		var src move.Source = wire.Nothing{}
		if m.src != nil {
			src = m.src
		}
		o := wire.Options{Streams: m.task.Streams, Pace: m.pace, Mem: m.task.Mem, Plan: m.task.Do == Planning, Ask: m.src != nil && m.task.Do == Copying && !m.task.Full && !m.isNew, Congestion: m.task.Congestion, Near: near.wire()}
		return wire.Send(ctx, p, src, m.report, o, &m.stats[0])
	}
	var dst move.Sink = wire.Nothing{}
	if m.dst != nil {
		dst = m.dst
	}
	return wire.Receive(ctx, p, dst, m.report, near.wire(), &m.stats[0])
}

// begin has the work told from now on, until what is returned is called.
func (m *mover) begin(ctx context.Context) (end func()) {
	m.mu.Lock()
	m.began = time.Now()
	m.mu.Unlock()
	watching, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { m.watch(watching) })
	if m.task.Count {
		watch.Go(func() { m.count(watching) })
	}
	return func() { cancel(); watch.Wait() }
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
			_ = errors.Join(m.emitTold(), m.emit(Event{Kind: Seen, Work: &w}))
		case <-ctx.Done():
			return
		}
	}
}

// CPUTime is the CPU time of this process, in the kernel too; 0: the system does not tell.
func CPUTime() time.Duration {
	used, err := kernel.CPUUsed()
	if err != nil {
		return 0
	}
	return used
}

func (m *mover) work() Work {
	w := Work{Moved: m.report.Summary(), CPU: CPUTime(), CPUs: runtime.NumCPU()}
	if len(m.task.Spread) > 0 {
		w.Pairs, w.Look = m.pairWork()
	} else if len(m.stats) > 0 {
		w.Look, w.Sockets = m.stats[0].Look(), m.stats[0].Sockets()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Total = m.total
	if w.Near = m.nearTo; w.Near != nil {
		w.CPUs = w.Near.cpus()
	}
	if !m.began.IsZero() {
		w.Took = time.Since(m.began)
	}
	return w
}

// toldAtOnce bounds the losses, and the steps, of one event: their paths are cut at 4 KiB,
// and most are short.
const toldAtOnce = 200

// lose keeps a loss until it is told; losses come from several goroutines, one at a time.
func (m *mover) lose(l move.Loss) error {
	m.mu.Lock()
	m.lost = append(m.lost, Loss{l.What, []byte(cut(l.Path, 4096)), cut(l.Detail, 1024)})
	full := len(m.lost) >= toldAtOnce
	m.mu.Unlock()
	if full {
		return m.emitTold()
	}
	return nil
}

// step keeps a step of a plan until it is told.
func (m *mover) step(s place.Step) error {
	m.mu.Lock()
	m.steps = append(m.steps, Step{s.Do, s.Kind, []byte(cut(s.Path, 4096)), s.Size, cut(s.Why, 1024)})
	full := len(m.steps) >= toldAtOnce
	m.mu.Unlock()
	if full {
		return m.emitTold()
	}
	return nil
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

// emitTold tells the losses and the steps that were kept.
func (m *mover) emitTold() error {
	m.mu.Lock()
	lost, steps := m.lost, m.steps
	m.lost, m.steps = nil, nil
	m.mu.Unlock()
	var errs []error
	if len(lost) > 0 {
		errs = append(errs, m.emit(Event{Kind: Lost, Losses: lost}))
	}
	if len(steps) > 0 {
		errs = append(errs, m.emit(Event{Kind: Planned, Steps: steps}))
	}
	return errors.Join(errs...)
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
