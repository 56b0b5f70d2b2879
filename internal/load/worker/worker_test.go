package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"linerate/internal/load"
)

// bound is how long a test waits for what has to come; reaching it is a failure.
const bound = 20 * time.Second

var loopback = netip.MustParseAddr("127.0.0.1")

func testTask(role load.Role) Task {
	s := load.Spec{Role: role, Bind: loopback, Streams: 2, Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond}
	s.Token[0] = 1
	return Task{V: Version, Load: &s, Deadline: bound}
}

// proc is a worker under test, in this process.
type proc struct {
	t      *testing.T
	stdin  *io.PipeWriter
	events chan Event
	done   chan error
}

func start(ctx context.Context, t *testing.T, task Task) *proc {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &proc{t: t, stdin: inW, events: make(chan Event, 16), done: make(chan error, 1)}
	go func() {
		err := Main(ctx, inR, outW)
		outW.Close()
		p.done <- err
	}()
	go func() {
		defer close(p.events)
		for sc := bufio.NewScanner(outR); sc.Scan(); {
			var e Event
			if err := json.Unmarshal(sc.Bytes(), &e); err != nil || e.V != Version || e.At.IsZero() {
				t.Errorf("event %q: %v", sc.Text(), err)
			}
			p.events <- e
		}
	}()
	t.Cleanup(func() { inW.Close() })
	line, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	p.say(string(line) + "\n")
	return p
}

func (p *proc) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line); err != nil {
		p.t.Fatal(err)
	}
}

func (p *proc) want(kinds ...Kind) (e Event) {
	p.t.Helper()
	for _, k := range kinds {
		var ok bool
		select {
		case e, ok = <-p.events:
		case <-time.After(bound):
		}
		if !ok || e.Kind != k {
			p.t.Fatalf("event %q (%s), want %q", e.Kind, e.Text, k)
		}
	}
	return e
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

// wantDone takes the events of a load that has begun.
func (p *proc) wantDone() {
	p.t.Helper()
	if e := p.want(Finished); e.Result == nil || e.Result.Load == nil || e.Result.Load.Window <= 0 {
		p.t.Errorf("finished: %+v", e)
	}
	p.want(Over)
	if err := p.end(); err != nil {
		p.t.Error(err)
	}
}

// Both ends begin when they are told to.
func TestBeginAtOnce(t *testing.T) {
	sink, source := testTask(load.Sink), testTask(load.Source)
	k := start(t.Context(), t, sink)
	source.Load.Peer = k.want(Listening).Addr
	s := start(t.Context(), t, source)
	if e := s.want(Ready); e.PID == 0 || e.CC == "" && runtime.GOOS == "linux" {
		t.Errorf("ready: %+v", e)
	}
	k.want(Ready)
	for _, p := range []*proc{k, s} {
		p.say(BeginLine(time.Time{}))
		p.want(Started)
	}
	k.wantDone()
	s.wantDone()
}

// A load begins at its instant and not before it. On a machine that was too busy to tell
// it in time it does not begin; it is given longer then.
func TestBeginAtAnInstant(t *testing.T) {
	for lead := 50 * time.Millisecond; lead < bound; lead *= 4 {
		p := start(t.Context(), t, writes(t))
		p.want(Ready)
		at := time.Now().Add(lead)
		p.say(BeginLine(at))
		e := <-p.events
		if e.Kind == Failed {
			continue
		}
		if e.Kind != Armed {
			t.Fatalf("event %+v", e)
		}
		if e = p.want(Started); e.At.Before(at) {
			t.Errorf("it began %v before the instant", at.Sub(e.At))
		}
		p.wantDone()
		return
	}
	t.Errorf("no load was armed within %v", bound)
}

// An instant that is over when a host hears of it is none to begin at with others.
func TestInstantThatIsOver(t *testing.T) {
	p := start(t.Context(), t, writes(t))
	p.want(Ready)
	p.say(BeginLine(time.Now().Add(-time.Second)))
	p.want(Failed)
	wantError(t, p.end(), "the instant was ")
}

// writes is a task without a peer that takes no time.
func writes(t *testing.T) Task {
	return Task{V: Version, Deadline: bound, Load: &load.Spec{Role: load.Write, Duration: time.Second, Write: &load.WriteSpec{Dir: t.TempDir(), MaxBytes: 1 << 20}}}
}

func TestEndOfInputEndsTheWorker(t *testing.T) {
	for _, when := range []string{"listening", "connected", "running"} {
		t.Run(when, func(t *testing.T) {
			sink, source := testTask(load.Sink), testTask(load.Source)
			sink.Load.Duration, source.Load.Duration = time.Hour, time.Hour
			k := start(t.Context(), t, sink)
			source.Load.Peer = k.want(Listening).Addr
			if when != "listening" {
				start(t.Context(), t, source).want(Ready)
				k.want(Ready)
			}
			if when == "running" {
				k.say(BeginLine(time.Time{}))
				k.want(Started)
				// Told twice, it still hears the end.
				k.say(BeginLine(time.Time{}))
			}
			k.stdin.Close()
			if err := k.end(); err != nil {
				t.Errorf("the worker returned %v, want nil", err)
			}
		})
	}
}

func TestWhatEndsAWorkerIsSaid(t *testing.T) {
	late := testTask(load.Sink)
	late.Deadline = 50 * time.Millisecond
	for want, say := range map[string]string{"deadline": "", "unexpected line": "gone\n", "told to stop": StopLine()} {
		task := testTask(load.Sink)
		if say == "" {
			task = late
		}
		k := start(t.Context(), t, task)
		k.want(Listening)
		k.say(say)
		if e := k.want(Failed); !strings.Contains(e.Text, want) || e.Refused || e.Unreached != nil {
			t.Errorf("%+v, want %q", e, want)
		}
		wantError(t, k.end(), want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	k := start(ctx, t, testTask(load.Sink))
	k.want(Listening)
	cancel()
	k.want(Failed)
	wantError(t, k.end(), "canceled")
}

// Errors keep their kinds on the way through an event.
func TestKindsOfErrors(t *testing.T) {
	var refused *load.RefusedError
	if e := failed(load.Refuse("no such %s", "file")); !errors.As(e.Err(), &refused) || e.Err().Error() != "no such file" {
		t.Errorf("%+v", e)
	}
	not := &load.UnreachedError{}
	not.Text = "no answer"
	var got *load.UnreachedError
	if e := failed(not); !errors.As(e.Err(), &got) || got.Text != not.Text {
		t.Errorf("%+v", e)
	}
	if e := failed(io.ErrUnexpectedEOF); e.Err() == nil || errors.As(e.Err(), &refused) || e.Err().Error() != io.ErrUnexpectedEOF.Error() {
		t.Errorf("%+v", e)
	}
	if e := (Event{Kind: Over}); e.Err() != nil {
		t.Error(e.Err())
	}
}

func TestMainNeedsATask(t *testing.T) {
	wantError(t, Main(t.Context(), strings.NewReader(strings.Repeat(" ", MaxTask+1)), io.Discard), "longer than")
	wantError(t, Main(t.Context(), strings.NewReader(""), io.Discard), "started by linerate")
}
