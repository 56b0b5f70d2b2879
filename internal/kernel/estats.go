package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
)

// Estats are the calls by which Windows shows its TCP connections (iphlpapi.h): the table of all of
// them, and the extended statistics of one, by groups that are switched on and off for each. A row
// names a connection: MIB_TCPROW for IPv4, MIB_TCP6ROW for IPv6. All values are in the byte order of
// the machine but for addresses and ports, which are in that of the network.
type Estats interface {
	// Table is MIB_TCPTABLE_OWNER_PID, or MIB_TCP6TABLE_OWNER_PID.
	Table(ipv6 bool) ([]byte, error)
	// Read fills what is collected of a group. rw is 1 where the group is switched on. A connection that
	// is gone is ErrNoConn.
	Read(row []byte, g EstatsGroup, rod []byte) (rw byte, err error)
	// Switch switches a group on or off, which takes an administrator: else the error is fs.ErrPermission.
	Switch(row []byte, g EstatsGroup, on bool) error
}

// EstatsGroup is a TCP_ESTATS_TYPE of tcpestats.h.
type EstatsGroup int

// The groups that linerate reads; the others are the options of the handshake (0) and an estimate of
// the bandwidth (7).
const (
	estatsData EstatsGroup = iota + 1
	estatsSndCong
	estatsPath
	estatsSendBuff
	estatsRec
	estatsObsRec
	_
	estatsFineRTT
)

// estatsKnown is a group with the size of its structure (TCP_ESTATS_…_ROD_v0) where a pointer has 64 bits.
type estatsKnown struct {
	group EstatsGroup
	size  int
}

// estatsGroups are those that are read. Without any but the last a connection cannot be judged.
func estatsGroups() []estatsKnown {
	return []estatsKnown{{estatsData, 96}, {estatsSndCong, 88}, {estatsPath, 160}, {estatsSendBuff, 32}, {estatsRec, 72}, {estatsObsRec, 16}, {estatsFineRTT, 16}}
}

// estatsRead is what was read of one connection, by group; one that could not be read is missing.
type estatsRead map[EstatsGroup][]byte

// The lengths of MIB_TCPROW_OWNER_PID and MIB_TCPROW, and of their IPv6 kinds.
const (
	ownerRow  = 24
	ownerRow6 = 56
	plainRow  = 20
	plainRow6 = 52
)

// estatsEnds is one connection of a table.
type estatsEnds struct {
	row    []byte // as Read and Switch want it
	local  netip.AddrPort
	remote netip.AddrPort
	state  uint8 // as Linux numbers them (include/net/tcp_states.h)
	pid    int
}

// key names a connection in each of its states.
func (e estatsEnds) key() string { return string(e.row[4:]) }

// tcpStates are Linux' numbers of the states MIB_TCP_STATE_CLOSED (1) to …_DELETE_TCB (12).
func tcpStates(mib uint32) uint8 {
	states := []uint8{0, 7, 10, 2, 3, 1, 4, 5, 8, 11, 9, 6, 7}
	if mib >= uint32(len(states)) {
		return 0
	}
	return states[mib]
}

// ParseTCPTable reads MIB_TCPTABLE_OWNER_PID, or MIB_TCP6TABLE_OWNER_PID: a count of 32 bits and
// the rows. It keeps the connections that passed the handshake and are not over.
func ParseTCPTable(b []byte, ipv6 bool) ([]estatsEnds, error) {
	width := ownerRow
	if ipv6 {
		width = ownerRow6
	}
	if len(b) < 4 {
		return nil, fmt.Errorf("parse TCP table: %d bytes", len(b))
	}
	n := binary.NativeEndian.Uint32(b)
	if b = b[4:]; uint64(len(b)) < uint64(n)*uint64(width) {
		return nil, fmt.Errorf("parse TCP table: %d bytes for %d rows", len(b), n)
	}
	var out []estatsEnds
	for i := range int(n) {
		e := estatsRowOf(b[i*width:(i+1)*width], ipv6)
		if slices.Contains([]uint8{1, 4, 5, 8, 9, 11}, e.state) {
			out = append(out, e)
		}
	}
	return out, nil
}

