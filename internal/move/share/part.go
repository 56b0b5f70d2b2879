package share

import (
	"context"
	"errors"

	"linerate/internal/move"
)

// Part is a move.Source: what one target gets.
type Part struct {
	s      *Source
	i      int
	closed bool

	// Guarded by Source.mu.
	finder  move.Finder
	met     bool
	gone    bool
	own     []item
	pending map[*move.Entry]item // large files that were handed over and not opened yet
	flights map[*flight]bool
	light   map[*move.Entry]bool // small files that were handed over and not opened yet
	held    held                 // small files that were handed over and not read yet
	waits   bool                 // for something to be given
	idle    bool                 // it waits, and nothing is left to be given
	bytes   int64                // that were read for it
	before  int64
	rate    float64 // bytes a second, of late

	now item // that is being handed over; of the goroutine that scans
}

// held counts small files.
type held struct {
	files int
	bytes int64
}

func (h held) full() bool { return h.files >= lightMost || h.bytes >= lightBytes }

// flight is a large file under way.
type flight struct {
	item   item
	read   int64
	moved  bool
	ending bool // all was read, and it is being committed
}

// takes tells whether it gets anything; Source.mu is held.
func (p *Part) takes() bool { return !p.closed && !p.gone }

// Met tells that the target is there, and how it is asked what it has.
func (p *Part) Met(f move.Finder) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if !p.met {
		p.met = true
		p.s.missing--
	}
	p.finder = f
	p.s.changed.Broadcast()
}

// Lost tells that the target is gone. What it was given is lost to this run.
func (p *Part) Lost() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if !p.met {
		p.met = true
		p.s.missing--
	}
	p.gone, p.own = true, nil
	p.s.changed.Broadcast()
}

// Scan implements move.Source: it gives what this target gets, until nothing is left that it
// could get.
func (p *Part) Scan(ctx context.Context, yield func(*move.Entry) error) error {
	defer context.AfterFunc(ctx, func() {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.s.changed.Broadcast()
	})()
	for {
		x, more, err := p.next(ctx)
		if err != nil || !more {
			return err
		}
		p.now = x
		for _, n := range p.unmade(x) {
			if err := yield(n.e); err != nil {
				return err
			}
		}
		if x.self != nil {
			continue // it was among those
		}
		if err := yield(x.e); err != nil {
			return err
		}
	}
}

// unmade are the directories that the target needs for an item and does not have yet, and that
// item where it is one: those above first.
func (p *Part) unmade(x item) []*node {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	at := x.in
	if x.self != nil {
		at = x.self
	}
	var out []*node
	for bit := uint64(1) << p.i; at != nil && at.made&bit == 0; at = at.above {
		at.made |= bit
		out = append([]*node{at}, out...)
	}
	return out
}

// next waits for the next item.
func (p *Part) next(ctx context.Context) (item, bool, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case ctx.Err() != nil:
			return item{}, false, context.Cause(ctx)
		case p.gone:
			return item{}, false, ErrNobody
		}
		if x, ok := p.pull(); ok {
			s.changed.Broadcast()
			return x, true, nil
		}
		if s.scanned && (p.closed || s.err != nil || len(s.large) == 0 && len(s.small) == 0 && !s.busy()) {
			if s.err != nil {
				return item{}, false, errText(s.err)
			}
			return item{}, false, nil
		}
		p.waits, p.idle = true, s.scanned && len(p.flights) == 0 && len(p.pending) == 0
		s.changed.Wait()
		p.waits, p.idle = false, false
	}
}

// pull takes an item, if there is one for this part; Source.mu is held.
func (p *Part) pull() (x item, ok bool) {
	from := &p.own
	switch {
	case p.closed:
		return x, false
	case len(p.own) > 0:
	case len(p.s.large) > 0 && p.heavies() < heavyMost && !p.s.betterFor(p):
		from = &p.s.large
	case !p.held.full():
		from = &p.s.small
	default:
		return x, false
	}
	if len(*from) == 0 {
		return x, false
	}
	x, *from = (*from)[0], (*from)[1:]
	switch {
	case p.s.look.plans(): // of a plan nothing is opened
	case x.heavy():
		p.pending[x.e] = x
	case x.light():
		p.light[x.e] = true
		p.held.files++
		p.held.bytes += x.e.Size
	}
	return x, true
}

