package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Methods of the fleet protocol itself; none changes the host.
const (
	methodOpen  = "fleet.open"
	methodPing  = "fleet.ping"
	methodClose = "fleet.close"
	methodKeep  = "fleet.keep" // from now on, keep each push until the controller has acknowledged it
	methodHave  = "fleet.have" // the acknowledgement; it gets no answer
)

// LiveTime is how often an agent reports that it is alive.
const LiveTime = 15 * time.Second

// Bounds of an agent.
const (
	maxSessions = 16
	idleTime    = 60 * time.Second // a session without a request for so long ends
	validity    = 30 * time.Second // of a request, from when it was signed
	maxAhead    = 5 * time.Minute  // a request that expires later than in so long is refused
	maxKept     = 64 << 20         // bytes of answers that a session remembers
)

// Host is what an agent of a fleet needs of its host.
type Host struct {
	// Serve answers JSON-RPC, one message a line, until in ends; by is who asks, for the journal.
	Serve func(ctx context.Context, in io.Reader, out io.WriteCloser, by string) error
	// Reads reports whether a method only reads; known is false if there is no such method.
	Reads func(method string) (reads, known bool)
	Boot  string
	Build string
	Now   func() time.Time
	Log   func(line string)
}

// agent is a running agent.
type agent struct {
	Host
	c    Credential
	keys *Keys
	id   string
	name string // random, different after each start
	nc   *nats.Conn

	keeping atomic.Int64 // bytes of pushes that all sessions keep until they are acknowledged

	mu       sync.Mutex
	seq      map[string]uint64
	sessions map[string]*served
	since    time.Time // when the connection to the broker was made
	ended    sync.WaitGroup
}

// Times between attempts to reconnect to brokers that have closed the connection for good, as they
// do if a host was revoked. The time doubles with each attempt and has a random part, so that agents
// do not all return at once.
const (
	firstWait = 2 * time.Second
	lastWait  = 2 * time.Minute
)

// Run serves the site's controllers as an agent until ctx ends. It tries again and again to connect
// to brokers that it cannot reach or that refuse it. It only fails if the credential is unusable.
func Run(ctx context.Context, c Credential, h Host, more ...nats.Option) error {
	k, err := c.Keys()
	if err != nil {
		return err
	}
	if err := CheckServers(c.Servers); err != nil {
		return err
	}
	a := &agent{Host: h, c: c, keys: k, id: k.ID(), name: random(10), seq: map[string]uint64{}, sessions: map[string]*served{}}
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		began := time.Now()
		err := a.connected(ctx, more)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > lastWait {
			wait = firstWait
		}
		pause := wait/2 + rand.N(wait)
		a.Log(fmt.Sprintf("%v; next attempt in %s", err, pause.Round(time.Second)))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// errClosed: the brokers have closed the connection for good.
var errClosed = errors.New("the site's brokers ended the connection: " + unwanted)

// unwanted is why brokers admit a host no more, and what to do.
const unwanted = "this host was revoked, its identity is used by another, or the site was set up anew; " +
	"where the site is kept, linerate agent list shows it, and linerate agent token makes a token for linerate agent enrol --replace here"

// refused words the error of a connection that the brokers refuse.
func refused(err error) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAuthExpired) {
		return fmt.Errorf("the site's brokers refuse this host: "+unwanted+" (%w)", err)
	}
	return err
}

