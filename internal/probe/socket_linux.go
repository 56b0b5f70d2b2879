package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/model"
	"linerate/internal/stat"
)

// Socket sends and counts the datagrams of one probe. Its methods may be called from several
// goroutines.
type Socket struct {
	conn  *net.UDPConn
	raw   interface{ Control(func(fd uintptr)) error }
	peer  netip.Addr
	token [tokenLen]byte
	end   *time.Timer
	done  chan struct{} // closed when the reader has ended

	mu     sync.Mutex
	left   int // datagrams that may still be sent
	rounds map[uint32]*Heard
	change chan struct{} // closed, and made anew, when something arrives
	told   tooBig
	expiry netip.Addr               // of the batch that is being sent
	echoes map[uint32]time.Duration // turn-around by number
	backAt map[uint32]time.Time
	number uint32
}

// maxRounds bounds how many rounds are recorded.
const maxRounds = 256

// Open opens a socket and counts what arrives from then on.
func Open(s Spec) (*Socket, error) {
	token, err := s.check()
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.Local, 0)))
	if err != nil {
		return nil, fmt.Errorf("open probe: %w", err)
	}
	raw, err := conn.SyscallConn()
	var set error
	if err == nil {
		err = raw.Control(func(fd uintptr) { set = setOptions(int(fd), s.Local.Is4()) })
	}
	if err = errors.Join(err, set); err != nil {
		return nil, errors.Join(fmt.Errorf("open probe: %w", err), conn.Close())
	}
	k := &Socket{
		conn: conn, raw: raw, peer: s.Peer, token: token, done: make(chan struct{}), left: MaxDatagrams, rounds: map[uint32]*Heard{},
		change: make(chan struct{}), echoes: map[uint32]time.Duration{}, backAt: map[uint32]time.Time{},
	}
	k.end = time.AfterFunc(MaxLife, func() { _ = conn.Close() }) // the next call says that it is closed
	go k.read()
	return k, nil
}

// Port is the destination port for the peer's datagrams.
func (k *Socket) Port() uint16 {
	a, _ := k.conn.LocalAddr().(*net.UDPAddr)
	return a.AddrPort().Port()
}

// Close closes the socket.
func (k *Socket) Close() error {
	k.end.Stop()
	err := k.conn.Close()
	<-k.done
	if errors.Is(err, net.ErrClosed) {
		return nil // its life was over
	}
	return err
}

// read receives until the socket is closed.
func (k *Socket) read() {
	defer close(k.done)
	buf, oob := make([]byte, 1<<16), make([]byte, 256)
	for {
		n, on, _, from, err := k.conn.ReadMsgUDPAddrPort(buf, oob)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			k.drain() // an ICMP error is reported once per call
			continue
		}
		if from.Addr().Unmap() != k.peer {
			continue
		}
		if m, ok := parse(buf[:n], k.token); ok {
			k.take(m, n, from, parseArrival(oob[:on]))
		}
	}
}

// take counts a datagram, or answers it.
func (k *Socket) take(m message, n int, from netip.AddrPort, a arrival) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch m.kind {
	case kindAsk:
		if k.left > 0 {
			k.left--
			b := make([]byte, payloadLen)
			now := time.Now()
			if a.at.IsZero() {
				a.at = now
			}
			message{kind: kindReply, number: m.number, turn: max(0, now.Sub(a.at))}.put(b, k.token)
			_, _ = k.conn.WriteToUDPAddrPort(b, from) // an answer that cannot be sent is one that is missing
		}
		return
	case kindReply:
		if a.at.IsZero() {
			a.at = time.Now()
		}
		if _, known := k.echoes[m.number]; !known && m.number <= k.number {
			k.echoes[m.number], k.backAt[m.number] = m.turn, a.at
		}
	case kindData:
		r := k.rounds[m.round]
		if r == nil {
			if len(k.rounds) >= maxRounds {
				return
			}
			r = &Heard{Sizes: map[int]int{}}
			k.rounds[m.round] = r
		}
		if n == payloadLen {
			r.Marks++
		} else {
			r.Sizes[n+headers(k.peer)]++
		}
		r.TTL = max(r.TTL, a.ttl)
		if i, err := net.InterfaceByIndex(a.index); err == nil && !slices.Contains(r.Arrive, i.Name) {
			r.Arrive = append(r.Arrive, i.Name)
		}
	}
	close(k.change)
	k.change = make(chan struct{})
}

