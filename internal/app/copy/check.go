package copy

import (
	"context"
	"errors"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/move/compare"
	"linerate/internal/move/local"
	"linerate/internal/move/mover"
	"linerate/internal/move/tree"
)

// Check compares two trees without copying: everything that a copy keeps, and every byte,
// read past its host's cache. What differs comes as Losses, with an error.
func Check(ctx context.Context, e app.Env, o Options, p app.Progress) (*Result, error) {
	o.Full = false
	if len(o.Spread.Targets) > 0 {
		return copySpread(ctx, e, o, p, mover.Comparing)
	}
	if o.IsFar() {
		return copyFar(ctx, e, o, p, mover.Comparing)
	}
	s, err := begin(e, o, p, true)
	if err != nil {
		return nil, err
	}
	if s.route.Missing {
		return nil, errors.Join(failure.Of(failure.Usage, "target %s is not there", o.Target), s.close())
	}
	if err := s.src.Close(); err != nil {
		return nil, errors.Join(err, s.dst.Close())
	}
	if s.src, err = tree.Open(s.route.Tops, tree.Options{Exclude: o.Exclude, Direct: true, Cold: true}, s.report); err != nil {
		return nil, errors.Join(err, s.dst.Close())
	}
	have, err := compare.Open(s.route.Root, s.route.Whole(), s.report)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	stop := s.follow(ctx)
	s.out.Times, err = local.Copy(ctx, s.src, have, s.report, local.Options{Rate: int64(o.Limit)})
	stop()
	r, err := s.ended(ctx, "different", errors.Join(err, s.close(), have.Close()))
	return compared(r, err)
}

// compared makes the result of a copy that of a check.
func compared(r *Result, err error) (*Result, error) {
	if err == nil {
		r.State = "same"
	}
	r.Verified, r.HeldBy = "every byte of both was read past its host's cache, where the file system lets go of it, and compared", ""
	if r.Wire != nil || r.Spread != nil {
		r.Verified += " by BLAKE3 of every 4 MiB"
	}
	return r, err
}