// connected serves controllers until the connection to the brokers is closed for good. The library
// reconnects after other interruptions.
func (a *agent) connected(ctx context.Context, more []nats.Option) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	back, gone := make(chan struct{}, 1), make(chan struct{})
	nc, err := a.c.Connect("linerate agent "+a.id, append([]nats.Option{
		nats.ClosedHandler(func(*nats.Conn) { close(gone) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.Log(printable(err.Error())) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if ctx.Err() == nil {
				a.Log(fmt.Sprintf("the connection to site %s is lost (%v); trying again", a.c.Site, err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			select {
			case back <- struct{}{}:
			default: // a token waits already
			}
		}),
	}, more...)...)
	if err != nil {
		return refused(err)
	}
	defer nc.Close()
	a.mu.Lock()
	a.nc, a.since = nc, time.Now()
	a.mu.Unlock()
	_, err = nc.Subscribe(prefix+a.c.Site+".dn."+a.id+".>", func(m *nats.Msg) { a.hear(ctx, m) })
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		return fmt.Errorf("listen for site %s: %w", a.c.Site, err)
	}
	a.event("started", map[string]string{"build": a.Build, "boot": a.Boot})
	a.live()
	a.Log(fmt.Sprintf("connected to site %s as %s", a.c.Site, a.id))
	tick, again := time.NewTicker(LiveTime), time.NewTicker(lateTime)
	defer tick.Stop()
	defer again.Stop()
	defer a.endSessions(cancel)
	for {
		select {
		case <-ctx.Done():
			a.event("ended", nil)
			return nil
		case <-gone:
			return errClosed
		case <-back:
			a.Log("connected to site " + a.c.Site + " again")
			a.live()
			a.mu.Lock()
			a.since = time.Now()
			a.mu.Unlock()
			a.late(true)
		case <-again.C:
			a.late(false)
		case <-tick.C:
			if nc.IsConnected() { // else nobody can ask anything
				a.sweep()
			}
			a.live()
		}
	}
}

// endSessions ends all sessions and waits until they have ended.
func (a *agent) endSessions(cancel func()) {
	a.mu.Lock()
	for _, s := range a.sessions {
		s.close()
	}
	a.mu.Unlock()
	cancel()
	a.ended.Wait()
}

// sweep ends sessions without a request for idleTime. Time without a broker does not count. A session
// with pushes that are not acknowledged is left for keepTime longer, for as long as these are kept.
func (a *agent) sweep() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range a.sessions {
		most := idleTime
		if s.held.Load() > 0 {
			most += keepTime
		}
		if a.idle(s) > most {
			s.close()
			delete(a.sessions, id)
		}
	}
}

// idle is how long a session was without a request while the broker was connected; a.mu is held.
func (a *agent) idle(s *served) time.Duration {
	if s.last.Before(a.since) {
		return time.Since(a.since)
	}
	return time.Since(s.last)
}

// makeRoom ends the session that is idle longest, if any is over idleTime; a.mu is held.
func (a *agent) makeRoom() {
	var longest *served
	for _, s := range a.sessions {
		if a.idle(s) > idleTime && (longest == nil || s.last.Before(longest.last)) {
			longest = s
		}
	}
	if longest != nil {
		longest.close()
		delete(a.sessions, longest.id)
	}
}

// late has all sessions retransmit what was not acknowledged; anew: the connection is a new one.
func (a *agent) late(anew bool) {
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.sessions))
	a.mu.Unlock()
	for _, s := range all {
		s.late(anew)
	}
}

// happened is an event in the form in which it is sent.
type happened struct {
	Event string            `json:"event"`
	About map[string]string `json:"about"`
}

// event tells the site what happened here.
func (a *agent) event(what string, about map[string]string) {
	if err := a.tell("event", what, about); err != nil {
		a.Log("event " + what + " was not sent: " + err.Error())
	}
}

// live tells the site that this host is alive. If one message is lost, the next tick repeats it.
func (a *agent) live() {
	_ = a.tell("live", "live", map[string]string{"build": a.Build, "boot": a.Boot}) // see above
}

func (a *agent) tell(stream, what string, about map[string]string) error {
	body, err := json.Marshal(happened{what, about})
	if err != nil {
		return err
	}
	return a.publish(stream, said{}, body)
}

