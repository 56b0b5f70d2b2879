package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"
)

// asWorker makes the test binary a worker: the tests that need a process of
// its own start it with this in the environment.
const asWorker = "LINERATE_TEST_WORKER=1"

func TestMain(m *testing.M) {
	if os.Getenv("LINERATE_TEST_WORKER") == "1" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err := WorkerMain(ctx, os.Stdin, os.Stdout)
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
		V: SpecVersion, Role: role, Bind: loopback, Token: testToken(1), Streams: 2,
		Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond, Deadline: bound,
	}
}

// proc is a worker under test, in this process.
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
		err := runWorker(context.Background(), inR, outW, lim)
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
