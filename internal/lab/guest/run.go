package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"linerate/internal/kernel"
)

// RunRole is the hidden subcommand that runs a command inside a host:
// lab-in SOCKET -- COMMAND...
const RunRole = "lab-in"

// RunMain runs the command in args inside the host behind the socket, with these streams, and
// returns its exit code. It forwards signals; when the caller ends, the command is killed.
func RunMain(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	sig := make(chan os.Signal, 8)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(sig)
	code, err := run(ctx, args, stdin, stdout, stderr, sig)
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	return code
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, sig <-chan os.Signal) (int, error) {
	if len(args) < 3 || args[1] != "--" {
		return 1, fmt.Errorf("run in host: want SOCKET -- COMMAND, have %q", args)
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	conn, err := dial(ctx, args[0])
	if err != nil {
		return 1, err
	}
	defer conn.Close()
	out := &frames{w: conn}
	if err := out.sendJSON(kindRequest, request{Argv: args[2:], Env: kernel.AdminEnv(os.Environ()), Dir: dir}); err != nil {
		return 1, fmt.Errorf("run in host: %w", err)
	}
	go pumpStdin(out, stdin)
	go pumpSignals(ctx, out, sig)
	return follow(conn, stdout, stderr)
}

func dial(ctx context.Context, socket string) (net.Conn, error) {
	conn, err := kernel.DialUnix(ctx, socket)
	if err != nil {
		return nil, fmt.Errorf("reach the host: %w; it is down, or still booting", err)
	}
	return conn, nil
}

// pumpStdin ends with the connection; its errors do not matter then.
func pumpStdin(out *frames, stdin io.Reader) {
	if stdin != nil {
		_, _ = io.Copy(out.as(kindStdin), stdin)
	}
	_ = out.send(kindStdin, nil)
}

func pumpSignals(ctx context.Context, out *frames, sig <-chan os.Signal) {
	for {
		select {
		case s := <-sig:
			if n, ok := s.(syscall.Signal); ok {
				_ = out.send(kindSignal, []byte{byte(n)}) // as above
			}
		case <-ctx.Done():
			return
		}
	}
}

// follow writes what the command prints until it ends.
func follow(conn io.Reader, stdout, stderr io.Writer) (int, error) {
	for {
		k, b, err := readFrame(conn)
		if err != nil {
			return 1, fmt.Errorf("run in host: the host has gone down: %w", err)
		}
		switch k {
		case kindStdout:
			_, err = stdout.Write(b)
		case kindStderr:
			_, err = stderr.Write(b)
		case kindExit:
			var e exit
			if err := json.Unmarshal(b, &e); err != nil {
				return 1, fmt.Errorf("run in host: %w", err)
			}
			if e.Error != "" {
				return e.Code, errors.New(e.Error)
			}
			return e.Code, nil
		}
		if errors.Is(err, syscall.EPIPE) {
			return 128 + int(syscall.SIGPIPE), nil // as in shells
		}
		if err != nil {
			return 1, fmt.Errorf("run in host: write output: %w", err)
		}
	}
}