// publish sends a message, in as many parts as it needs.
func (a *agent) publish(stream string, head said, body []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	parts := max(1, (len(body)+maxPart-1)/maxPart)
	if parts > 1 {
		head.Parts = parts
	}
	for i := range parts {
		piece := body[i*maxPart : min(len(body), (i+1)*maxPart)]
		a.seq[stream]++
		head.V, head.Site, head.Key, head.Agent, head.Stream = 1, a.c.Site, a.keys.Public(), a.name, stream
		head.Seq, head.At, head.Part, head.Sum = a.seq[stream], a.Now().UTC(), i, sumOf(piece)
		msg, err := seal(a.keys, forHost, head, piece)
		if err != nil {
			return err
		}
		if err := a.nc.Publish(upSubject(a.c.Site, a.id, stream), msg); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return nil
}

// refusal is an error whose text is sent to the asker.
type refusal struct{ error }

func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// hear processes one message from the broker. A message that was not signed by somebody whom the site
// vouches for gets no answer.
func (a *agent) hear(ctx context.Context, m *nats.Msg) {
	site, id, method, ro, err := parseDown(m.Subject)
	if err != nil {
		return
	}
	r, f, err := openRequest(m.Data)
	switch {
	case err != nil:
		a.Log(err.Error())
		return
	case site != a.c.Site || id != a.id || r.Site != site || r.To != id || r.Method != method:
		a.Log("a request for another place was dropped: " + printable(m.Subject))
		return
	case r.Agent != a.name && method != methodOpen:
		return // for another agent with this identity, or for an earlier start of this one
	}
	if method == methodOpen {
		err = a.open(ctx, r, ro)
	} else {
		err = a.ask(r, f.body, ro)
	}
	var no refusal
	if errors.As(err, &no) {
		a.Log("refused " + printable(method) + ": " + no.Error())
		if err := a.publish("s."+IDOf(r.Key), said{Session: r.Session, Answers: r.ID, Refused: true}, []byte(no.Error())); err != nil {
			a.Log(err.Error())
		}
	} else if err != nil {
		a.Log(err.Error())
	}
}

// opened is the answer with which a session begins.
type opened struct {
	Nonce string    `json:"nonce"`
	Boot  string    `json:"boot"`
	Build string    `json:"build"`
	Clock time.Time `json:"clock"`
	Keeps bool      `json:"keeps,omitempty"` // it knows methodKeep
}

// open begins a session. Its nonce keeps requests of earlier sessions from being accepted.
func (a *agent) open(ctx context.Context, r request, ro bool) error {
	g, err := openGrant(r.Grant, a.c.Root, a.c.Site)
	now := a.Now()
	switch {
	case err != nil:
		return err // of a stranger
	case string(g.Key) != string(r.Key) || !ro:
		return errors.New("a grant came with another's key")
	case g.Role != Reader && g.Role != Controller && g.Role != Desk:
		return refuse("%s is a %s of site %s, and may not ask hosts", g.Name, g.Role, g.Site)
	case !g.Expires.IsZero() && now.After(g.Expires):
		return refuse("the grant of %s ended at %s; this host's clock says %s", g.Name, g.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	a.mu.Lock()
	s := a.sessions[r.Session]
	if s == nil && len(a.sessions) >= maxSessions {
		a.makeRoom()
	}
	switch {
	case s != nil && string(s.grant.Key) != string(r.Key):
		a.mu.Unlock()
		return refuse("that session is another's")
	case s == nil && len(a.sessions) >= maxSessions:
		a.mu.Unlock()
		return refuse("%d controllers are at work here already; one that is gone is forgotten within %s", maxSessions, idleTime)
	case s == nil:
		s = newServed(a, r.Session, g)
		a.sessions[r.Session] = s
		a.ended.Go(func() { s.run(ctx) })
	}
	s.last = time.Now()
	a.mu.Unlock()
	body, err := json.Marshal(opened{s.nonce, a.Boot, a.Build, now, true})
	if err != nil {
		return err
	}
	return a.publish(s.stream(), said{Session: s.id, Answers: r.ID, Grant: a.c.Grant}, body)
}

// ask passes a request to its session.
func (a *agent) ask(r request, body []byte, ro bool) error {
	a.mu.Lock()
	s := a.sessions[r.Session]
	if s == nil || s.nonce != r.Nonce || string(s.grant.Key) != string(r.Key) {
		a.mu.Unlock()
		return a.publish("s."+IDOf(r.Key), said{Session: r.Session, Answers: r.ID, Over: true}, nil)
	}
	s.last = time.Now()
	if r.Method == methodClose {
		delete(a.sessions, r.Session)
	}
	a.mu.Unlock()
	if now := a.Now(); now.After(r.Expires) || r.Expires.Sub(now) > maxAhead {
		return refuse("the request was good until %s, and this host's clock says %s: it was held up on the way, or the clock was set", r.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	switch r.Method {
	case methodClose:
		s.close()
		return a.publish(s.stream(), said{Session: s.id, Answers: r.ID}, nil)
	case methodKeep:
		s.keep()
		return a.publish(s.stream(), said{Session: s.id, Answers: r.ID}, nil)
	case methodHave:
		return s.has(body)
	case methodPing:
		return a.publish(s.stream(), said{Session: s.id, Answers: r.ID}, nil)
	}
	reads, known := a.Reads(r.Method)
	switch {
	case !known:
		return refuse("no method %q in this agent (build %s)", printable(r.Method), a.Build)
	case reads != ro:
		return refuse("%s came as what it is not", r.Method)
	case !reads && s.grant.Role == Reader:
		return refuse("%s may read, and %s changes this host or puts load on it", s.grant.Name, r.Method)
	}
	return s.take(r, body, !reads)
}
