package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/move/mover"
)

// Bounds of an agent's movers.
const (
	maxMovers   = 16
	maxTunnels  = 40  // streams of a copy whose data go through agents
	maxUntaken  = 512 // events of a mover that wait to be taken: it waits then too
	takenAtOnce = 64
	takenBytes  = 1 << 20
	moverEnding = 3 * time.Second // to leave what was written in order
)

// moverProc is one end of a copy, a process, and what it has said.
type moverProc struct {
	pid    int
	stdin  io.WriteCloser
	cancel context.CancelFunc
	gone   <-chan struct{} // closed when it was told to end
	errs   tail
	ended  chan struct{} // closed when the process is gone
	endErr error         // for after ended

	mu     sync.Mutex
	rest   []byte
	events []moverEvent
	port   uint16 // it listens on, if it does
	news   chan struct{}
	taken  chan struct{}
}

type moverEvent struct {
	mover.Event
	size int
}

func (a *agent) startMover(_ context.Context, t mover.Task) (startedResult, error) {
	if err := t.Check(); err != nil {
		return startedResult{}, fmt.Errorf("start mover: %w", err)
	}
	line, err := json.Marshal(t)
	if err != nil {
		return startedResult{}, fmt.Errorf("start mover: %w", err)
	}
	m := &moverProc{news: make(chan struct{}), taken: make(chan struct{}), ended: make(chan struct{})}
	if err := m.spawn(slices.Concat(a.o.Self, []string{mover.Role}), a.o.Log); err != nil {
		return startedResult{}, fmt.Errorf("start mover: %w", err)
	}
	if err := m.tell(line); err != nil {
		m.stop()
		return startedResult{}, errors.Join(err, m.why())
	}
	id, err := a.movers.add(m)
	if err != nil {
		m.stop()
		return startedResult{}, err
	}
	return startedResult{ID: id, PID: m.pid}, nil
}

func (m *moverProc) spawn(argv []string, log io.Writer) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.gone = cancel, ctx.Done()
	cmd := kernel.Exec(ctx, argv...)
	if m.stdin, err = cmd.StdinPipe(); err != nil {
		cancel()
		return err
	}
	cmd.Stdout, cmd.Stderr = m, io.MultiWriter(&m.errs, log)
	// The end of its input stops a mover; it is killed if it does not obey.
	cmd.Cancel, cmd.WaitDelay = m.stdin.Close, moverEnding
	if err := cmd.Start(); err != nil {
		cancel()
		return err
	}
	m.pid = cmd.Process.Pid
	go func() {
		m.endErr = cmd.Wait()
		close(m.ended)
	}()
	return nil
}

// Write takes the mover's stdout apart. It waits where events are not taken.
func (m *moverProc) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rest = append(m.rest, b...)
	for {
		line, rest, ok := bytes.Cut(m.rest, []byte{'\n'})
		if !ok {
			if len(m.rest) > mover.MaxEvent {
				return 0, fmt.Errorf("read mover event: longer than %d bytes", mover.MaxEvent)
			}
			return len(b), nil
		}
		var e mover.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("read mover event: %w", err)
		}
		m.rest = bytes.Clone(rest)
		m.take(moverEvent{e, len(line)})
		for len(m.events) >= maxUntaken {
			taken := m.taken
			m.mu.Unlock()
			select {
			case <-taken:
			case <-m.gone:
			}
			m.mu.Lock()
			select {
			case <-m.gone:
				return 0, errors.New("nobody takes the mover's events")
			default:
			}
		}
	}
}

func (m *moverProc) take(e moverEvent) {
	if e.Kind == mover.Listening {
		m.port = e.Addr.Port()
	}
	// Of what it has done so far the last word is enough.
	if n := len(m.events); e.Kind == mover.Seen && n > 0 && m.events[n-1].Kind == mover.Seen {
		m.events[n-1] = e
	} else {
		m.events = append(m.events, e)
	}
	close(m.news)
	m.news = make(chan struct{})
}