// Send sends a batch, Gap after each datagram.
func (k *Socket) Send(ctx context.Context, b Batch) (Sent, error) {
	var out Sent
	if len(b.Sizes) > MaxSizes || b.Port == 0 {
		return out, fmt.Errorf("send probes: %d sizes to port %d, want at most %d and a port", len(b.Sizes), b.Port, MaxSizes)
	}
	if b.TTL < 0 || b.TTL > hopLimit || b.Wait < 0 || b.Wait > MaxWait {
		return out, fmt.Errorf("send probes: %d hops and %v for an answer, want at most %d and %v", b.TTL, b.Wait, hopLimit, MaxWait)
	}
	if b.TTL > 0 {
		if err := k.hops(b.TTL); err != nil {
			return out, err
		}
		defer func() { _ = k.hops(hopLimit) }() // fails on a closed socket alone, which sends nothing more
	}
	for _, size := range b.Sizes {
		payload := payloadLen
		if size != 0 {
			payload = size - headers(k.peer)
		}
		if payload < payloadLen || payload > 1<<16-1-headers(k.peer) {
			return out, fmt.Errorf("send probes: a packet of %d bytes, want %d to 65535", size, payloadLen+headers(k.peer))
		}
		buf := make([]byte, payload)
		message{kind: kindData, round: b.Round}.put(buf, k.token)
		local, err := k.write(buf, b.Port)
		if err != nil {
			return out, err
		}
		if local > 0 {
			out.TooBig = local
		} else {
			out.Datagrams++
			out.Bytes += payload + headers(k.peer)
		}
		if err := pause(ctx, Gap); err != nil {
			return out, fmt.Errorf("send probes: %w", err)
		}
	}
	k.drain()
	if b.TTL > 0 {
		var err error
		if out.Expired, err = k.expired(ctx, b.Wait); err != nil {
			return out, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	out.Told, out.By = k.told.mtu, k.told.by
	return out, nil
}

// hops sets the hop limit of what is sent next, and forgets where earlier ones expired.
func (k *Socket) hops(ttl int) error {
	var set error
	err := k.raw.Control(func(fd uintptr) { set = setTTL(int(fd), k.peer.Is4(), ttl) })
	if err = errors.Join(err, set); err != nil {
		return fmt.Errorf("send probes: %w", err)
	}
	k.drain()
	k.mu.Lock()
	k.expiry = netip.Addr{}
	k.mu.Unlock()
	return nil
}

// expired waits for a router's message that a datagram expired there.
func (k *Socket) expired(ctx context.Context, wait time.Duration) (netip.Addr, error) {
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		k.mu.Lock()
		by, change := k.expiry, k.change
		k.mu.Unlock()
		if by.IsValid() {
			return by, nil
		}
		select {
		case <-change:
		case <-late.C:
			return by, nil
		case <-k.done:
			return by, errors.New("wait for a router's answer: the socket is closed")
		case <-ctx.Done():
			return by, fmt.Errorf("wait for a router's answer: %w", ctx.Err())
		}
	}
}

// write sends one datagram. tooBig is the interface's MTU if the datagram exceeds it. It ignores
// an error that an earlier datagram caused.
func (k *Socket) write(b []byte, port uint16) (tooBig int, err error) {
	k.mu.Lock()
	if k.left--; k.left < 0 {
		k.mu.Unlock()
		return 0, fmt.Errorf("send probes: %d were sent, which is as many as one probe may", MaxDatagrams)
	}
	k.mu.Unlock()
	for range 3 {
		_, err = k.conn.WriteToUDPAddrPort(b, netip.AddrPortFrom(k.peer, port))
		if err == nil {
			return 0, nil
		}
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if mtu := k.drain(); mtu > 0 && len(b)+headers(k.peer) > mtu {
			return mtu, nil
		}
	}
	return 0, fmt.Errorf("send probes: %w", err)
}

// drain empties the error queue; it returns the MTU by which this host itself refused a datagram,
// 0 for none.
func (k *Socket) drain() (local int) {
	buf, oob := make([]byte, 64), make([]byte, 512)
	_ = k.raw.Control(func(fd uintptr) { // fails on a closed socket alone
		for {
			_, n, _, _, err := unix.Recvmsg(int(fd), buf, oob, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
			if err != nil {
				return
			}
			by, gone := parseExpired(oob[:n])
			t, ok := parseTooBig(oob[:n])
			switch {
			case gone:
				k.mu.Lock()
				k.expiry = by
				close(k.change)
				k.change = make(chan struct{})
				k.mu.Unlock()
			case !ok:
			case t.local:
				local = t.mtu
			default:
				k.mu.Lock()
				k.told = t
				k.mu.Unlock()
			}
		}
	})
	return local
}

// Await waits until the marks of a round have arrived, or the time is over.
func (k *Socket) Await(ctx context.Context, w Await) (Heard, error) {
	if w.Wait < 0 || w.Wait > MaxWait {
		return Heard{}, fmt.Errorf("wait for probes: %v, want at most %v", w.Wait, MaxWait)
	}
	late := time.NewTimer(w.Wait)
	defer late.Stop()
	for {
		k.mu.Lock()
		h, change := k.heard(w.Round), k.change
		k.mu.Unlock()
		if h.Marks >= w.Marks {
			return h, nil
		}
		select {
		case <-change:
		case <-late.C:
			return h, nil
		case <-k.done:
			return h, errors.New("wait for probes: the socket is closed")
		case <-ctx.Done():
			return h, fmt.Errorf("wait for probes: %w", ctx.Err())
		}
	}
}

// heard is a copy of what arrived in a round.
func (k *Socket) heard(round uint32) Heard {
	out := Heard{Sizes: map[int]int{}, Arrive: []string{}}
	if r := k.rounds[round]; r != nil {
		out.Marks, out.Arrive, out.TTL = r.Marks, slices.Clone(r.Arrive), r.TTL
		for size, n := range r.Sizes {
			out.Sizes[size] = n
		}
	}
	return out
}

// Echo measures round trips one after the other: from just before the send to the kernel's
// receive timestamp, minus the far end's reported turn-around. Each of the two differences uses
// one clock.
func (k *Socket) Echo(ctx context.Context, e Echo) (model.RTT, error) {
	out := model.RTT{}
	if e.N < 1 || e.N > MaxSizes || e.Wait <= 0 || e.Wait > MaxWait || e.Port == 0 {
		return out, fmt.Errorf("measure round trips: %d of %v to port %d, want 1 to %d of up to %v", e.N, e.Wait, e.Port, MaxSizes, MaxWait)
	}
	var took []time.Duration
	for range e.N {
		k.mu.Lock()
		k.number++
		n := k.number
		k.mu.Unlock()
		b := make([]byte, payloadLen)
		message{kind: kindAsk, number: n}.put(b, k.token)
		sent := time.Now()
		if _, err := k.write(b, e.Port); err != nil {
			return out, err
		}
		out.Sent++
		back, turn, ok, err := k.answer(ctx, n, e.Wait)
		if err != nil {
			return out, err
		}
		// A clock that was set in between makes the value useless: left out.
		if d := back.Round(0).Sub(sent.Round(0)) - turn; ok && d > 0 && d < e.Wait+turn {
			took = append(took, d)
		}
		if err := pause(ctx, Gap); err != nil {
			return out, fmt.Errorf("measure round trips: %w", err)
		}
	}
	if out.N = len(took); out.N > 0 {
		slices.Sort(took)
		out.Min, out.Median, out.Max = took[0], stat.UpperMiddle(took), took[out.N-1]
	}
	return out, nil
}

// answer waits for the reply with a number; ok is false if none came in time.
func (k *Socket) answer(ctx context.Context, number uint32, wait time.Duration) (back time.Time, turn time.Duration, ok bool, err error) {
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		k.mu.Lock()
		turn, ok = k.echoes[number]
		back = k.backAt[number]
		change := k.change
		k.mu.Unlock()
		if ok {
			return back, turn, true, nil
		}
		select {
		case <-change:
		case <-late.C:
			return back, 0, false, nil
		case <-k.done:
			return back, 0, false, errors.New("measure round trips: the socket is closed")
		case <-ctx.Done():
			return back, 0, false, fmt.Errorf("measure round trips: %w", ctx.Err())
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
