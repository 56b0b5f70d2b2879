package place

import (
	"context"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/beneath"
	"linerate/internal/move/journal"
)

// tooMany is a target that holds more that the source does not have than may be deleted.
func tooMany(most int) error {
	return failure.Of(failure.Usage, "--delete: the target holds more than %d entries that the source does not have; nothing was deleted: see --dry-run, and allow more with --max-delete", most)
}

// Deleting is a Place that deletes in the end what the source does not have: nothing, if the
// source could not be read whole, or if it would be more than Most entries.
type Deleting struct {
	*Place
	Whole []string // directories that are to be as the source has them
	Most  int
	Rep   *move.Report
}

// Tidy implements move.Tidier.
func (d *Deleting) Tidy(ctx context.Context, source move.Keeper) error {
	list, err := extraOf(ctx, d.Place, d.Whole, d.Most, source, d.Rep)
	if err != nil {
		return err
	}
	return d.Remove(ctx, list)
}

// extraOf is what a source that was read whole does not keep.
func extraOf(ctx context.Context, p *Place, whole []string, most int, source move.Keeper, r *move.Report) ([]Doomed, error) {
	n, err := source.Unread(ctx)
	if err != nil {
		return nil, err
	}
	if n > 0 {
		r.Lose(move.Failed, "", "nothing is deleted: %d entries of the source could not be read", n)
		return nil, nil
	}
	list, err := p.Extra(ctx, whole, most, source)
	if err == nil {
		err = spared(list)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// spared refuses a list that has the journal of another copy: the directory in which it lies is a
// target itself, whatever name led to it.
func spared(list []Doomed) error {
	for _, x := range list {
		if _, name := beneath.Split(x.Path); name == journal.Name {
			return failure.Of(failure.Usage, "--delete: %s is of a copy into a directory within this target, which is under way or did not end; nothing was deleted: let it end, or remove that file", move.Quote(x.Path))
		}
	}
	return nil
}

// Step is one thing that a copy would do.
type Step struct {
	Do   string // "new", "replace", "mend" (the metadata of what is there), "delete", "refuse"
	Kind move.Kind
	Path string // bytes, below the target
	Size int64  // Bytes
	Why  string // of "refuse", and what "mend" sets
}

// Planned is a sink that changes nothing: it says by the decisions of a copy what that would
// do. Its Make takes files too.
type Planned struct {
	*Place
	Delete bool
	Whole  []string
	Most   int
	Rep    *move.Report
	Step   func(Step) error // hears of all that is more than "same"
}

// Make implements move.Sink.
func (p *Planned) Make(_ context.Context, e *move.Entry) error {
	action, err := p.Decide(e)
	switch {
	case err != nil:
		p.Rep.Lose(move.Failed, e.Path, "%v", err)
		return p.Step(Step{Do: "refuse", Kind: e.Kind, Path: e.Path, Size: e.Size, Why: err.Error()})
	case action == Same:
		return p.stays(e)
	}
	p.Rep.Count(func(m *move.Summary) { Counted(m, e) })
	return p.Step(Step{Do: action.String(), Kind: e.Kind, Path: e.Path, Size: e.Size})
}

// stays counts an entry whose content is there, and says what of its metadata would be set.
func (p *Planned) stays(e *move.Entry) error {
	if e.Linked { // its first name tells
		p.Rep.Count(func(m *move.Summary) { m.Same++ })
		return nil
	}
	if e.Kind != move.Directory {
		p.Rep.Count(func(m *move.Summary) { m.Same++; m.SameBytes += e.Size })
	}
	amiss, err := p.Amiss(e)
	if err != nil {
		p.Rep.Lose(move.Failed, e.Path, "look at it: %v", err)
		return nil
	}
	if len(amiss) == 0 {
		return nil
	}
	p.Rep.Count(func(m *move.Summary) { m.Mended++ })
	return p.Step(Step{Do: "mend", Kind: e.Kind, Path: e.Path, Size: e.Size, Why: strings.Join(amiss, "; ")})
}

// Counted counts an entry that would be copied.
func Counted(m *move.Summary, e *move.Entry) {
	switch {
	case e.Linked:
		m.HardLinks++
	case e.Kind == move.File:
		m.Files++
		m.Bytes += e.Size
	case e.Kind == move.Directory:
		m.Directories++
		m.NewDirs++
	case e.Kind == move.Symlink:
		m.Symlinks++
	default:
		m.Specials++
	}
}

// Finish implements move.Sink.
func (p *Planned) Finish(context.Context) error { return nil }

// Tidy implements move.Tidier.
func (p *Planned) Tidy(ctx context.Context, source move.Keeper) error {
	if !p.Delete {
		return nil
	}
	list, err := extraOf(ctx, p.Place, p.Whole, p.Most, source, p.Rep)
	if err != nil {
		return err
	}
	return p.Tell(ctx, list)
}

// Later is a target of several, of which none deletes before all have said how much that would be:
// it lists what its sources do not have, and deals with it when it is told to.
type Later struct {
	Sink
	Place *Place
	Whole []string
	Most  int
	Do    func(context.Context, []Doomed) error // deletes, or says that it would
	List  Listed
	list  []Doomed
}

// Sink is one that can be asked what it has.
type Sink interface {
	move.Sink
	move.Finder
}

// Listed is what a target holds that its sources do not have.
type Listed struct {
	Known  bool  // it was listed
	N      int   // entries
	Unread int64 // entries of the sources that could not be read: nothing is listed then
	Err    error // why it could not be listed, or that there is too much of it
}

// Tidy implements move.Tidier: it lists. What hinders that is in List, since it is no reason to
// take the copy for failed.
func (l *Later) Tidy(ctx context.Context, source move.Keeper) error {
	l.List.Unread, l.List.Err = source.Unread(ctx)
	if l.List.Err == nil && l.List.Unread == 0 {
		l.list, l.List.Err = l.Place.Extra(ctx, l.Whole, l.Most, source)
	}
	if l.List.Err == nil {
		l.List.Err = spared(l.list)
	}
	if l.List.Err != nil {
		l.list = nil
	}
	l.List.Known, l.List.N = true, len(l.list)
	return context.Cause(ctx)
}

// Deal deals with what was listed.
func (l *Later) Deal(ctx context.Context) error { return l.Do(ctx, l.list) }

// Tell says of a list what Remove would do.
func (p *Planned) Tell(_ context.Context, list []Doomed) error {
	for _, x := range list {
		if err := p.Step(Step{Do: "delete", Kind: x.Kind, Path: x.Path}); err != nil {
			return err
		}
		p.Rep.Count(func(m *move.Summary) { m.Deleted++ })
	}
	return nil
}
