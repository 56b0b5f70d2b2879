package app

import (
	"context"
	"os"

	"linerate/internal/lab"
)

// Sweep removes what labs of this user left that were killed, and says how to make new
// ones. It has to come before this process enters a user namespace: from inside one it
// does not see what is left outside.
func Sweep(ctx context.Context, e Env, p Progress) (lab.Options, error) {
	dir, err := lab.StateDir(e.Getenv, os.Geteuid(), os.TempDir())
	if err != nil {
		return lab.Options{}, err
	}
	opts := lab.Options{Self: e.Self, StateDir: dir}
	removed, err := lab.Sweep(ctx, opts)
	for _, r := range removed {
		p.Say("removed what an earlier run left: %s", r)
	}
	return opts, err
}
