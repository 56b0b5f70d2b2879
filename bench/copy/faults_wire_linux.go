package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
)

// mischief is what a proxy does to one connection of a run, in one direction, when so many
// bytes have passed. It writes what is to arrive instead of chunk, and an error ends the
// connection.
type mischief struct {
	conn int  // 0 is the control stream, or whichever came first
	down bool // from the listener to the dialler
	at   int64
	do   func(p *proxy, to io.Writer, chunk []byte) error
}

// proxy is between both ends of a run.
type proxy struct {
	l    net.Listener
	to   string
	m    mischief
	rand *rand.Rand

	mu    sync.Mutex
	conns []net.Conn
	first []byte // of the first connection, to be replayed
	met   bool   // the mischief was done
	halt  chan struct{}
}

func newProxy(to string, m mischief, seed uint64) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{l: l, to: to, m: m, rand: rand.New(rand.NewPCG(seed, 1)), halt: make(chan struct{})}
	go p.accept()
	return p, nil
}

func (p *proxy) accept() {
	for i := 0; ; i++ {
		c, err := p.l.Accept()
		if err != nil {
			return // it was closed
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = c.Close() // the other end is gone
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, c, far)
		p.mu.Unlock()
		go p.pass(i, false, far, c)
		go p.pass(i, true, c, far)
	}
}

// pass hands on what comes, until the end or the mischief.
func (p *proxy) pass(i int, down bool, to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }() // both, whichever ended
	buf, sum := make([]byte, 32<<10), int64(0)
	for {
		n, err := from.Read(buf)
		chunk := buf[:n]
		if i == 0 && !down && sum == 0 {
			p.mu.Lock()
			p.first = append([]byte(nil), chunk...)
			p.mu.Unlock()
		}
		sum += int64(n)
		if p.m.do != nil && n > 0 && i == p.m.conn && down == p.m.down && sum > p.m.at && p.begin() {
			err = errors.Join(err, p.m.do(p, to, chunk))
		} else if _, werr := to.Write(chunk); werr != nil {
			return
		}
		if err != nil {
			return
		}
	}
}

// begin tells whether the mischief is to be done now: once.
func (p *proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.met {
		return false
	}
	p.met = true
	return true
}

func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close() // some are closed already
	}
}

func (p *proxy) close() bool {
	_ = p.l.Close() // was only listened on
	select {
	case <-p.halt:
	default:
		close(p.halt)
	}
	p.cutAll()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

var errCut = errors.New("cut")

// What may happen to data under way.
var spoilers = []func(p *proxy, to io.Writer, chunk []byte) error{
	func(p *proxy, to io.Writer, chunk []byte) error { // a bit
		chunk[p.rand.IntN(len(chunk))] ^= 1 << p.rand.IntN(8)
		_, err := to.Write(chunk)
		return err
	},
	func(p *proxy, to io.Writer, chunk []byte) error { // left out
		_, err := to.Write(chunk[1+p.rand.IntN(len(chunk)):])
		return err
	},
	func(p *proxy, to io.Writer, chunk []byte) error { // repeated
		_, err := to.Write(append(chunk[:len(chunk):len(chunk)], chunk...))
		return err
	},
	func(p *proxy, to io.Writer, chunk []byte) error { // exchanged
		at := 1 + p.rand.IntN(max(1, len(chunk)-1))
		turned := append(append([]byte(nil), chunk[at:]...), chunk[:at]...)
		if bytes.Equal(turned, chunk) { // of one byte, or of equal parts
			turned[0] ^= 1
		}
		_, err := to.Write(turned)
		return err
	},
	func(p *proxy, to io.Writer, chunk []byte) error { // cut in the middle
		_, _ = to.Write(chunk[:p.rand.IntN(len(chunk))]) // it is cut anyway
		return errCut
	},
}

// end is one mover that this bench has started, without an agent.
type end struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	ev  chan mover.Event
	// failed are the files of which it has said so: a copy that names them is lossy, and ends
	// with another exit code than one that is done.
	failed map[string]bool
}

func (b *bench) end(ctx context.Context, t mover.Task) (*end, error) {
	e := &end{cmd: b.Command(ctx, mover.Role), ev: make(chan mover.Event, 1000), failed: map[string]bool{}}
	in, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.in = in
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(e.ev)
		s := bufio.NewScanner(out)
		s.Buffer(nil, mover.MaxEvent)
		for s.Scan() {
			var v mover.Event
			if json.Unmarshal(s.Bytes(), &v) == nil && v.Kind != mover.Seen {
				e.ev <- v
			}
		}
	}()
	t.V = mover.Version
	return e, e.tell(t)
}

