package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"

	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/tune"
)

// Endpoint is where and how to start an agent: the command Argv… Self… "agent"
// [StateDir] has to carry the agent's stdin and stdout.
type Endpoint struct {
	Name string   // what the user calls the host
	Argv []string // prefix that leads to the host: empty here, lab-enter…, ssh…
	Self []string // starts this program there
	// Data are the host's data addresses, as far as the user named them.
	Data []netip.Addr
	// StateDir is the agent's state directory; empty: the agent's default.
	StateDir string
	// Deployed: the program was copied there for this session.
	Deployed bool

	discard func(ctx context.Context) error
	// Join connects to an agent that runs on the host already; nil: one is started.
	Join func(ctx context.Context) (Stream, error)

	// session is a login that waits there to become the agent; nil: Argv and Self start it.
	session *sshSession
}

// Stream is a connection to an agent that was not started for it. Close ends what the agent does
// for this controller; Wait returns when that is over, and why, nil after Close.
type Stream interface {
	io.ReadWriteCloser
	Wait() error
}

// Discard removes what was copied to the host for an Endpoint that is not
// dialled; without such a copy it does nothing.
func (e Endpoint) Discard(ctx context.Context) error {
	if e.discard == nil {
		return nil
	}
	return e.discard(ctx)
}

// command is the whole argv.
func (e Endpoint) command() []string {
	argv := slices.Concat(e.Argv, e.Self, []string{"agent"})
	if e.StateDir != "" {
		argv = append(argv, e.StateDir)
	}
	return argv
}

// Options of a Client.
type Options struct {
	Log   func(line string) // gets the lines of agents' stderr; nil drops them
	Now   func() time.Time  // the controller's clock; nil is time.Now
	Types *Types            // nil: its own
	// CallTimeout bounds each call that has no bound of its own; 0 is 30 s.
	CallTimeout time.Duration
	// Crashed is called before the program ends with a panic of a goroutine of the client; nil: nothing is.
	Crashed func()

	closeTime time.Duration // time for an agent to end by itself; 0 is 5 s
	// lateTime is how long an interrupted call that changes a host waits for its answer; 0 is
	// 20 s.
	lateTime time.Duration
}

// Times of a Client.
const (
	helloTime  = 30 * time.Second // ssh's own connect timeout is below it
	clockTries = 8
)

// Client is the controller's side of an agent on one host. Its methods may be called from
// several goroutines at once. Each returns when its context ends, and with an error that says
// so when the agent ends.
type Client struct {
	ep    Endpoint
	o     Options
	hello Hello
	rpc   *jrpc2.Client
	stdin io.Closer
	// stdout is closed here if a child of the agent holds it open.
	stdout io.Closer
	kill   func() error
	errs   tail
	ended  chan struct{} // closed when the process is gone
	how    error         // how it ended; read only after ended

	closeOnce sync.Once
	closeErr  error

	decoding sync.Mutex
	types    *Types
	strays   atomic.Int64 // unexpected messages

	mu       sync.Mutex
	samples  map[int]*collected
	starting int       // samplings whose id is not known yet
	early    int64     // bytes of samples that arrived before the id
	broken   error     // what was wrong with the last message
	ending   time.Time // when it was last tried to end a sampling that nobody knows
}

// Dial starts an agent and exchanges hellos; if that fails, it removes what was copied for the
// agent. The agent lives until Close, not only until ctx ends. It has a process group of its
// own, so that a Ctrl-C for the controller does not kill it before it has undone its changes.
func Dial(ctx context.Context, ep Endpoint, o Options) (*Client, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 30 * time.Second
	}
	if o.closeTime == 0 {
		o.closeTime = 5 * time.Second
	}
	if o.lateTime == 0 {
		o.lateTime = 20 * time.Second
	}
	if len(ep.Self) == 0 && ep.session == nil && ep.Join == nil {
		return nil, fmt.Errorf("reach %s: no program named to start there", ep.Name)
	}
	c := &Client{ep: ep, o: o, ended: make(chan struct{}), samples: map[int]*collected{}, types: cmp.Or(o.Types, &Types{})}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("reach %s: %w", ep.Name, err), ep.Discard(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, helloTime, fmt.Errorf("no answer within %v", helloTime))
	defer cancel()
	var err error
	c.hello, err = ask(ctx, c, methodHello, none{})
	if err == nil && c.hello.Protocol != Protocol {
		err = fmt.Errorf("host %s: the agent speaks protocol %d (build %s), this linerate %d: use the same build on both", ep.Name, c.hello.Protocol, c.hello.Build, Protocol)
	}
	if err != nil {
		closeErr := c.Close()
		if errors.Is(err, errGone) {
			closeErr = nil // the same error again
		}
		return nil, errors.Join(fmt.Errorf("reach %s: %w", ep.Name, err), closeErr, ep.Discard(ctx))
	}
	if ep.Deployed && c.hello.UID > 0 {
		c.log(fmt.Sprintf("runs without privilege (uid %d, sudo -n is not allowed): it can read, but not change settings or see other users' processes", c.hello.UID))
	}
	return c, nil
}

