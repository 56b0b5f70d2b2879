// Package roles is the table of the process roles in which linerate starts itself: those on hosts,
// from package host/role, and the processes of labs. Users do not start them, so they are no commands
// and have no help. This package has only their names; what a role does is in the room that it names.
package roles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	"linerate/internal/host/role"
	"linerate/internal/lab"
	"linerate/internal/lab/fabric"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/guest"
	"linerate/internal/lab/qemu"
	"linerate/internal/lab/server"
	"linerate/internal/lab/uml"
)

// environment is what a role takes from its process.
type environment struct {
	app.Env
	in       io.Reader
	out, err io.Writer
}

// Version is the version of this program.
func Version() role.Version { return role.VersionOfThis() }

// Nameless tells whether args are the role of the first process of a lab host: that has no
// /proc yet in which to find its own program, and does not need it.
func Nameless(args []string) bool { return len(args) > 0 && args[0] == guest.InitRole }

// Run plays the role that args ask for and returns the exit code; false where args are a
// user's command.
func Run(ctx context.Context, e app.Env, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, ok bool) {
	env := &environment{e, stdin, stdout, stderr}
	if len(args) == 0 {
		return 0, false
	}
	// A Ctrl-C reaches the whole process group. Roles outlive it, so that the
	// controller can still undo through its agents; they end with their stdin.
	ctx = context.WithoutCancel(ctx)
	roles := map[string]func() int{
		"lab-holder": func() int { return lab.HolderMain(env.in, env.out) },
		"lab-enter":  func() int { return lab.EnterMain(args[1:]) },
		"lab-fabric": func() int { return fabric.Main(env.in, env.out) },
		"lab-keep":   func() int { return keepRole(ctx, env) },
		guest.InitRole: func() int {
			return guest.InitMain(args[1:], env.Getenv, guest.Device{EnterRoot: qemu.EnterRoot, Open: qemu.OpenControl})
		},
		guest.KeepRole:    func() int { return guest.KeepMain(ctx, env.in, env.out, qemu.Dial) },
		guest.RunRole:     func() int { return guest.RunMain(ctx, args[1:], env.in, env.out, env.err) },
		uml.BootRole:      func() int { return uml.BootMain(args[1:], env.err) },
		server.KernelRole: func() int { return server.KernelMain(ctx, args[1:], env.err) },
		explain.NetRole:   func() int { return outcome(env, explain.NetRole, explain.NetMain(args[1:])) },
		"lab-probe":       func() int { return server.ProbeMain(args[1:], env.err) },
		fault.SqueezeRole: func() int { return fault.SqueezeMain(ctx, args[1:], env.err) },
	}
	if args[0] == role.Agent && isCommand(args[1:], stdin) {
		return 0, false
	}
	ofHost := role.Env{Self: e.Self, Build: e.Build, Now: e.Now, In: stdin, Out: stdout, Err: stderr}
	if work, ok := role.Table(ofHost)[args[0]]; ok {
		return role.Run(ctx, ofHost, args[0], work, args[1:]), true
	}
	run, ok := roles[args[0]]
	if !ok {
		return 0, false
	}
	return run(), true
}

// isCommand tells the user's command agent from the role: that has other arguments, and its stdin
// is the controller's and no terminal.
func isCommand(args []string, stdin io.Reader) bool {
	if len(args) > 0 {
		return args[0] != "--deployed" && !strings.HasPrefix(args[0], "/")
	}
	f, ok := stdin.(*os.File)
	if !ok {
		return false
	}
	i, err := f.Stat()
	return err == nil && i.Mode()&os.ModeCharDevice != 0
}

// outcome prints err and returns the exit code.
func outcome(env *environment, role string, err error) int {
	if err != nil {
		fmt.Fprintf(env.err, "linerate %s: %v\n", role, err)
		return 1
	}
	return 0
}

// keepRole runs the keeper of a lab, in a user namespace if it needs one.
func keepRole(ctx context.Context, env *environment) int {
	need, err := lab.NeedUserNS()
	if err == nil && need {
		code, err := lab.ReexecInUserNS(ctx, append(slices.Clone(env.Self), "lab-keep"), env.in, env.out, env.err)
		if err != nil {
			return outcome(env, "lab-keep", err)
		}
		return code
	}
	dir, derr := lab.StateDir(env.Getenv, os.Geteuid(), os.TempDir())
	if err = errors.Join(err, derr); err != nil {
		return outcome(env, "lab-keep", err)
	}
	return lab.KeepMain(ctx, lab.Options{Self: env.Self, StateDir: dir}, env.in, env.out, env.Now)
}
