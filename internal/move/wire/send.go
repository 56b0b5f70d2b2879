package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
)

// Options of the end that sends.
type Options struct {
	// Streams of data; 0: 4, and more for as long as one more brings 5 %.
	Streams int
	// Mem: no source is read; data of no file are sent for so long.
	Mem time.Duration
	// Plan sends no data: the receiver is told all entries, files as others.
	Plan bool
	// Pace holds the data below a rate, of several sessions together where they share it; nil: no
	// limit.
	Pace *move.Pacer
	// Ask has the target asked which small files it has as they are: of those no data are read.
	// The sink has to be a move.Finder.
	Ask bool
	// Has tells which small files the target has as they are, where that is known by other means. It is
	// asked for each as the source hands that over. It may be nil.
	Has func(*move.Entry) bool
	// Congestion is what the data connections are given, before the first data.
	Congestion Congestion
	// Near is where threads run.
	Near Near
	// Met hears, before the source is scanned, how the target can be asked what it has. It may
	// be nil.
	Met func(move.Finder)
}

// Bounds of the sender's memory: blocks of 4 MiB that are read and not sent yet, and files
// that are open.
const (
	FirstStreams = 4
	Readers      = 4 // of blocks
	queued       = 4
	openFiles    = 8
	smallReaders = 24   // a disk finds small files sooner the more of them it is asked for at once
	heldLinks    = 4096 // further names that wait for their first ones
	resends      = 3    // of one block, before its file fails
)

// sender is the end that reads.
type sender struct {
	side
	src  move.Source
	o    Options
	jobs chan job      // blocks to be read
	out  chan outgoing // frames with data, for whichever stream is free

	// Guarded by mu.
	next   uint64
	files  map[uint64]*sentFile
	packs  uint64 // that were sent
	packed uint64 // that were taken
	// finishing: all was sent, and the receiver may ask what the source keeps.
	finishing bool
	looked    *lookedMessage       // an answer that nobody has taken
	present   map[*move.Entry]bool // small files that the target has, and that wait for their turn

	looking    sync.Mutex    // one question at a time
	made       atomic.Uint64 // entries that were sent on the control stream
	announcing sync.Mutex    // of streams: none after finishing

	finished chan string
	pack     packer
}

// job is a block to be read.
type job struct {
	f     *sentFile
	index int64
}

// outgoing is a frame with data.
type outgoing struct {
	frame
	buf  *[]byte
	sent func() // after it was sent
}

// Send sends what a source has to the run's other end, which is at Receive. What could not
// be read is in rep; an error is the end of the run, after which it can be made again and
// goes on.
func Send(ctx context.Context, p Party, src move.Source, rep *move.Report, o Options, stats *Stats) error {
	s := &sender{side: side{rep: rep, party: p, stats: stats}, src: src, o: o, jobs: make(chan job), out: make(chan outgoing, queued),
		files: map[uint64]*sentFile{}, present: map[*move.Entry]bool{}, finished: make(chan string, 1)}
	s.pack.s = s
	if err := s.meet(ctx); err != nil {
		return err
	}
	return s.run(ctx)
}

func (s *sender) run(ctx context.Context) error {
	g, inner := errgroup.WithContext(ctx)
	work, cancel := context.WithCancelCause(inner)
	defer cancel(nil)
	// Whoever waits on the state hears of the end.
	defer context.AfterFunc(work, func() { s.end(context.Cause(work)) })()
	heard := make(chan struct{})
	parted := s.control.part(work, heard, s.isFinished)
	for range Readers {
		g.Go(bound(s.o.Near.Disk, func() error { return s.read(work) }))
	}
	var listened error
	go func() {
		defer close(heard)
		if listened = s.listen(work); !errors.Is(listened, errFinished) {
			cancel(listened)
		}
	}()
	g.Go(func() error {
		defer close(s.jobs) // whoever asks for blocks has returned
		fan := s.fan(work, g)
		defer fan.enough()
		if err := fan.begin(); err != nil {
			return err
		}
		if s.o.Met != nil {
			s.o.Met(s)
		}
		if s.o.Mem > 0 {
			return s.memory(work)
		}
		return s.work(work, fan.enough)
	})
	err := g.Wait()
	cancel(err)
	parted()
	s.stats.close()
	<-heard
	return prefer(err, listened)
}