func (e *end) tell(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = e.in.Write(append(line, '\n'))
	return err
}

// await waits for an event of a kind; one that ends the run is an error.
func (e *end) await(k mover.Kind, most time.Duration) (mover.Event, error) {
	late := time.After(most)
	for {
		select {
		case v, ok := <-e.ev:
			for _, l := range v.Losses {
				if l.What == move.Failed {
					e.failed[string(l.Path)] = true
				}
			}
			switch {
			case !ok:
				return v, errors.New("the mover is gone")
			case v.Kind == k:
				return v, nil
			case v.Kind == mover.Failed:
				return v, fmt.Errorf("mover: %s", v.Text)
			}
		case <-late:
			return mover.Event{}, errLate
		}
	}
}

var errLate = errors.New("nothing came in time")

func (e *end) stop() {
	if e == nil {
		return
	}
	_ = e.in.Close()         // which ends it
	_ = e.cmd.Process.Kill() // at once
	for range e.ev {         // nobody reads them any more
	}
	_ = e.cmd.Wait() // it was killed
}

// outcome is how a copy by way of a proxy ended.
type outcome struct {
	over   bool            // both ends said that it was
	done   bool            // the mischief came about
	failed map[string]bool // files that they named
}

// between has two movers copy by way of a proxy.
func (b *bench) between(ctx context.Context, m mischief, most time.Duration) (o outcome, err error) {
	run, secret, err := wire.Draw()
	if err != nil {
		return o, err
	}
	plain := b.rand.IntN(3) == 0
	base := mover.Task{Run: run, Secret: secret, Plain: plain, Full: b.rand.IntN(4) == 0}
	from, to := base, base
	from.Read, from.Streams, to.Write = []move.Raw{move.Raw(b.src + "/")}, 2, move.Raw(b.dst)
	s, err := b.end(ctx, from)
	defer func() { s.stop() }()
	if err != nil {
		return o, err
	}
	r, err := b.end(ctx, to)
	defer func() { r.stop() }()
	if err != nil {
		return o, err
	}
	addr, pin, err := meet(s, r)
	if err != nil {
		return o, fmt.Errorf("have the ends meet: %w", err)
	}
	p, err := newProxy(addr.String(), m, b.rand.Uint64())
	if err != nil {
		return o, err
	}
	defer p.close()
	if err := s.tell(mover.Command{Order: mover.Dial, At: netip.MustParseAddrPort(p.l.Addr().String()), Peer: pin}); err != nil {
		return o, err
	}
	_, serr := s.await(mover.Over, most)
	var rerr error
	if serr == nil {
		_, rerr = r.await(mover.Over, most)
	}
	maps.Copy(r.failed, s.failed)
	return outcome{serr == nil && rerr == nil, p.close(), r.failed}, nil
}

// meet has both open their files, and the receiver listen.
func meet(s, r *end) (at netip.AddrPort, peer wire.Pin, err error) {
	const most = 30 * time.Second
	sr, err := s.await(mover.Ready, most)
	if err != nil {
		return at, peer, err
	}
	rr, err := r.await(mover.Ready, most)
	if err != nil {
		return at, peer, err
	}
	if err := r.tell(mover.Command{Order: mover.Open, One: sr.One, Whole: sr.Whole}); err != nil {
		return at, peer, err
	}
	opened, err := r.await(mover.Opened, most)
	if err != nil {
		return at, peer, err
	}
	if err := s.tell(mover.Command{Order: mover.Open, As: opened.As}); err != nil {
		return at, peer, err
	}
	if _, err := s.await(mover.Opened, most); err != nil {
		return at, peer, err
	}
	if err := r.tell(mover.Command{Order: mover.Listen, At: netip.MustParseAddrPort("127.0.0.1:0"), Peer: sr.Pin}); err != nil {
		return at, peer, err
	}
	l, err := r.await(mover.Listening, most)
	return l.Addr, rr.Pin, err
}

// somewhere is a place for a mischief: any stream, either direction; early ones meet the
// handshake, late ones data.
func (b *bench) somewhere() mischief {
	m := mischief{conn: b.rand.IntN(3), down: b.rand.IntN(4) == 0}
	switch reach := []int64{400, 8 << 10, b.reach()}[b.rand.IntN(3)]; {
	case m.down:
		m.at = b.rand.Int64N(600)
	case m.conn == 0:
		m.at = b.rand.Int64N(min(reach, 2000))
	default:
		m.at = b.rand.Int64N(reach)
	}
	return m
}

