package lab

import (
	"context"
	"time"

	"linerate/internal/app"
)

// Hosts are the names of the hosts of all labs that are up, as commands take them
// (lab:client1, or lab:NAME/client1 if several labs are up). Completion of arguments
// offers them, so a lab that does not answer is left out.
func Hosts(ctx context.Context, e app.Env) []string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	names, err := Names(e)
	if err != nil {
		return nil
	}
	var out []string
	for _, name := range names {
		s, err := status(ctx, e, name)
		if err != nil {
			continue
		}
		prefix := "lab:"
		if len(names) > 1 {
			prefix += name + "/"
		}
		for _, h := range s.Hosts {
			out = append(out, prefix+h.Name)
		}
	}
	return out
}
