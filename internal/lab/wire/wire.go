// Package wire lets one process call another of the same program: one JSON request
// per line on its standard input, one answer per line. A
// process that serves ends when its input does, so that nothing outlives a
// controller that was killed. It speaks no network and reads no untrusted
// bytes: both ends are this program.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"linerate/internal/kernel"
)

type request struct {
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args"`
}

type response struct {
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Handler answers one kind of request.
type Handler func(args json.RawMessage) (any, error)

// Op makes a Handler of a typed function.
func Op[A, R any](f func(A) (R, error)) Handler {
	return func(raw json.RawMessage) (any, error) {
		var args A
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, fmt.Errorf("decode arguments: %w", err)
		}
		return f(args)
	}
}

// Do makes a Handler of a typed function without a result.
func Do[A any](f func(A) error) Handler {
	return Op(func(a A) (struct{}, error) { return struct{}{}, f(a) })
}

// Serve answers requests until in ends.
func Serve(in io.Reader, out io.Writer, handlers map[string]Handler) error {
	dec, enc := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var req request
		if err := dec.Decode(&req); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read request: %w", err)
		}
		if err := enc.Encode(answer(req, handlers)); err != nil {
			return fmt.Errorf("write response: %w", err)
		}
	}
}

func answer(req request, handlers map[string]Handler) response {
	h, ok := handlers[req.Op]
	if !ok {
		return response{Error: fmt.Sprintf("unknown operation %q", req.Op)}
	}
	result, err := h(req.Args)
	if err != nil {
		return response{Error: err.Error()}
	}
	b, err := json.Marshal(result)
	if err != nil {
		return response{Error: fmt.Sprintf("encode result: %v", err)}
	}
	return response{Result: b}
}

// Main is the body of a helper subcommand; it returns the exit status.
func Main(stdin io.Reader, stdout io.Writer, handlers map[string]Handler) int {
	if err := Serve(stdin, stdout, handlers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Helper is the controller's side of a helper process.
type Helper struct {
	name  string
	cmd   *kernel.Cmd
	stdin io.WriteCloser
	dec   *json.Decoder
	said  *tail
	mu    sync.Mutex // one request at a time
}

// Start starts argv. It outlives ctx of the caller: stop ends it.
func Start(name string, argv, env []string, ns kernel.Namespaces) (*Helper, error) {
	cmd := kernel.Exec(context.Background(), argv...)
	cmd.Env = WithEnv(os.Environ(), env...)
	kernel.InNewNamespaces(cmd, ns)
	h := &Helper{name: name, cmd: cmd, said: &tail{}}
	cmd.Stderr = h.said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), stdin.Close())
	}
	h.stdin, h.dec = stdin, json.NewDecoder(stdout)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), stdin.Close(), stdout.Close())
	}
	return h, nil
}

// PID is the process id of the helper.
func (h *Helper) PID() int { return h.cmd.Process.Pid }

// Call sends one request and waits for its answer. When ctx ends first the
// Helper is ended: its stream is in an unknown state.
func (h *Helper) Call(ctx context.Context, op string, args, result any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- h.exchange(op, args, result) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s: %s: %w", h.name, op, err)
		}
		return nil
	case <-ctx.Done():
		// It may have ended by itself; then there is nothing to end.
		_ = h.cmd.Process.Kill()
		<-done
		return fmt.Errorf("%s: %s: %w", h.name, op, ctx.Err())
	}
}

func (h *Helper) exchange(op string, args, result any) error {
	err := exchange(h.stdin, h.dec, op, args, result)
	var ended *endedError
	if errors.As(err, &ended) {
		return fmt.Errorf("%w%s", err, h.said.suffix())
	}
	return err
}

// Ask sends one request over a connection and waits for its answer.
func Ask(conn io.ReadWriter, op string, args, result any) error {
	return exchange(conn, json.NewDecoder(conn), op, args, result)
}

// endedError: the other side is gone, or does not speak this protocol.
type endedError struct{ err error }

func (e *endedError) Error() string { return "it has ended: " + e.err.Error() }
func (e *endedError) Unwrap() error { return e.err }

func exchange(to io.Writer, from *json.Decoder, op string, args, result any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(to).Encode(request{op, raw}); err != nil {
		return &endedError{err}
	}
	var resp response
	if err := from.Decode(&resp); err != nil {
		return &endedError{err}
	}
	if resp.Error != "" {
		return errors.New(resp.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(resp.Result, result)
}

// Stop lets the helper end by itself and ends it when it does not within a
// second.
func (h *Helper) Stop() error {
	closed := h.stdin.Close()
	if errors.Is(closed, os.ErrClosed) {
		closed = nil
	}
	done := make(chan error, 1)
	go func() { done <- h.cmd.Wait() }()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-done: // how it ended no longer matters
	case <-timer.C:
		if err := h.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end %s: %w", h.name, err)
		}
		<-done
	}
	return closed
}

// tail keeps the end of what a helper wrote to its standard error.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if n := len(t.buf); n > 4096 {
		t.buf = t.buf[n-4096:]
	}
	return len(b), nil
}

func (t *tail) suffix() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := bytes.TrimSpace(t.buf)
	if len(s) == 0 {
		return ""
	}
	return ": " + string(s)
}

// WithEnv returns env with the NAME=value pairs in place of their namesakes.
func WithEnv(env []string, pairs ...string) []string {
	var out []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(pairs, func(p string) bool { return strings.HasPrefix(p, name+"=") }) {
			out = append(out, e)
		}
	}
	return append(out, pairs...)
}