func (c *Client) start(ctx context.Context) error {
	said := &lineWriter{tail: &c.errs, log: c.log}
	p, err := c.process(ctx, said)
	if err != nil {
		return err
	}
	c.stdin, c.stdout, c.kill = p.stdin, p.stdout, p.kill
	// Wait closes stdout, so the last message has to be read before.
	in := newInbox(newLines(p.stdout, p.stdin), c.notified, c.dropped, func() {
		go func() {
			defer failure.OnPanic(c.o.Crashed)
			c.how = p.wait()
			said.flush()
			close(c.ended)
		}()
	})
	in.crashed = c.o.Crashed
	c.rpc = jrpc2.NewClient(in, &jrpc2.ClientOptions{OnStop: c.stopped})
	return nil
}

// process is the agent's: one that is started now, a login that becomes it, or a connection to
// one that runs.
func (c *Client) process(ctx context.Context, said *lineWriter) (*started, error) {
	if c.ep.Join != nil {
		s, err := c.ep.Join(ctx)
		if err != nil {
			return nil, err
		}
		return &started{stdin: s, stdout: s, kill: s.Close, wait: s.Wait}, nil
	}
	x := c.ep.session
	if x == nil {
		return startProcess(c.ep.command(), said)
	}
	x.said.turn(said)
	return x.started, x.become(c.ep.StateDir)
}

func (c *Client) log(line string) {
	if c.o.Log != nil {
		c.o.Log(c.ep.Name + ": " + line)
	}
}

// stopped notes why the library gave up on the connection.
func (c *Client) stopped(_ *jrpc2.Client, err error) {
	if err == nil || errors.Is(err, io.EOF) || channel.IsErrClosing(err) || errors.Is(err, os.ErrClosed) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = err
}

// ask makes one call within the method's timeout and decodes the result; an unknown field in
// it is an error.
func ask[P, R any](ctx context.Context, c *Client, m method[P, R], params P) (R, error) {
	var r R
	within := map[patience]time.Duration{soon: c.o.CallTimeout, changing: changeTime}[m.within]
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, within, fmt.Errorf("%w within %v", errNoAnswer, within))
		defer cancel()
	}
	if err := c.call(ctx, m.name, params, &r); err != nil {
		return *new(R), err
	}
	return r, nil
}

// begin calls a method that starts something and answers with its id. It waits for the answer
// even if ctx ends meanwhile, and then ends what was started, since no other caller knows the
// id.
func begin[P, R any](ctx context.Context, c *Client, m method[P, R], params P, end func(context.Context, R) error) (R, error) {
	type answer struct {
		r   R
		err error
	}
	if ctx.Err() != nil {
		return answer{}.r, c.explain(ctx, m.name, ctx.Err())
	}
	got := make(chan answer, 1)
	go func() {
		defer failure.OnPanic(c.o.Crashed)
		r, err := ask(context.WithoutCancel(ctx), c, m, params)
		got <- answer{r, err}
	}()
	select {
	case a := <-got:
		return a.r, a.err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.closeTime)
	defer cancel()
	err := c.explain(ctx, m.name, ctx.Err())
	select {
	case a := <-got:
		if a.err == nil {
			err = errors.Join(err, end(late, a.r))
		}
	case <-late.Done(): // Close ends the agent and everything that it started
	}
	return answer{}.r, err
}

// call is bounded by ctx only.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	type answer struct {
		rsp *jrpc2.Response
		err error
	}
	// In a goroutine, because sending to an agent that hangs would block
	// beyond any context. Close ends it.
	got := make(chan answer, 1)
	go func() {
		defer failure.OnPanic(c.o.Crashed)
		rsp, err := c.rpc.Call(ctx, method, params)
		got <- answer{rsp, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return c.explain(ctx, method, a.err)
		}
		if err := c.decode(a.rsp, result); err != nil {
			return c.failed(fmt.Errorf("%s: read the answer: %s", method, printable(err.Error())))
		}
		return nil
	case <-ctx.Done():
		return c.explain(ctx, method, ctx.Err())
	}
}

// decode decodes an answer after checking how much memory that takes; one answer at a time.
func (c *Client) decode(rsp *jrpc2.Response, result any) error {
	c.decoding.Lock()
	defer c.decoding.Unlock()
	text := rsp.ResultString()
	if _, err := weighed([]byte(text), reflect.TypeOf(result).Elem(), c.types); err != nil {
		return err
	}
	return decodeStrict(text, result)
}

// dropped counts unexpected messages of an agent, and logs the first.
func (c *Client) dropped(what string) {
	if c.strays.Add(1) == 1 {
		c.log("drops " + what + " that it sends: nobody asked for them")
	}
}

// hostError adds the host to an error.
type hostError struct {
	name string
	err  error
}

// Error implements error.
func (e *hostError) Error() string { return fmt.Sprintf("host %s: %v", e.name, e.err) }

// Unwrap gives the cause.
func (e *hostError) Unwrap() error { return e.err }