// heavies is how many large files it has; Source.mu is held.
func (p *Part) heavies() int { return len(p.pending) + len(p.flights) }

// Has tells whether the target was found to have an entry as it is, while Scan hands that over.
func (p *Part) Has(e *move.Entry) bool { return p.now.e == e && p.now.has }

// read is that a small file was read, or could not be; Source.mu is held.
func (p *Part) read(e *move.Entry) {
	full := p.held.full()
	p.held.files--
	p.held.bytes -= e.Size
	if full && !p.held.full() {
		p.s.changed.Broadcast()
	}
}

// measure takes the rate of the seconds that have passed; Source.mu is held. A part that has
// nothing to do keeps the rate that it had.
func (p *Part) measure(seconds float64) {
	now := float64(p.bytes-p.before) / seconds
	p.before = p.bytes
	switch {
	case now == 0 && len(p.flights) == 0:
	case p.rate == 0:
		p.rate = now
	default:
		p.rate += (now - p.rate) * 0.3
	}
}

// Open implements move.Source.
func (p *Part) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	s := p.s
	s.mu.Lock()
	x, heavy := p.pending[e]
	light := p.light[e]
	delete(p.light, e) // one that is opened again was counted
	s.mu.Unlock()
	open, err := s.src.Open(ctx, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	if heavy {
		delete(p.pending, e)
		s.changed.Broadcast()
	}
	if err != nil {
		if light {
			p.read(e)
		}
		return nil, err
	}
	f := &reading{SourceFile: open, p: p}
	if light {
		f.light = e
	}
	if heavy {
		f.flight = &flight{item: x}
		p.flights[f.flight] = true
	}
	return f, nil
}

// reading is a file that is read for one target.
type reading struct {
	move.SourceFile
	p      *Part
	flight *flight     // nil: it is not moved
	light  *move.Entry // of a small file that is counted; else nil
}

// Read implements move.SourceFile.
func (f *reading) Read(ctx context.Context, index int64, buf []byte) (move.Block, error) {
	if f.isMoved() {
		return move.Block{}, move.ErrMoved
	}
	b, err := f.SourceFile.Read(ctx, index, buf)
	f.p.s.mu.Lock()
	defer f.p.s.mu.Unlock()
	f.p.bytes += int64(len(b.Data))
	if f.flight != nil {
		f.flight.read += int64(len(b.Data))
		if f.flight.moved {
			return move.Block{}, move.ErrMoved
		}
	}
	return b, err
}

func (f *reading) isMoved() bool {
	f.p.s.mu.Lock()
	defer f.p.s.mu.Unlock()
	return f.flight != nil && f.flight.moved
}

// Changed implements move.SourceFile. A file that was not moved until then is not moved.
func (f *reading) Changed() error {
	f.p.s.mu.Lock()
	if f.flight != nil {
		if f.flight.moved {
			f.p.s.mu.Unlock()
			return move.ErrMoved
		}
		f.flight.ending = true
		f.p.s.changed.Broadcast()
	}
	f.p.s.mu.Unlock()
	return f.SourceFile.Changed()
}

// Keeps implements move.Keeper: a target is asked with others, about all that the source has.
func (p *Part) Keeps(ctx context.Context, names []move.Name) ([]bool, error) {
	k, ok := p.s.src.(move.Keeper)
	if !ok {
		return nil, errUnasked
	}
	return k.Keeps(ctx, names)
}

// Unread implements move.Keeper.
func (p *Part) Unread(ctx context.Context) (int64, error) {
	k, ok := p.s.src.(move.Keeper)
	if !ok {
		return 0, errUnasked
	}
	return k.Unread(ctx)
}

var errUnasked = errors.New("this source cannot be asked what it has")

// Close implements move.SourceFile.
func (f *reading) Close() error {
	f.p.s.mu.Lock()
	switch {
	case f.flight != nil:
		delete(f.p.flights, f.flight)
		f.p.s.changed.Broadcast()
	case f.light != nil:
		f.p.read(f.light)
		f.light = nil
	}
	f.p.s.mu.Unlock()
	return f.SourceFile.Close()
}