// work scans and sends, and returns when the receiver has finished. It calls enough once nothing is
// left for the data streams: they end while the receiver makes everything durable.
func (s *sender) work(ctx context.Context, enough func()) error {
	g, inner := errgroup.WithContext(ctx)
	large, small := make(chan *move.Entry), make(chan *move.Entry, openAhead*smallReaders)
	for range openFiles {
		g.Go(func() error { return each(inner, large, s.sendLarge) })
	}
	for range smallReaders {
		g.Go(bound(s.o.Near.Disk, func() error { return s.sendSmalls(inner, small) }))
	}
	links := make([]*move.Entry, 0, 16)
	var busy sync.WaitGroup // entries that were handed on
	hand := func(to chan *move.Entry, e *move.Entry) error {
		busy.Add(1)
		select {
		case to <- e:
			return nil
		case <-inner.Done():
			busy.Done()
			return context.Cause(inner)
		}
	}
	s.pack.busy = &busy
	ask := s.asking(inner, g, &busy, small)
	err := s.src.Scan(inner, func(e *move.Entry) error {
		switch {
		case s.o.Plan:
			return s.sendMake(0, e)
		case e.Linked:
			if links = append(links, e); len(links) < heldLinks {
				return nil
			}
			ask.flush()
			err := s.sendLinks(inner, &busy, links, hand, large, small)
			links = links[:0]
			return err
		case e.Kind != move.File:
			return s.sendMake(0, e)
		case e.Size > move.PackSize:
			return hand(large, e)
		}
		return ask.add(e)
	})
	ask.flush()
	if err == nil {
		err = s.sendLinks(inner, &busy, links, hand, large, small)
	}
	if err == nil {
		err = s.drained(inner, &busy) // finish has the receiver wait for the packs
	}
	ask.close()
	close(large)
	close(small)
	if err = errors.Join(err, g.Wait()); err != nil {
		return err
	}
	enough()
	return s.finish(ctx)
}

