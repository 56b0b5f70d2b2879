package study

import (
	"errors"

	"linerate/internal/app"
	"linerate/internal/app/runs"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/store"
)

// Show finds what a study found, or has found so far if it is not over. ref is an
// id, the beginning of one, "last", or the path of a bundle.
func Show(e app.Env, ref string) (*model.Results, error) {
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	past, err := store.ReadStudy(root, ref)
	switch {
	case err == nil && past.Finished() == nil:
		return soFar(past, e.Now())
	case err == nil:
		ref = past.Finished().Bundle
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	b, err := runs.Open(e, ref)
	if err != nil {
		return nil, err
	}
	if b.Results.Study == nil {
		return nil, failure.As(failure.Usage, &NotAStudyError{b.ID(), b.Manifest.Command})
	}
	return b.Results, nil
}

// List lists the studies on record, newest first.
func List(e app.Env) ([]Summary, error) {
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	list, err := store.ListStudies(root)
	return append([]Summary{}, list...), err
}
