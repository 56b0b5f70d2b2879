// Package kit is what every bench needs before it can ask its own question: a
// run that ends with the user's interrupt, the program built once, and a private
// home to run it in. It measures and judges nothing.
package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
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

// Build builds the program of this tree into a folder and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "bin", "linerate") // beside linerate/, where it keeps its results
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/linerate").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build linerate: %w\n%s", err, out)
	}
	return binary, nil
}

// User runs the program in a home of its own: bundles, state and labs.
type User struct{ Binary, Home string }

// Command is the program with arguments. Interrupted, it has half a minute to
// put everything back.
func (u User) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, u.Binary, args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+u.Home, "HOME="+u.Home, "XDG_DATA_HOME="+u.Home)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// Run returns what the program prints. An error has the last line of what it
// said on stderr.
func (u User) Run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := u.Command(ctx, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return nil, fmt.Errorf("linerate %s: %w: %s", strings.Join(args, " "), err, lines[len(lines)-1])
	}
	return out.Bytes(), nil
}

// Ask runs the program and decodes the JSON that it prints; nil: nobody wants it.
func (u User) Ask(ctx context.Context, into any, args ...string) error {
	out, err := u.Run(ctx, args...)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("linerate %s: read its answer: %w", strings.Join(args, " "), err)
	}
	return nil
}
