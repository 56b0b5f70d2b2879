package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// asWorker makes the test binary a load: the tests that need a process of its own
// start it with this in the environment.
const asWorker = "LINERATE_TEST_WORKER=1"

func TestMain(m *testing.M) {
	if os.Getenv("LINERATE_TEST_WORKER") == "1" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err := serve(ctx, os.Stdin, os.Stdout, defaultLimits())
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// bound is how long a test waits for what has to come; reaching it is a failure.
const bound = 20 * time.Second

var loopback = netip.MustParseAddr("127.0.0.1")

func testToken(b byte) Token {
	var t Token
	for i := range t {
		t[i] = b + byte(i)
	}
	return t
}

func testSpec(role Role) Spec {
	return Spec{
		Role: role, Bind: loopback, Token: testToken(1), Streams: 2,
		Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond,
	}
}

// Kind and Event are what a load under test says of itself, as a line of JSON.
type Kind string

const (
	Listening Kind = "listening"
	Connected Kind = "connected"
	Started   Kind = "started"
	Finished  Kind = "result"
	Failed    Kind = "error"
)

type Event struct {
	Kind Kind
	Addr netip.AddrPort `json:",omitzero"`
	PID  int
	Up
	Result    *Result
	Error     string
	Unreached *model.Unreached
}

var errStopped = errors.New("told to stop")

// serve makes the load that its input begins with, once that says go; the end of the
// input stops it. What package worker adds to that is tested there.
func serve(ctx context.Context, stdin io.Reader, stdout io.Writer, lim limits) error {
	out := json.NewEncoder(stdout)
	in := bufio.NewReader(stdin)
	var s Spec
	line, err := in.ReadBytes('\n')
	if err = errors.Join(err, json.Unmarshal(line, &s)); err == nil {
		err = s.Check()
	}
	if err != nil {
		return errors.Join(err, out.Encode(Event{Kind: Failed, Error: err.Error()}))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := make(chan struct{})
	go func() {
		if _, err := in.ReadString('\n'); err == nil {
			close(begin)
			_, _ = in.ReadString('\n')
		}
		cancel(errStopped)
	}()
	r, err := run(ctx, s, Stage{
		Listening: func(at netip.AddrPort) error { return out.Encode(Event{Kind: Listening, Addr: at}) },
		Begin: func(ctx context.Context, up Up) (time.Time, error) {
			if err := out.Encode(Event{Kind: Connected, PID: os.Getpid(), Up: up}); err != nil {
				return time.Time{}, err
			}
			select {
			case <-begin:
				return time.Now(), out.Encode(Event{Kind: Started})
			case <-ctx.Done():
				return time.Time{}, context.Cause(ctx)
			}
		},
	}, lim)
	var not *UnreachedError
	switch {
	case errors.Is(context.Cause(ctx), errStopped):
		return nil
	case errors.As(err, &not):
		return errors.Join(err, out.Encode(Event{Kind: Failed, Error: err.Error(), Unreached: &not.Unreached}))
	case err != nil:
		return errors.Join(err, out.Encode(Event{Kind: Failed, Error: err.Error()}))
	}
	return out.Encode(Event{Kind: Finished, Result: &r})
}

// proc is a load under test, in this process.
type proc struct {
	t      *testing.T
	stdin  *io.PipeWriter
	events chan Event
	done   chan error
}

func startWorker(t *testing.T, spec Spec, lim limits) *proc {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &proc{t: t, stdin: inW, events: make(chan Event, 16), done: make(chan error, 1)}
	go func() {
		err := serve(context.Background(), inR, outW, lim)
		outW.Close()
		p.done <- err
	}()
	go p.scan(outR)
	t.Cleanup(func() { inW.Close() })
	p.say(spec)
	return p
}

func (p *proc) scan(r io.Reader) {
	defer close(p.events)
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		var e Event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			p.t.Errorf("event %q: %v", sc.Text(), err)
		}
		p.events <- e
	}
}

func (p *proc) say(spec Spec) {
	b, err := json.Marshal(spec)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.stdin.Write(append(b, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

func (p *proc) begin() {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, "go\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *proc) want(k Kind) Event {
	p.t.Helper()
	select {
	case e, ok := <-p.events:
		if !ok {
			p.t.Fatalf("worker ended (%v), want event %q", <-p.done, k)
		}
		if e.Kind != k {
			p.t.Fatalf("event %q (%s), want %q", e.Kind, e.Error, k)
		}
		return e
	case <-time.After(bound):
		p.t.Fatalf("no event %q within %v", k, bound)
	}
	return Event{}
}

func (p *proc) end() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(bound):
		p.t.Fatalf("worker did not end within %v", bound)
	}
	return nil
}

func wantError(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Fatalf("error %v, want one with %q", err, part)
	}
}
