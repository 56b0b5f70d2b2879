package kerneltest

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Estats is a Windows host with an IPv4 connection, as kernel.Estats shows it, and More that are like it
// but for their local ports, which follow. Conn is what a connection is after so long, counted from when
// statistics were switched on first.
type Estats struct {
	Conn   func(after time.Duration) model.Conn
	More   int
	PID    uint32 // that holds them
	Now    func() time.Time
	Denied bool // to who is no administrator
	// Deaf accepts a switch and does nothing.
	Deaf bool
	// Step is told before and after each switch; nil: nobody is.
	Step func(step string)

	mu    sync.Mutex
	gone  map[int]bool                        // by the number of the connection
	on    map[int]map[kernel.EstatsGroup]bool // likewise
	began time.Time
}

// On is how many groups are switched on.
func (e *Estats) On() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, groups := range e.on {
		for _, on := range groups {
			if on {
				n++
			}
		}
	}
	return n
}

// Others switches a group of a connection on as another program would.
func (e *Estats) Others(i int, g kernel.EstatsGroup) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.set(i, g, true)
}

// IsOn tells whether a group of a connection is on.
func (e *Estats) IsOn(i int, g kernel.EstatsGroup) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.on[i][g]
}

// End ends a connection, and its statistics with it.
func (e *Estats) End(i int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone == nil {
		e.gone = map[int]bool{}
	}
	e.gone[i] = true
	delete(e.on, i)
}

// Table implements kernel.Estats.
func (e *Estats) Table(ipv6 bool) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := make([]byte, 4)
	for i := 0; i <= e.More && !ipv6; i++ {
		if !e.gone[i] {
			b = binary.NativeEndian.AppendUint32(append(b, e.row(i)...), e.PID)
			put32(b, 0, binary.NativeEndian.Uint32(b)+1)
		}
	}
	return b, nil
}

// row is MIB_TCPROW.
func (e *Estats) row(i int) []byte {
	c := e.Conn(0)
	b := make([]byte, 20)
	put32(b, 0, 5) // MIB_TCP_STATE_ESTAB
	copy(b[4:], c.Local.Addr().AsSlice())
	binary.BigEndian.PutUint16(b[8:], c.Local.Port()+uint16(i))
	copy(b[12:], c.Remote.Addr().AsSlice())
	binary.BigEndian.PutUint16(b[16:], c.Remote.Port())
	return b
}

// find is the connection of a row.
func (e *Estats) find(row []byte) (int, error) {
	for i := range e.More + 1 {
		if !e.gone[i] && slices.Equal(row, e.row(i)) {
			return i, nil
		}
	}
	return 0, kernel.ErrNoConn
}

// size is that of the structure of a group; 0: linerate has no business with it.
func size(g kernel.EstatsGroup) int {
	return map[kernel.EstatsGroup]int{1: 96, 2: 88, 3: 160, 4: 32, 5: 72, 6: 16, 8: 16}[g]
}

func (e *Estats) step(format string, args ...any) {
	if e.Step != nil {
		e.Step(fmt.Sprintf(format, args...))
	}
}

// Switch implements kernel.Estats.
func (e *Estats) Switch(row []byte, g kernel.EstatsGroup, on bool) error {
	e.step("switch group %d: %v", g, on)
	if err := e.change(row, g, on); err != nil {
		return err
	}
	e.step("after switch group %d: %v", g, on)
	return nil
}

func (e *Estats) change(row []byte, g kernel.EstatsGroup, on bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	i, err := e.find(row)
	switch {
	case size(g) == 0:
		return fmt.Errorf("group %d: the parameter is incorrect", g)
	case err != nil:
		return err
	case e.Denied:
		return fmt.Errorf("access is denied: %w", fs.ErrPermission)
	case e.Deaf:
		return nil
	}
	e.set(i, g, on)
	return nil
}

func (e *Estats) set(i int, g kernel.EstatsGroup, on bool) {
	if e.on == nil {
		e.on, e.began = map[int]map[kernel.EstatsGroup]bool{}, e.Now()
	}
	if e.on[i] == nil {
		e.on[i] = map[kernel.EstatsGroup]bool{}
	}
	e.on[i][g] = on
}

// Read implements kernel.Estats, by the offsets of a C compiler for the headers of mingw-w64.
func (e *Estats) Read(row []byte, g kernel.EstatsGroup, rod []byte) (byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i, err := e.find(row)
	if err != nil {
		return 0, err
	}
	if len(rod) != size(g) || len(rod) == 0 {
		return 0, fmt.Errorf("group %d has %d bytes, %d were asked for", g, size(g), len(rod))
	}
	if !e.on[i][g] {
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
