package wire

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
)

// receiver is the end that writes.
type receiver struct {
	side
	sink    move.Sink
	near    Near
	streams uint32 // that were asked for
	// waits end the waiting for those that are not open yet; used by who hears the control stream.
	waits map[uint32]context.CancelFunc
	// own is why the sink did not finish. The other end is told before this one returns, so
	// that streams may break first: that is no cause then.
	own error

	// Guarded by mu.
	sunk  error // why the sink takes nothing more, as the other end was told: it then says the same
	files map[uint64]*takenFile
	last  uint64 // the largest number that a file had
	made  uint64 // entries of the control stream that were dealt with
	packs uint64 // that were taken
}

// takenFile is a file that is being written.
type takenFile struct {
	entry   *move.Entry
	to      move.SinkFile
	written map[int64]bool // blocks that are there
	writing int
	told    bool // its outcome was sent
	commit  bool // all that follows was sent
}

// Receive takes what the run's other end sends, which is at Send, and hands it to a sink.
// It returns once the sink has finished. After an error what was written stays for a next
// run, and no file stands half under its name. near is where its threads run.
func Receive(ctx context.Context, p Party, sink move.Sink, rep *move.Report, near Near, stats *Stats) error {
	r := &receiver{side: side{rep: rep, party: p, stats: stats}, sink: sink, near: near, files: map[uint64]*takenFile{}, waits: map[uint32]context.CancelFunc{}}
	if err := r.meet(ctx); err != nil {
		return err
	}
	return r.run(ctx)
}

func (r *receiver) run(ctx context.Context) error {
	g, work := errgroup.WithContext(ctx)
	defer context.AfterFunc(work, func() { r.end(context.Cause(work)) })()
	heard := make(chan struct{})
	parted := r.control.part(work, heard, r.isFinished)
	var listened error
	g.Go(func() error {
		defer close(heard)
		listened = r.listen(work, g)
		return listened
	})
	err := g.Wait()
	parted()
	r.stats.close()
	if r.own != nil {
		err, listened = r.own, nil
	} else if sunk := r.isSunk(); sunk != nil && err != nil {
		err, listened = sunk, nil
	}
	return errors.Join(prefer(err, listened), r.keepRest())
}

// refused is the outcome of what the sink refused, and whether it takes nothing more.
func (r *receiver) refused(err error) (outcome uint64, sink bool) {
	if !errors.Is(err, move.ErrSink) {
		return outcomeFailed, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sunk = cmp.Or(r.sunk, err)
	return outcomeSink, true
}

func (r *receiver) isSunk() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sunk
}

// keepRest leaves what was not committed for a next run.
func (r *receiver) keepRest() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for id, f := range r.files {
		if f.to != nil {
			errs = append(errs, f.to.Abort(true))
		}
		delete(r.files, id)
	}
	return errors.Join(errs...)
}

// listen hears the control stream until everything is finished.
func (r *receiver) listen(ctx context.Context, g *errgroup.Group) error {
	for {
		k, meta, err := r.word()
		if err != nil {
			return err
		}
		if k == kindFinish {
			m, err := parsePair(meta)
			if err != nil {
				return err
			}
			return r.finish(ctx, m)
		}
		if err := r.hear(ctx, g, k, meta); err != nil {
			if ctx.Err() != nil || broken(err) { // a stream broke while this was dealt with
				return r.lastWord(err)
			}
			return err
		}
	}
}

// lastWord waits for the other end's reason after a stream broke, and is err if none comes:
// part closes the control stream then.
func (r *receiver) lastWord(err error) error {
	for {
		k, meta, rerr := r.word()
		if rerr != nil {
			return err
		}
		if k != kindFail {
			continue
		}
		if why := farWhy(meta); !errors.Is(why, errMessage) {
			return why
		}
		return err
	}
}

