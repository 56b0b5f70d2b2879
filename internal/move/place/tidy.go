package place

import (
	"context"

	"linerate/internal/failure"
	"linerate/internal/move"
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
	return p.Extra(ctx, whole, most, source)
}

// Step is one thing that a copy would do.
type Step struct {
	Do   string // "new", "replace", "delete", "refuse"
	Kind move.Kind
	Path string // bytes, below the target
	Size int64  // Bytes
	Why  string // of "refuse"
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
		p.Rep.Count(func(m *move.Summary) { m.Same++; m.SameBytes += e.Size })
		return nil
	}
	p.Rep.Count(func(m *move.Summary) { counted(m, e) })
	return p.Step(Step{Do: action.String(), Kind: e.Kind, Path: e.Path, Size: e.Size})
}

// counted counts an entry that would be copied.
func counted(m *move.Summary, e *move.Entry) {
	switch {
	case e.Linked:
		m.HardLinks++
	case e.Kind == move.File:
		m.Files++
		m.Bytes += e.Size
	case e.Kind == move.Directory:
		m.Directories++
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
	for _, x := range list {
		if err := p.Step(Step{Do: "delete", Kind: x.Kind, Path: x.Path}); err != nil {
			return err
		}
		p.Rep.Count(func(m *move.Summary) { m.Deleted++ })
	}
	return err
}
