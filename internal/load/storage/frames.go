package storage

import (
	"context"
	"errors"

	"linerate/internal/load"
	"linerate/internal/load/frames"
)

// Frames makes a run of frames; where the page cache cannot be passed by, through it:
// notDirect. say is told what is being done; nil: nobody is.
func Frames(ctx context.Context, s frames.Spec, say func(string)) (r frames.Result, notDirect bool, err error) {
	r, err = frames.Run(ctx, s, say)
	if notDirect = errors.Is(err, frames.ErrNoDirect); notDirect {
		s.Direct = false
		r, err = frames.Run(ctx, s, say)
	}
	if errors.Is(err, frames.ErrNoRoom) {
		err = load.Refuse("%w; choose fewer --seconds or --streams", err)
	}
	return r, notDirect, err
}
