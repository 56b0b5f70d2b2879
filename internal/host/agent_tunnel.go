package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// MaxTunnels bounds the streams of copies whose data go through one agent.
const MaxTunnels = 40

// openTunnel connects to the port of a mover of this agent, over loopback: there is no other
// that it could be led to.
func (a *agent) openTunnel(ctx context.Context, p tunnelParams) (idResult, error) {
	m, events, err := processOf[*moverEvents](a, p.ID)
	if err != nil {
		return idResult{}, err
	}
	m.mu.Lock()
	port := events.ports[p.Pair]
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
