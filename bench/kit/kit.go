// Package kit is what every bench needs before it can ask its own question: a
// run that ends with the user's interrupt, the program built once, a private home
// to run it in, a lab that is taken down again, the machine's CPU time, and the
// cells of a Markdown table. It measures and judges nothing by itself.
package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"linerate/internal/lab"
)

// Main runs a bench until it ends or is interrupted. An error is printed after
// the bench's name, and ends the program with exit code 1.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench/%s: %v\n", name, err)
		os.Exit(1)
	}
}

// User runs the program in a home of its own: bundles, state and labs.
type User struct{ Binary, Home string }

// WithUser gives work a home below parent (empty: the directory for temporary
// files), and removes it afterwards. Without a binary it builds this tree's, as releases
// are: without tables of symbols, and with the program for hosts in it.
func WithUser(ctx context.Context, parent, binary string, work func(User) error) (err error) {
	home, err := os.MkdirTemp(parent, "linerate-bench-")
	if err != nil {
		return fmt.Errorf("make a home for the bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	if binary == "" {
		binary = filepath.Join(home, "bin", "linerate") // beside linerate/, where it keeps its results
		if err := Do(ctx, "go", "run", "linerate/release/build", "-o", binary); err != nil {
			return fmt.Errorf("build linerate: %w", err)
		}
	}
	return work(User{binary, home})
}

// Command is the program with arguments. Interrupted, it has half a minute to
// put everything back.
func (u User) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, u.Binary, args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+u.Home, "HOME="+u.Home, "XDG_DATA_HOME="+u.Home)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// Run returns what the program prints.
func (u User) Run(ctx context.Context, args ...string) ([]byte, error) {
	return Output(u.Command(ctx, args...))
}

// Ask runs the program and decodes the JSON that it prints.
func (u User) Ask(ctx context.Context, into any, args ...string) error {
	return Decode(u.Command(ctx, args...), into)
}

// Lab brings a lab up, as `lab up` does with these arguments, and takes it down
// after work.
func (u User) Lab(ctx context.Context, args []string, work func(lab.Status) error) (err error) {
	var up lab.Status
	if err := u.Ask(ctx, &up, append([]string{"lab", "up", "--json"}, args...)...); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_, down := u.Run(ctx, "lab", "down", "--all")
		err = errors.Join(err, down)
	}()
	return work(up)
}

// Inside runs a command on a host of the lab that is up.
func (u User) Inside(ctx context.Context, host string, argv ...string) error {
	_, err := u.Run(ctx, append([]string{"lab", "exec", host, "--"}, argv...)...)
	return err
}

// Do runs any program whose output matters only in an error.
func Do(ctx context.Context, argv ...string) error {
	if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// Output runs a command and returns what it prints. An error has the arguments and
// the last line that the command wrote to stderr.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", commandLine(cmd), err)
		if said := strings.TrimSpace(stderr.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said[strings.LastIndexByte(said, '\n')+1:])
		}
		return nil, err
	}
	return out, nil
}

// Decode runs a command and decodes the JSON that it prints; fio prints warnings
// before it.
func Decode(cmd *exec.Cmd, into any) error {
	out, err := Output(cmd)
	if err != nil {
		return err
	}
	if i := bytes.IndexByte(out, '{'); i > 0 && out[0] != '[' {
		out = out[i:]
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("read what %s printed: %w: %.200s", commandLine(cmd), err, out)
	}
	return nil
}

func commandLine(cmd *exec.Cmd) string {
	return filepath.Base(cmd.Path) + " " + strings.Join(cmd.Args[1:], " ")
}
