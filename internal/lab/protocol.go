package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"linerate/internal/kernel"
)

// A helper process (holder, link, burner) takes one JSON request per line on
// its standard input and answers each with one line. It ends when its input
// does, so that nothing outlives a controller that was killed.
type request struct {
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args"`
}

type response struct {
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

type handler func(args json.RawMessage) (any, error)

// op makes a handler of a typed function.
func op[A, R any](f func(A) (R, error)) handler {
	return func(raw json.RawMessage) (any, error) {
		var args A
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, fmt.Errorf("decode arguments: %w", err)
		}
		return f(args)
	}
}

// do makes a handler of a typed function without a result.
func do[A any](f func(A) error) handler {
	return op(func(a A) (struct{}, error) { return struct{}{}, f(a) })
}

// serve answers requests until in ends.
func serve(in io.Reader, out io.Writer, handlers map[string]handler) error {
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

func answer(req request, handlers map[string]handler) response {
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

// serveMain is the body of a helper subcommand; it returns the exit status.
func serveMain(stdin io.Reader, stdout io.Writer, handlers map[string]handler) int {
	if err := serve(stdin, stdout, handlers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// helper is the controller's side of a helper process.
type helper struct {
	name  string
	cmd   *kernel.Cmd
	stdin io.WriteCloser
	dec   *json.Decoder
	said  *tail
	mu    sync.Mutex // one request at a time
}

// startHelper starts argv. It outlives ctx of the caller: stop ends it.
func startHelper(name string, argv, env []string, ns kernel.Namespaces) (*helper, error) {
	cmd := kernel.Exec(context.Background(), argv...)
	cmd.Env = withEnv(os.Environ(), env...)
	kernel.InNewNamespaces(cmd, ns)
	h := &helper{name: name, cmd: cmd, said: &tail{}}
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

func (h *helper) pid() int { return h.cmd.Process.Pid }

// call sends one request and waits for its answer. When ctx ends first the
// helper is ended: its stream is in an unknown state.
func (h *helper) call(ctx context.Context, op string, args, result any) error {
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

func (h *helper) exchange(op string, args, result any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(h.stdin).Encode(request{op, raw}); err != nil {
		return fmt.Errorf("it has ended: %w%s", err, h.said.suffix())
	}
	var resp response
	if err := h.dec.Decode(&resp); err != nil {
		return fmt.Errorf("it has ended: %w%s", err, h.said.suffix())
	}
	if resp.Error != "" {
		return errors.New(resp.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(resp.Result, result)
}

// stop lets the helper end by itself and ends it when it does not within a
// second.
func (h *helper) stop() error {
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
