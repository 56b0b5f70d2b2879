package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/kernel"
	netlab "linerate/internal/lab"
)

// Program is what is run inside a host of a lab.
type Program struct {
	Lab, Host string
	Argv      []string
	In        io.Reader
	Out, Err  io.Writer
}

// Exec runs a program inside a host and returns its exit code. Where this process
// may enter the host itself, the program takes its place and Exec does not return.
func Exec(ctx context.Context, e app.Env, x Program) (code int, err error) {
	c, err := e.Reach(nil).Lab(x.Lab)
	if err != nil {
		return 0, err
	}
	enter, err := c.Enter(ctx, x.Host)
	if err != nil {
		return 0, failure.As(failure.Usage, err)
	}
	need, err := netlab.NeedUserNS()
	if err != nil {
		return 0, err
	}
	if !need {
		return 0, kernel.Replace(append(enter, x.Argv...), os.Environ())
	}
	in, ok1 := x.In.(*os.File)
	out, ok2 := x.Out.(*os.File)
	errs, ok3 := x.Err.(*os.File)
	if !ok1 || !ok2 || !ok3 {
		return 0, errors.New("lab exec: standard streams are no files")
	}
	// The program gets these signals in place of this process.
	sig := make(chan os.Signal, 8)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(sig)
	return c.Exec(context.WithoutCancel(ctx), x.Host, x.Argv, in, out, errs, sig)
}
