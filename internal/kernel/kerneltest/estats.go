package kerneltest

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Estats is a Windows host with one IPv4 connection, as kernel.Estats shows it. Conn is what the
// connection is after so long, counted from when its statistics were switched on.
type Estats struct {
	Conn   func(after time.Duration) model.Conn
	PID    uint32 // that holds it
	Now    func() time.Time
	Denied bool // to who is no administrator

	mu    sync.Mutex
	on    map[kernel.EstatsGroup]bool
	began time.Time
}

// On is how many groups are switched on.
func (e *Estats) On() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, on := range e.on {
		if on {
			n++
		}
	}
	return n
}

// Table implements kernel.Estats.
func (e *Estats) Table(ipv6 bool) ([]byte, error) {
	if ipv6 {
		return make([]byte, 4), nil
	}
	b := make([]byte, 4+24)
	put32(b, 0, 1)
	copy(b[4:], e.row())
	put32(b, 4+20, e.PID)
	return b, nil
}

// row is MIB_TCPROW.
func (e *Estats) row() []byte {
	c := e.Conn(0)
	b := make([]byte, 20)
	put32(b, 0, 5) // MIB_TCP_STATE_ESTAB
	copy(b[4:], c.Local.Addr().AsSlice())
	binary.BigEndian.PutUint16(b[8:], c.Local.Port())
	copy(b[12:], c.Remote.Addr().AsSlice())
	binary.BigEndian.PutUint16(b[16:], c.Remote.Port())
	return b
}

// Switch implements kernel.Estats.
func (e *Estats) Switch(row []byte, g kernel.EstatsGroup, on bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case string(row) != string(e.row()):
		return kernel.ErrNoConn
	case e.Denied:
		return fmt.Errorf("access is denied: %w", fs.ErrPermission)
	case e.on == nil:
		e.on, e.began = map[kernel.EstatsGroup]bool{}, e.Now()
	}
	e.on[g] = on
	return nil
}

// Read implements kernel.Estats, by the offsets of a C compiler for the headers of mingw-w64.
func (e *Estats) Read(row []byte, g kernel.EstatsGroup, rod []byte) (byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if string(row) != string(e.row()) {
		return 0, kernel.ErrNoConn
	}
	if !e.on[g] {
		return 0, nil
	}
	c := e.Conn(e.Now().Sub(e.began))
	mss := uint32(c.SndMSS)
	fields := map[kernel.EstatsGroup]map[int]uint64{
		1: {0: uint64(c.BytesSent), 8: uint64(c.DataSegsOut), 24: uint64(c.DataSegsIn), 32: uint64(c.SegsOut), 40: uint64(c.SegsIn), 72: uint64(c.BytesAcked), 88: uint64(c.BytesReceived)},
		4: {0: uint64(c.SendQ - c.NotSent), 16: uint64(c.NotSent)},
		5: {48: uint64(c.RecvQ)},
	}
	short := map[kernel.EstatsGroup]map[int]uint32{
		1: {64: uint32(c.Unacked) * mss},
		2: {4: ms(c.RwndLimited), 20: ms(c.Busy - c.RwndLimited), 36: ms(c.SourceLimited), 60: uint32(c.Cwnd) * mss},
		3: {12: uint32(c.Backoff), 20: uint32(c.TotalRetrans), 24: uint32(c.BytesRetrans), 108: ms(c.RTT), 116: ms(c.RTT) + 1, 120: ms(c.MinRTT), 132: ms(c.RTO), 144: mss},
		5: {0: uint32(c.RcvWnd)},
		6: {0: uint32(c.SndWnd)},
		8: {0: us(c.RTTVar), 4: us(c.RTT) + 1000, 8: us(c.MinRTT), 12: us(c.RTT)},
	}
	for at, v := range fields[g] {
		binary.NativeEndian.PutUint64(rod[at:], v)
	}
	for at, v := range short[g] {
		put32(rod, at, v)
	}
	return 1, nil
}

func put32(b []byte, at int, v uint32) { binary.NativeEndian.PutUint32(b[at:], v) }
func ms(d time.Duration) uint32        { return uint32(d.Milliseconds()) }
func us(d time.Duration) uint32        { return uint32(d.Microseconds()) }
