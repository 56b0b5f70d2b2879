// Package role is the roles in which a program plays on a host for another linerate: agent, worker,
// mover, dead-man, and the one that undo.sh starts. All of linerate has them, and the program that
// is sent to hosts has nothing else. They are not for users: it refuses to read a command.
package role

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/load/worker"
	"linerate/internal/move/mover"
	"linerate/internal/tune"
)

// Agent is the role that serves one controller over stdin and stdout.
const Agent = "agent"

// Env is what a role may use of its process.
type Env struct {
	Self     []string // argv by which the process starts itself
	Build    string   // of the program, for the controller
	Now      func() time.Time
	In       io.Reader
	Out, Err io.Writer
}

// Table is the work of each role by its name; args are what follows that.
func Table(e Env) map[string]func(ctx context.Context, args []string) error {
	o := host.AgentOptions{Self: e.Self, Build: e.Build, Now: e.Now, Log: e.Err}
	return map[string]func(ctx context.Context, args []string) error{
		Agent: func(ctx context.Context, args []string) error { return agent(ctx, e, o, args) },
		host.WatchRole: func(ctx context.Context, args []string) error {
			out, ok := e.Out.(io.WriteCloser)
			if !ok {
				return errors.New("watch: stdout cannot be closed")
			}
			return host.WatchMain(ctx, args, out, o)
		},
		tune.ValueRole: func(ctx context.Context, args []string) error { return host.ValueMain(ctx, args, e.Out, o) },
		worker.Role:    func(ctx context.Context, _ []string) error { return worker.Main(ctx, e.In, e.Out) },
		mover.Role:     func(ctx context.Context, _ []string) error { return mover.Main(ctx, e.In, e.Out) },
	}
}

func agent(ctx context.Context, e Env, o host.AgentOptions, args []string) (err error) {
	if o.StateDir, o.Deployed, err = host.ParseAgentArgs(args); err != nil {
		return err
	}
	out, ok := e.Out.(io.WriteCloser)
	if !ok {
		return errors.New("serve: stdout cannot be closed")
	}
	return host.AgentMain(ctx, e.In, out, o)
}

// Run plays a role and returns the exit code.
func Run(ctx context.Context, e Env, name string, work func(context.Context, []string) error, args []string) int {
	// A Ctrl-C reaches the whole process group. Roles outlive it, so that the
	// controller can still undo through its agents; they end with their stdin.
	if err := work(context.WithoutCancel(ctx), args); err != nil {
		if !failure.WasTold(err) {
			fmt.Fprintf(e.Err, "linerate %s: %v\n", name, err)
		}
		return 1
	}
	return 0
}