// reach is how many bytes each of two data streams carries for certain, or nearly so.
func (b *bench) reach() int64 {
	const packs = 1 << 20
	st, err := os.Stat(filepath.Join(b.src, "large"))
	if err != nil {
		return packs
	}
	return packs + st.Size()/3
}

// wired spoils what is under way.
func (b *bench) wired(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	m := b.somewhere()
	m.do = spoilers[b.rand.IntN(len(spoilers))]
	// Data that are left out leave the end of the run waiting for them: nobody waits long here.
	o, err := b.between(ctx, m, 4*time.Second)
	return b.after(ctx, t, o, err)
}

// after judges a run by the wire, and then has the copy go on.
func (b *bench) after(ctx context.Context, t *tally, o outcome, err error) error {
	if err != nil {
		return err
	}
	switch {
	case !o.done:
		t.cases-- // the copy was over before
	case !o.over || len(o.failed) > 0:
		t.cut++
	}
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	if o.over {
		missing, err := b.missing()
		if err != nil {
			return err
		}
		if silent := slices.DeleteFunc(missing, func(path string) bool { return o.failed[path] }); len(silent) > 0 {
			t.falseDone++
			fmt.Printf("over, missing or other, and not named: %q\n", silent)
		}
	}
	return b.last(ctx, t)
}

// severed cuts all connections.
func (b *bench) severed(ctx context.Context, t *tally) error {
	return b.ended(ctx, t, func(p *proxy, _ io.Writer, _ []byte) error { p.cutAll(); return errCut })
}

// halfOpen has a connection stay, and carry nothing any more.
func (b *bench) halfOpen(ctx context.Context, t *tally) error {
	return b.ended(ctx, t, func(p *proxy, _ io.Writer, _ []byte) error { <-p.halt; return errCut })
}

func (b *bench) ended(ctx context.Context, t *tally, do func(p *proxy, to io.Writer, chunk []byte) error) error {
	if err := b.tree(); err != nil {
		return err
	}
	m := mischief{conn: 1 + b.rand.IntN(2), at: b.rand.Int64N(b.reach()), do: do}
	o, err := b.between(ctx, m, 3*time.Second)
	return b.after(ctx, t, o, err)
}

// stalled holds one stream up for a while.
func (b *bench) stalled(ctx context.Context, t *tally) error {
	return b.borne(ctx, t, time.Duration(500+b.rand.IntN(2500))*time.Millisecond, nil)
}

func (b *bench) stalledLong(ctx context.Context, t *tally) error {
	return b.borne(ctx, t, 61*time.Second, nil)
}

// visited has strangers come to the port: one that speaks another protocol, one that says what only a
// stream of the run may say, and one that says nothing.
func (b *bench) visited(ctx context.Context, t *tally) error {
	return b.borne(ctx, t, 0, func(_, chunk []byte) [][]byte {
		return [][]byte{[]byte("GET / HTTP/1.0\r\n\r\n"), chunk, nil}
	})
}

// replayed has what the dialler of the control stream began with come once more, whole and in part.
func (b *bench) replayed(ctx context.Context, t *tally) error {
	cut := b.rand.IntN(200)
	return b.borne(ctx, t, 0, func(first, _ []byte) [][]byte {
		return [][]byte{first, first[:min(cut, len(first))], first}
	})
}

// borne holds one stream up, and has come to the port what calls gives by what the dialler has said. None
// of that may end the copy.
func (b *bench) borne(ctx context.Context, t *tally, wait time.Duration, calls func(first, chunk []byte) [][]byte) error {
	if err := b.tree(); err != nil {
		return err
	}
	m := mischief{conn: 1, at: b.rand.Int64N(b.reach())}
	m.do = func(p *proxy, to io.Writer, chunk []byte) error {
		p.mu.Lock()
		first := p.first
		p.mu.Unlock()
		if calls != nil && p.call(calls(first, chunk)) != nil {
			p.mu.Lock()
			p.met = false // not yet: no stranger came
			p.mu.Unlock()
		}
		select {
		case <-time.After(wait):
		case <-p.halt:
		}
		_, err := to.Write(chunk)
		return err
	}
	o, err := b.between(ctx, m, 3*time.Minute)
	if err == nil && !o.over {
		t.unfinished++
		fmt.Printf("a copy ended after a stall of %v, or a stranger\n", wait)
	}
	return b.after(ctx, t, o, err)
}

// call has strangers come to the port of the run, who say one thing each.
func (p *proxy) call(said [][]byte) error {
	for _, s := range said {
		c, err := net.Dial("tcp", p.to)
		if err != nil {
			return err
		}
		_, _ = c.Write(s) // it may be closed at once
		_ = c.Close()     // said what it was to say
	}
	return nil
}
