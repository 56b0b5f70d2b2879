package study

import (
	"errors"
	"strings"

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
	if ref == "last" { // the last run may be of another command
		if ref, err = lastBundle(root); err != nil {
			return nil, err
		}
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

// lastBundle is the newest bundle of a study, where none is on record any more.
func lastBundle(root string) (string, error) {
	list, err := store.List(root)
	if err != nil {
		return "", err
	}
	for _, s := range list {
		if s.State == store.Complete && strings.HasPrefix(s.Command, "study ") {
			return s.ID, nil
		}
	}
	return "", failure.Advise(failure.Of(failure.Nothing, "there is no study yet"), failure.ListTemplates)
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
