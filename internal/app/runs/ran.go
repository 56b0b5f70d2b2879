package runs

import (
	"time"

	"linerate/internal/app"
	"linerate/internal/store"
	"linerate/internal/watch"
)

// Ran are the runs that were kept between two times, as marks of a timeline. Earlier ones are not
// read.
func Ran(e app.Env, from, to time.Time) ([]watch.Mark, error) {
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	list, err := store.ListSince(root, from)
	return Marks(list, from, to), err
}

// Marks are those of a list of runs that were made between two times.
func Marks(list []Summary, from, to time.Time) (out []watch.Mark) {
	for _, r := range list {
		if !r.Created.Before(from) && r.Created.Before(to) && r.Command != "" {
			out = append(out, watch.Mark{At: r.Created, Kind: watch.MarkRun, What: r.Command, To: r.ID})
		}
	}
	return out
}