func (r *receiver) hear(ctx context.Context, g *errgroup.Group, k kind, meta []byte) error {
	switch k {
	case kindMake, kindBegin:
		m, err := parseFile(meta)
		if err != nil {
			return err
		}
		if k == kindMake {
			err = r.make(ctx, m)
		} else {
			err = r.begin(ctx, m)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.made++
		r.changed.Broadcast()
		return err
	case kindCommit:
		m, err := parseCommit(meta)
		if err != nil {
			return err
		}
		return r.commit(ctx, g, m)
	case kindLook:
		return r.look(ctx, meta)
	case kindKept:
		return r.kept(ctx, meta)
	case kindAbort:
		m, err := parsePair(meta)
		if err != nil {
			return err
		}
		return r.abort(m.a, m.b == 1)
	case kindMore:
		n, err := parseStream(meta)
		if err != nil || n != r.streams+1 {
			return errMessage
		}
		r.streams++
		wait, cancel := context.WithCancel(ctx)
		r.waits[n] = cancel
		g.Go(func() error { return r.stream(ctx, wait, n) })
		return nil
	case kindLess:
		n, err := parseStream(meta)
		if err != nil || r.waits[n] == nil {
			return errMessage
		}
		r.waits[n]()
		delete(r.waits, n)
		return nil
	case kindFail:
		return farWhy(meta)
	}
	return errMessage
}

// make makes an entry without data.
func (r *receiver) make(ctx context.Context, m fileMessage) error {
	err := r.sink.Make(ctx, m.entry)
	d := doneMessage{id: m.id}
	switch {
	case err == nil:
	case errors.Is(err, move.ErrSink):
		d.text = err.Error()
		d.outcome, _ = r.refused(err)
		r.rep.Lose(move.Failed, m.entry.Path, "%v", err)
	case errors.Is(err, move.ErrNoFirst) && m.id > 0:
		d.outcome = outcomeNoFirst
	case errors.Is(err, move.ErrUnmade):
		d.outcome, d.text = outcomeFailed, err.Error()
		r.rep.Lose(move.LostEntry, m.entry.Path, "%v", err)
	default:
		d.outcome, d.text = outcomeFailed, err.Error()
		r.rep.Lose(move.Failed, m.entry.Path, "%v", err)
	}
	if m.id > 0 {
		if err := r.number(m.id); err != nil {
			return err
		}
		return r.answer(d)
	}
	if d.outcome == outcomeSink {
		return err
	}
	return nil
}

// kept takes the metadata of a small file that the sink has said to have.
func (r *receiver) kept(ctx context.Context, meta []byte) error {
	m, err := parseFile(meta)
	if err != nil {
		return err
	}
	if _, asked := r.sink.(move.Finder); !asked || m.id != 0 || m.entry.Kind != move.File || m.entry.Linked {
		return errMessage
	}
	to, have, err := r.sink.Begin(ctx, m.entry)
	if err == nil && !have.Same {
		err = errors.Join(errors.New("it was changed in the target meanwhile: copy it once more"), to.Abort(false))
	}
	if err != nil {
		r.rep.Lose(move.Failed, m.entry.Path, "%v", err)
	}
	if errors.Is(err, move.ErrSink) {
		return err
	}
	return nil
}

// number records the number of a new file. Several goroutines of the sender begin files at
// once, so that numbers may arrive out of order: only a number in use is refused.
func (r *receiver) number(id uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id == 0 || r.files[id] != nil || len(r.files) > maxFiles {
		return errMessage
	}
	r.last = max(r.last, id)
	return nil
}

// maxFiles bounds the files that the other end can have us hold open: it has fewer.
const maxFiles = 4 * openFiles

func (r *receiver) answer(d doneMessage) error {
	return r.control.send(frame{kind: kindDone, meta: d.append(nil)})
}

// begin begins a file, and says what of it is there.
func (r *receiver) begin(ctx context.Context, m fileMessage) error {
	if err := r.number(m.id); err != nil {
		return err
	}
	if m.entry.Kind != move.File || m.entry.Linked {
		return errMessage
	}
	to, have, err := r.sink.Begin(ctx, m.entry)
	if err != nil {
		r.rep.Lose(move.Failed, m.entry.Path, "%v", err)
		_, sink := r.refused(err)
		return r.control.send(frame{kind: kindHave, meta: haveMessage{id: m.id, failed: err.Error(), sink: sink}.append(nil)})
	}
	if !have.Same {
		r.mu.Lock()
		r.files[m.id] = &takenFile{entry: m.entry, to: to, written: map[int64]bool{}}
		r.mu.Unlock()
	}
	for {
		n := min(len(have.Leaves), maxLeaves)
		h := haveMessage{id: m.id, same: have.Same, leaves: have.Leaves[:n], more: n < len(have.Leaves)}
		if err := r.control.send(frame{kind: kindHave, meta: h.append(nil)}); err != nil || !h.more {
			return err
		}
		have.Leaves = have.Leaves[n:]
	}
}

// commit gives a file its name once all its blocks are there.
func (r *receiver) commit(ctx context.Context, g *errgroup.Group, m commitMessage) error {
	r.mu.Lock()
	f := r.files[m.id]
	if f == nil || f.commit {
		r.mu.Unlock()
		return errMessage
	}
	f.commit = true
	r.mu.Unlock()
	g.Go(func() error {
		r.mu.Lock()
		for (!f.told && uint64(len(f.written)) < m.blocks || f.writing > 0) && r.over == nil {
			r.changed.Wait()
		}
		over, told := r.over, f.told
		if over == nil {
			f.told = true
			delete(r.files, m.id)
		}
		r.mu.Unlock()
		switch {
		case over != nil:
			return over
		case told: // it failed, and the other end has heard so
			return f.to.Abort(true)
		}
		return r.settle(ctx, m, f)
	})
	return nil
}

func (r *receiver) settle(ctx context.Context, m commitMessage, f *takenFile) error {
	r.stats.Commit.Begin()
	err := f.to.Commit(ctx, m.root)
	r.stats.Commit.End()
	d := doneMessage{id: m.id}
	if err != nil {
		r.rep.Lose(move.Failed, f.entry.Path, "%v", err)
		d.text = err.Error()
		d.outcome, _ = r.refused(err)
	}
	return r.answer(d)
}

// abort gives a file up. One whose outcome was told is only forgotten.
func (r *receiver) abort(id uint64, keep bool) error {
	r.mu.Lock()
	f := r.files[id]
	if f == nil || f.commit && f.told {
		r.mu.Unlock()
		return nil
	}
	told := f.told
	f.told = true
	for f.writing > 0 && r.over == nil {
		r.changed.Wait()
	}
	if f.commit { // who waits for its blocks ends it
		r.changed.Broadcast()
		r.mu.Unlock()
		return r.answer(doneMessage{id: id, outcome: outcomeFailed})
	}
	delete(r.files, id)
	r.mu.Unlock()
	if err := f.to.Abort(keep); err != nil {
		return err
	}
	if told {
		return nil
	}
	return r.answer(doneMessage{id: id, outcome: outcomeFailed})
}

// finish makes everything durable once all packs and files are there.
func (r *receiver) finish(ctx context.Context, m pairMessage) error {
	packs := uint64(0)
	if err := r.await(func() bool { packs = r.packs; return packs >= m.a && len(r.files) == 0 }); err != nil {
		return err
	}
	if packs != m.a {
		return errMessage
	}
	r.stats.Commit.Begin()
	err := r.sink.Finish(ctx)
	r.stats.Commit.End()
	if t, ok := r.sink.(move.Tidier); ok && err == nil {
		err = t.Tidy(ctx, asker{r})
	}
	text := ""
	if err != nil {
		r.own, text = err, err.Error()
	}
	err = errors.Join(err, r.control.send(frame{kind: kindFinished, meta: appendText(nil, text)}))
	r.end(errFinished)
	return err
}
