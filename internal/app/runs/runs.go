// Package runs finds the bundles of recorded runs, opens them with their hashes
// checked, and sets two side by side. It changes none, and refuses to read one that
// is damaged or of a later version.
package runs

import (
	"linerate/internal/app"
	"linerate/internal/report/compare"
	"linerate/internal/store"
)

// What the surface needs of the store to list and render runs.
type (
	// Summary is a line of the list of runs.
	Summary = store.Summary
	// Bundle is a recorded run.
	Bundle = store.Bundle
	// Samples are those of a bundle, by run and host.
	Samples = store.Samples
	// Climbed is what a kept run measured of the rungs of a path.
	Climbed = store.Climbed
)

// Complete is the state of a Summary whose bundle is whole.
const Complete = store.Complete

// List lists the recorded runs, newest first, and where they are kept.
func List(e app.Env) (root string, list []Summary, err error) {
	if root, err = store.DataDir(e.Getenv); err != nil {
		return "", nil, err
	}
	list, err = store.List(root)
	return root, append([]Summary{}, list...), err
}

// Open finds and opens a bundle. ref is an id, the beginning of one, "last", or the
// path of a bundle.
func Open(e app.Env, ref string) (*Bundle, error) {
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	dir, err := store.Resolve(root, ref)
	if err != nil {
		return nil, err
	}
	return store.Open(dir)
}

// Compare sets the second run beside the first.
func Compare(e app.Env, first, second string) (compare.Comparison, error) {
	var sides [2]compare.Side
	for i, ref := range []string{first, second} {
		b, err := Open(e, ref)
		if err != nil {
			return compare.Comparison{}, err
		}
		sides[i] = compare.Side{ID: b.ID(), Results: b.Results, Facts: b.Facts}
	}
	return compare.Compare(sides[0], sides[1]), nil
}