// some takes the events that wait, up to a bound.
func (m *moverProc) some() (out []mover.Event, news chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := 0
	for len(m.events) > 0 && len(out) < takenAtOnce && (size == 0 || size+m.events[0].size <= takenBytes) {
		out, size = append(out, m.events[0].Event), size+m.events[0].size
		m.events = m.events[1:]
	}
	if len(out) > 0 {
		close(m.taken)
		m.taken = make(chan struct{})
	}
	return out, m.news
}

// moverEvents waits for what a mover says, and takes it.
func (a *agent) moverEvents(ctx context.Context, p idParams) (moverResult, error) {
	m, err := a.movers.get(p.ID)
	if err != nil {
		return moverResult{}, err
	}
	for {
		out, news := m.some()
		if len(out) > 0 {
			return moverResult{out}, nil
		}
		select {
		case <-news:
		case <-m.ended:
			if out, _ := m.some(); len(out) > 0 { // sent before it ended
				return moverResult{out}, nil
			}
			return moverResult{}, m.why()
		case <-ctx.Done():
			return moverResult{}, fmt.Errorf("wait for mover: %w", context.Cause(ctx))
		}
	}
}

// why says how a mover ended that should not have; for after ended.
func (m *moverProc) why() error {
	how := "it ended without a result"
	if m.endErr != nil {
		how = m.endErr.Error()
	}
	if last := m.errs.last(); last != "" {
		how += ": " + last
	}
	return fmt.Errorf("mover %d ended: %s", m.pid, how)
}

func (m *moverProc) stop() {
	m.cancel()
	<-m.ended
}

func (m *moverProc) tell(line []byte) error {
	if _, err := m.stdin.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("tell the mover: %w", err)
	}
	return nil
}

func (a *agent) tellMover(_ context.Context, p commandParams) (none, error) {
	m, err := a.movers.get(p.ID)
	if err != nil {
		return none{}, err
	}
	line, err := json.Marshal(p.Command)
	if err != nil {
		return none{}, fmt.Errorf("tell the mover: %w", err)
	}
	return none{}, m.tell(line)
}

// endMover is harmless for a mover that is gone.
func (a *agent) endMover(_ context.Context, p idParams) (none, error) {
	if m, ok := a.movers.remove(p.ID); ok {
		m.stop()
	}
	return none{}, nil
}

// openTunnel connects to the port of a mover of this agent, over loopback: there is no other
// that it could be led to.
func (a *agent) openTunnel(ctx context.Context, p idParams) (idResult, error) {
	m, err := a.movers.get(p.ID)
	if err != nil {
		return idResult{}, err
	}
	m.mu.Lock()
	port := m.port
	m.mu.Unlock()
	if port == 0 {
		return idResult{}, errors.New("open tunnel: the mover does not listen")
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(netip.AddrFrom4([4]byte{127, 0, 0, 1}).String(), strconv.Itoa(int(port))))
	if err != nil {
		return idResult{}, fmt.Errorf("open tunnel: %w", err)
	}
	id, err := a.tunnels.add(c)
	if err != nil {
		_ = c.Close() // the refusal is what counts
		return idResult{}, err
	}
	return idResult{id}, nil
}

// maxPiece is what of a tunnel's data goes with one message, in bytes.
const maxPiece = 256 << 10

func (a *agent) sendTunnel(_ context.Context, p pieceParams) (none, error) {
	c, err := a.tunnels.get(p.ID)
	if err != nil {
		return none{}, err
	}
	if _, err := c.Write(p.Data); err != nil {
		return none{}, fmt.Errorf("send through tunnel: %w", err)
	}
	return none{}, nil
}

// receiveTunnel waits for data; the end of them is an empty piece.
func (a *agent) receiveTunnel(_ context.Context, p idParams) (pieceResult, error) {
	c, err := a.tunnels.get(p.ID)
	if err != nil {
		return pieceResult{}, err
	}
	b := make([]byte, maxPiece)
	n, err := c.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		return pieceResult{}, fmt.Errorf("receive through tunnel: %w", err)
	}
	return pieceResult{b[:n]}, nil
}

func (a *agent) closeTunnel(_ context.Context, p idParams) (none, error) {
	if c, ok := a.tunnels.remove(p.ID); ok {
		return none{}, c.Close()
	}
	return none{}, nil
}
