package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/kernel"
	"linerate/internal/lab/wire"
)

// ErrNone: no lab is up.
var ErrNone = failure.Advise(errors.New("no lab is up"), failure.BringLabUp)

// Names lists the labs of this user that are up.
func Names(stateDir string) ([]string, error) {
	socks, err := filepath.Glob(filepath.Join(stateDir, "*"+socketSuffix))
	if err != nil {
		return nil, fmt.Errorf("list labs: %w", err)
	}
	var out []string
	for _, s := range socks {
		c, err := kernel.DialUnix(context.Background(), s)
		if err != nil {
			continue // its keeper was killed; the next sweep removes it
		}
		_ = c.Close()
		out = append(out, strings.TrimSuffix(filepath.Base(s), socketSuffix))
	}
	return out, nil
}

// Client is a connection to the keeper of a lab.
type Client struct {
	Name string
	path string
}

// SeveralError: several labs are up, and none was named.
type SeveralError struct{ Names []string }

// Error names them.
func (e *SeveralError) Error() string { return "several labs are up: " + strings.Join(e.Names, ", ") }

// Connect finds the lab with this name, or the only one that is up.
func Connect(stateDir, name string) (*Client, error) {
	names, err := Names(stateDir)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, errors.Join(ErrNone, removeEmpty(stateDir))
	case name == "" && len(names) > 1:
		return nil, failure.Advise(&SeveralError{names}, failure.SayWhichLab)
	case name == "":
		name = names[0]
	case !slices.Contains(names, name):
		return nil, fmt.Errorf("no lab named %s is up; there is %s", name, strings.Join(names, ", "))
	}
	return &Client{name, socketPath(stateDir, name)}, nil
}

func (c *Client) ask(ctx context.Context, op string, args, result any) error {
	return c.converse(ctx, func(conn net.Conn) error { return wire.Ask(conn, op, args, result) })
}

func (c *Client) converse(ctx context.Context, talk func(net.Conn) error) error {
	conn, err := kernel.DialUnix(ctx, c.path)
	if err != nil {
		return fmt.Errorf("reach lab %s: %w", c.Name, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := talk(conn); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return nil
}

// Status is the state of the lab with all its counters.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	err = c.ask(ctx, "status", struct{}{}, &s)
	return s, err
}

// Enter is the start of an argv that runs what follows inside a host. Only who
// may join namespaces can use it; others have Exec.
func (c *Client) Enter(ctx context.Context, host string) (argv []string, err error) {
	err = c.ask(ctx, "enter", host, &argv)
	return argv, err
}

// AddFault puts something wrong, in the words of fault.Parse.
func (c *Client) AddFault(ctx context.Context, args []string) (f Injected, err error) {
	err = c.ask(ctx, "fault-add", args, &f)
	return f, err
}

// AddFaultBy is AddFault by a study, which has to find it again. A second
// one by the same adds nothing and returns the first.
func (c *Client) AddFaultBy(ctx context.Context, by string, args []string) (f Injected, err error) {
	err = c.ask(ctx, "fault-add-by", faultOrder{by, args}, &f)
	return f, err
}

// CheckFault says why a fault could not be put in; it changes nothing.
func (c *Client) CheckFault(ctx context.Context, args []string) error {
	return c.ask(ctx, "fault-check", args, nil)
}

// RemoveFault takes a fault out by its number.
func (c *Client) RemoveFault(ctx context.Context, number int) (f Injected, err error) {
	err = c.ask(ctx, "fault-remove", number, &f)
	return f, err
}

// Reboot boots a host that has a kernel of its own again, and returns when it
// is up.
func (c *Client) Reboot(ctx context.Context, host string) error {
	return c.ask(ctx, "reboot", host, nil)
}

// Down takes the lab down and returns when nothing is left of it.
func (c *Client) Down(ctx context.Context) error {
	return c.converse(ctx, func(conn net.Conn) error {
		if err := wire.Ask(conn, "down", struct{}{}, nil); err != nil {
			return err
		}
		// The keeper ends when it has heard that we know; the connection ends with the keeper.
		if u, ok := conn.(*net.UnixConn); ok {
			if err := u.CloseWrite(); err != nil {
				return err
			}
		}
		_, err := io.Copy(io.Discard, conn)
		return err
	})
}

// Keep starts argv, a keeper, apart from this process, its terminal and its
// Ctrl-C, gives it the order and follows its news until the lab is up. When ctx
// ends before, or the keeper does, nothing is left of the lab.
func Keep(ctx context.Context, argv []string, order Order, news func(step string)) error {
	cmd := kernel.Exec(context.Background(), argv...)
	kernel.Detach(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start keeper of the lab: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start keeper of the lab: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start keeper of the lab: %w", err)
	}
	// A SIGTERM lets it take down what it has built so far.
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer stop()
	if err := json.NewEncoder(stdin).Encode(order); err != nil {
		return errors.Join(fmt.Errorf("order the lab: %w", err), cmd.Wait())
	}
	for dec := json.NewDecoder(stdout); ; {
		var n News
		if err := dec.Decode(&n); err != nil {
			werr := cmd.Wait()
			return errors.Join(context.Cause(ctx), fmt.Errorf("the keeper of the lab has ended: %w", werr))
		}
		switch {
		case n.Error != "":
			_ = cmd.Wait() // it has reported its error
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return errors.New(n.Error)
		case n.Up:
			return cmd.Process.Release()
		default:
			news(n.Step)
		}
	}
}