func estatsRowOf(b []byte, ipv6 bool) estatsEnds {
	port := func(at int) uint16 { return binary.BigEndian.Uint16(b[at:]) }
	if !ipv6 { // state, local address and port, remote ones, pid
		return estatsEnds{
			row:    slices.Clone(b[:plainRow]),
			local:  netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port(8)),
			remote: netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), port(16)),
			state:  tcpStates(u32(b, 0)), pid: int(int32(u32(b, 20))),
		}
	}
	// Local address, scope and port, remote ones, state, pid; MIB_TCP6ROW has the state first.
	e := estatsEnds{
		row:    make([]byte, plainRow6),
		local:  netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[:16])).Unmap(), port(20)),
		remote: netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[24:40])).Unmap(), port(44)),
		state:  tcpStates(u32(b, 48)), pid: int(int32(u32(b, 52))),
	}
	copy(e.row, b[48:52])
	copy(e.row[4:], b[:48])
	return e
}

// conn is the connection as model.FromEstats has it. ok is false where it is not to be judged yet: a
// group is missing, or nothing was counted yet that the others are measured by.
func (r estatsRead) conn(e estatsEnds) (c model.Conn, ok bool) {
	for _, g := range estatsGroups() {
		if len(r[g.group]) < g.size && g.group != estatsFineRTT {
			return c, false
		}
	}
	c = model.Conn{From: model.FromEstats, Local: e.local, Remote: e.remote, State: e.state}
	r.data(&c)
	r.path(&c)
	r.times(&c)
	cong, queue, rec := r[estatsSndCong], r[estatsSendBuff], r[estatsRec]
	waits, flight := min(i64(queue, 0), mostQueued), int64(u32(r[estatsData], 64)-u32(r[estatsData], 56)) // SndMax − SndUna
	c.NotSent = min(i64(queue, 16), mostQueued)
	c.SendQ = c.NotSent + max(waits, flight)
	c.RecvQ, c.RcvWnd = i64(rec, 48), int64(u32(rec, 0))
	c.SndWnd = int64(u32(r[estatsObsRec], 0))
	c.RwndLimited = millis(u32(cong, 4))
	c.Busy = c.RwndLimited + millis(u32(cong, 20))
	c.SourceLimited = millis(u32(cong, 36))
	if c.SndMSS > 0 { // windows are in bytes here
		c.Unacked = int((flight + int64(c.SndMSS) - 1) / int64(c.SndMSS))
		c.Cwnd, c.Ssthresh = int(u32(cong, 60))/c.SndMSS, int(u32(cong, 72))/c.SndMSS
	}
	return c, c.SndMSS > 0 && (c.Cwnd > 0 && c.SndWnd > 0 || c.BytesReceived > c.BytesAcked)
}

// data reads TCP_ESTATS_DATA_ROD_v0.
func (r estatsRead) data(c *model.Conn) {
	b := r[estatsData]
	c.BytesSent, c.DataSegsOut, c.DataSegsIn = i64(b, 0), i64(b, 8), i64(b, 24)
	c.SegsOut, c.SegsIn = i64(b, 32), i64(b, 40)
	c.BytesAcked, c.BytesReceived = i64(b, 72), i64(b, 88)
}

// path reads what TCP_ESTATS_PATH_ROD_v0 counts.
func (r estatsRead) path(c *model.Conn) {
	b := r[estatsPath]
	c.TotalRTO = int(u32(b, 4)) + int(u32(b, 8))
	c.Backoff = uint8(min(u32(b, 12), 255))
	c.TotalRetrans, c.BytesRetrans = int(u32(b, 20)), int64(u32(b, 24))
	c.DSACKDups = int(u32(b, 100))
	c.RTO = millis(u32(b, 132))
	c.SndMSS = int(u32(b, 144)) // nothing tells the size of the segments that come
}

// times reads the round trips: in µs from TCP_ESTATS_FINE_RTT_ROD_v0 where they agree with those of
// TCP_ESTATS_PATH_ROD_v0, which are whole milliseconds, so that 0 is less than one and not known.
func (r estatsRead) times(c *model.Conn) {
	b := r[estatsPath]
	smooth, most, least := u32(b, 108), u32(b, 116), u32(b, 120)
	if f := r[estatsFineRTT]; len(f) >= 16 {
		variance, top, low, now := u32(f, 0), u32(f, 4), u32(f, 8), u32(f, 12)
		if now > 0 && low > 0 && low <= now && now <= top && now/1000 <= most+1 && now/1000+1 >= least {
			c.RTT, c.MinRTT, c.RTTVar = usec(now), usec(low), usec(variance)
			return
		}
	}
	if smooth > 0 && least > 0 && least <= smooth && smooth <= most {
		c.RTT, c.MinRTT, c.RTTVar = millis(smooth), millis(least), millis(u32(b, 112))
	}
}

// mostQueued is more than any memory holds: a larger number is none.
const mostQueued = 1 << 60

func millis(v uint32) time.Duration {
	if v == 1<<32-1 {
		return 0
	}
	return time.Duration(v) * time.Millisecond
}