// each calls f for everything that comes.
func each(ctx context.Context, in <-chan *move.Entry, f func(context.Context, *move.Entry) error) error {
	for e := range in {
		if err := f(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until everything that was handed on was taken by the receiver.
func (s *sender) settle(ctx context.Context, busy *sync.WaitGroup) error {
	if err := s.drained(ctx, busy); err != nil {
		return err
	}
	return s.await(func() bool { return s.packed == s.packs })
}

// drained waits until everything that was handed on is in a pack or was taken, and has the last
// pack sent.
func (s *sender) drained(ctx context.Context, busy *sync.WaitGroup) error {
	all := make(chan struct{})
	go func() { busy.Wait(); close(all) }()
	select {
	case <-all:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.pack.flush(ctx)
}

// sendMake sends an entry without data.
func (s *sender) sendMake(id uint64, e *move.Entry) error {
	m := fileMessage{id, e}.append(nil)
	if len(m) > maxMeta {
		s.rep.Lose(move.Failed, e.Path, "its name and attributes take %d bytes, more than one message holds", len(m))
		if id > 0 {
			return errTooLong
		}
		return nil
	}
	// Counted before it is sent: a pack that is closed meanwhile waits for one more, which
	// comes, and never for one less.
	s.made.Add(1)
	return s.control.send(frame{kind: kindMake, meta: m})
}

var errTooLong = errors.New("too long for one message")

// sendLinks sends further names once their first ones are there. One without its first name
// is sent as a file.
func (s *sender) sendLinks(ctx context.Context, busy *sync.WaitGroup, links []*move.Entry, hand func(chan *move.Entry, *move.Entry) error, large, small chan *move.Entry) error {
	if len(links) == 0 {
		return nil
	}
	if err := s.settle(ctx, busy); err != nil {
		return err
	}
	var waiting []*sentFile
	for _, e := range links {
		f := s.register(e)
		switch err := s.sendMake(f.id, e); {
		case errors.Is(err, errTooLong):
			s.forget(f)
		case err != nil:
			return err
		default:
			waiting = append(waiting, f)
		}
	}
	for _, f := range waiting {
		d, err := f.ended(ctx)
		if err != nil {
			return err
		}
		s.forget(f)
		switch d.outcome {
		case outcomeSink:
			return &farError{text: d.text, sink: true}
		case outcomeNoFirst:
			e := *f.entry
			e.Linked, e.First = false, ""
			if e.Kind != move.File {
				if err := s.sendMake(0, &e); err != nil {
					return err
				}
				continue
			}
			to := small
			if e.Size > move.PackSize {
				to = large
			}
			if err := hand(to, &e); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish tells the receiver that nothing follows, and waits until it has made everything
// durable.
func (s *sender) finish(ctx context.Context) error {
	if err := s.sendFinish(); err != nil {
		return err
	}
	select {
	case text := <-s.finished: // one at most: listen ends with it
		if text != "" {
			return fmt.Errorf("finish: %w", &farError{text: text})
		}
		return nil
	case <-ctx.Done():
		return s.cause(ctx)
	}
}

func (s *sender) isFinishing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finishing
}

// sendFinish is the last that the other end's listener hears.
func (s *sender) sendFinish() error {
	s.announcing.Lock()
	defer s.announcing.Unlock()
	s.mu.Lock()
	m := pairMessage{s.packs, s.next}.append(nil)
	s.finishing = true
	s.mu.Unlock()
	return s.control.send(frame{kind: kindFinish, meta: m})
}

// cause is why the run ended: the reason from the control stream, if one came.
func (s *sender) cause(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return s.over
	}
	return context.Cause(ctx)
}

// listen hears what the receiver says.
func (s *sender) listen(ctx context.Context) error {
	for {
		k, meta, err := s.word()
		if err == nil {
			err = s.hear(ctx, k, meta)
		}
		if err != nil {
			s.end(err)
			return err
		}
	}
}

func (s *sender) hear(ctx context.Context, k kind, meta []byte) error {
	switch k {
	case kindAsk:
		return s.answerAsked(ctx, meta)
	case kindLooked:
		return s.hearLooked(meta)
	case kindHave:
		m, err := parseHave(meta)
		if err != nil {
			return err
		}
		return s.tell(m.id, func(f *sentFile) error { return f.heard(m) })
	case kindDone:
		m, err := parseDone(meta)
		if err != nil {
			return err
		}
		return s.tell(m.id, func(f *sentFile) error { return f.isDone(m) })
	case kindNak:
		m, err := parsePair(meta)
		if err != nil {
			return err
		}
		return s.tell(m.a, func(f *sentFile) error { return f.again(int64(m.b)) })
	case kindPacked:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.packed++; s.packed > s.packs {
			return errMessage
		}
		s.changed.Broadcast()
		return nil
	case kindFinished:
		text, err := parseText(meta)
		if err != nil {
			return err
		}
		s.end(errFinished)
		s.finished <- text
		return errFinished
	case kindFail:
		return farWhy(meta)
	}
	return errMessage
}

// tell passes an answer on to its file. The answer to a file that was given up meanwhile is
// dropped.
func (s *sender) tell(id uint64, f func(*sentFile) error) error {
	s.mu.Lock()
	to := s.files[id]
	unknown := id == 0 || id > s.next
	s.mu.Unlock()
	switch {
	case unknown:
		return errMessage
	case to == nil:
		return nil
	}
	return f(to)
}

func (s *sender) register(e *move.Entry) *sentFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	f := &sentFile{s: s, id: s.next, entry: e, have: make(chan haveMessage, 1), done: make(chan doneMessage, 1), naks: make(chan int64, maxNaks)}
	s.files[f.id] = f
	return f
}

func (s *sender) forget(f *sentFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, f.id)
}

// sorted are the leaves of a file in ascending order.
func sorted(leaves []move.Leaf) []move.Leaf {
	slices.SortFunc(leaves, func(a, b move.Leaf) int { return int(min(1, max(-1, a.Index-b.Index))) })
	return leaves
}
