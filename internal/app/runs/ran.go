package runs

import (
	"time"

	"linerate/internal/app"
	"linerate/internal/store"
	"linerate/internal/watch"
)

// Since lists the runs since a time, newest first. It does not read earlier ones.
func Since(e app.Env, from time.Time) ([]Summary, error) {
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	return store.ListSince(root, from)
}

// LastLadder returns the newest measurement of each rung of a path, from a list of runs, newest first.
func LastLadder(list []Summary, of store.Place) Climbed { return store.LastLadder(list, of) }

// PlaceOf is the path of a picture, as LastLadder finds it.
func PlaceOf(p watch.Picture) store.Place { return store.PlaceOf(p) }

// Marks are those of a list of runs that were made between two times.
func Marks(list []Summary, from, to time.Time) (out []watch.Mark) {
	for _, r := range list {
		if !r.Created.Before(from) && r.Created.Before(to) && r.Command != "" {
			out = append(out, watch.Mark{At: r.Created, Kind: watch.MarkRun, What: r.Command, To: r.ID})
		}
	}
	return out
}