func (c *Client) failed(err error) error { return &hostError{c.ep.Name, err} }

// explain turns the failure of a call into one error that says what happened.
func (c *Client) explain(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return c.failed(fmt.Errorf("%s: %w", method, context.Cause(ctx)))
	}
	var answered *jrpc2.Error
	if errors.As(err, &answered) && answered.Code != jrpc2.Cancelled && !c.rpc.IsStopped() {
		return c.failed(remote(answered))
	}
	select {
	case <-c.ended:
		return c.gone()
	case <-time.After(c.o.closeTime):
		return c.failed(fmt.Errorf("%s: %w", method, err))
	}
}

// remote restores the kind of an agent's error, for callers that branch on it.
func remote(e *jrpc2.Error) error {
	var not tune.NotInForceError
	if e.Code == codeNotInForce && json.Unmarshal(e.Data, &not) == nil {
		return &not
	}
	return errors.New(readable(e.Message))
}

// errNoAnswer is the cause of a call's failure whose time is over.
var errNoAnswer error = unanswered{}

// unanswered is a timeout, as net.Error has it.
type unanswered struct{}

// Error implements error.
func (unanswered) Error() string { return "no answer" }

// Timeout tells that the agent may answer later.
func (unanswered) Timeout() bool { return true }

// errGone is the cause of every call's failure once the agent is no more.
var errGone = errors.New("agent ended")

// Ended is closed when the agent is gone.
func (c *Client) Ended() <-chan struct{} { return c.ended }

// gone returns how the agent ended; call it only after ended.
func (c *Client) gone() error {
	how := "it closed the connection"
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.broken != nil:
		how = "what it sent cannot be read: " + printable(c.broken.Error())
	case c.how != nil:
		how = c.how.Error()
	}
	if last := c.errs.last(); last != "" {
		how += ": " + last
	}
	return c.failed(fmt.Errorf("%w (%s)", errGone, how))
}

// Close ends the agent and everything that it started, and returns when the agent is gone. An
// agent that does not end within a few seconds is killed.
func (c *Client) Close() error {
	c.closeOnce.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Client) close() error {
	// If the agent ended first this is a broken pipe, which adds nothing.
	_ = c.stdin.Close()
	var err error
	select {
	case <-c.ended:
	case <-time.After(c.o.closeTime):
		err = fmt.Errorf("host %s: the agent did not end within %v and was killed", c.ep.Name, c.o.closeTime)
		if kerr := c.kill(); kerr != nil {
			err = errors.Join(err, kerr)
		}
		c.letGo()
	}
	// The agent is gone: an error of the library adds nothing.
	_ = c.rpc.Close()
	if err == nil && c.how != nil {
		return c.gone()
	}
	return err
}

// letGo waits for the killed process. A child that holds its stdout would keep the stream open
// for as long as the child lives.
func (c *Client) letGo() {
	select {
	case <-c.ended:
	case <-time.After(c.o.closeTime):
		// The stream was only read and has ended: an error says nothing.
		_ = c.stdout.Close()
		<-c.ended
	}
}

// Name is what the user calls the host.
func (c *Client) Name() string { return c.ep.Name }

// Hello is how the agent introduced itself.
func (c *Client) Hello() Hello { return c.hello }

// Data are the host's data addresses, as far as the user named them.
func (c *Client) Data() []netip.Addr { return slices.Clone(c.ep.Data) }

// Facts reads the facts of the host. Of what its tables have nothing may be changed.
func (c *Client) Facts(ctx context.Context) (*model.Facts, error) {
	f, err := ask(ctx, c, methodFacts, factsParams{c.ep.Name})
	if f != nil {
		c.types.shared.facts(f)
	}
	return f, err
}

// Thermal reads the host's temperatures.
func (c *Client) Thermal(ctx context.Context) (model.Thermal, error) {
	return ask(ctx, c, methodThermal, none{})
}

// Files reads the host's configuration files, and the running values of the settings in them.
func (c *Client) Files(ctx context.Context) (model.HostFiles, error) {
	return ask(ctx, c, methodFiles, none{})
}

// ReadSetting reads the value of a setting that is in force; like names the parts to read if
// the value has parts.
func (c *Client) ReadSetting(ctx context.Context, setting, target, like string) (string, error) {
	r, err := ask(ctx, c, methodRead, readParams{setting, target, like})
	return r.Value, err
}

// Clock measures the host's clock: of several exchanges it uses the one with the shortest
// round trip, half of which bounds the error.
func (c *Client) Clock(ctx context.Context) (model.Clock, error) {
	best := time.Duration(-1)
	var clock model.Clock
	for range clockTries {
		before := c.o.Now()
		r, err := ask(ctx, c, methodClock, none{})
		if err != nil {
			return model.Clock{}, err
		}
		rtt := c.o.Now().Sub(before)
		if best < 0 || rtt < best {
			best = rtt
			clock = model.Clock{Offset: r.Now.Sub(before.Add(rtt / 2)), Error: rtt/2 + 1}
		}
	}
	return clock, nil
}
