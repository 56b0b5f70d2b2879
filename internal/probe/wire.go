package probe

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"time"
)

// Bounds of one socket.
const (
	MaxDatagrams = 1000
	MaxLife      = 2 * time.Minute
	// MaxSizes is how many datagrams one call may send; Gap passes after each.
	MaxSizes = 32
	Gap      = time.Millisecond
	// MaxWait bounds how long one call waits for datagrams.
	MaxWait = 5 * time.Second
)

// Spec is a socket to be opened: on one of the host's addresses, for one peer.
type Spec struct {
	Local netip.Addr `json:"local"`
	Peer  netip.Addr `json:"peer"`
	Token string     `json:"token"` // 32 hexadecimal digits
}

func (s Spec) check() (token [tokenLen]byte, err error) {
	for _, a := range []netip.Addr{s.Local, s.Peer} {
		if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return token, fmt.Errorf("open probe: %s is no address of a host", a)
		}
	}
	if s.Local.Is4() != s.Peer.Is4() {
		return token, fmt.Errorf("open probe: %s and %s are of two kinds", s.Local, s.Peer)
	}
	b, err := hex.DecodeString(s.Token)
	if err != nil || len(b) != tokenLen {
		return token, fmt.Errorf("open probe: want a token of %d hexadecimal digits", 2*tokenLen)
	}
	copy(token[:], b)
	return token, nil
}

// Batch is datagrams to send to a port of the peer. Sizes are bytes of IP packet, headers
// included; 0 is the smallest size, a mark.
type Batch struct {
	Port  uint16 `json:"port"`
	Round uint32 `json:"round"`
	Sizes []int  `json:"sizes"`
	// TTL is how many routers they may pass, less one; 0: hopLimit. Wait is how long to wait
	// then for the answer of the one where they expire.
	TTL  int           `json:"ttl,omitempty"`
	Wait time.Duration `json:"wait,omitempty"`
}

// Sent is the outcome of a Batch at the sender.
type Sent struct {
	Datagrams int `json:"datagrams"`
	Bytes     int `json:"bytes"` // of IP packets
	// TooBig is the MTU of the sender's own interface if a size exceeded it; 0 otherwise.
	TooBig int `json:"too_big,omitempty"`
	// Told is the MTU that an ICMP message reported since the socket was opened, and By the
	// sender of that message; 0: none came.
	Told int        `json:"told,omitempty"`
	By   netip.Addr `json:"by"`
	// Expired is the router at which datagrams of a Batch with a TTL expired, by its ICMP
	// message; none: none came.
	Expired netip.Addr `json:"expired"`
}

// Await requests what arrived in a round, once this many marks arrived or Wait is over.
type Await struct {
	Round uint32        `json:"round"`
	Marks int           `json:"marks"`
	Wait  time.Duration `json:"wait"`
}

// Heard is what arrived in a round.
type Heard struct {
	Marks  int         `json:"marks"`
	Sizes  map[int]int `json:"sizes"`  // how many by size in bytes of IP packet, marks left out
	Arrive []string    `json:"arrive"` // interfaces that they, or marks, came in by
	// TTL is the largest hop limit that one arrived with; 0: the kernel does not tell.
	TTL int `json:"ttl,omitempty"`
}

// Echo requests N measurements of the round trip to a port of the peer.
type Echo struct {
	Port uint16        `json:"port"`
	N    int           `json:"n"`
	Wait time.Duration `json:"wait"` // for each
}

// Kinds of datagrams.
const (
	kindData  = 1
	kindAsk   = 2
	kindReply = 3
)

const (
	magic    = "LRP1"
	tokenLen = 16
	// payloadLen is magic, token, kind in four bytes, round, number, and the
	// turn-around in nanoseconds.
	payloadLen = 4 + tokenLen + 4 + 4 + 4 + 8
)

// headers is the size of the IP and UDP headers: RFC 791 and 768, RFC 8200.
func headers(a netip.Addr) int {
	if a.Is4() {
		return 20 + 8
	}
	return 40 + 8
}

// message is the content of a datagram before its padding.
type message struct {
	kind          byte
	round, number uint32
	turn          time.Duration // replies: from arrival to answer
}

func (m message) put(b []byte, token [tokenLen]byte) {
	copy(b, magic)
	copy(b[4:], token[:])
	b[20], b[21], b[22], b[23] = m.kind, 0, 0, 0
	binary.BigEndian.PutUint32(b[24:], m.round)
	binary.BigEndian.PutUint32(b[28:], m.number)
	binary.BigEndian.PutUint64(b[32:], uint64(m.turn))
}

// parse parses a received datagram; ok is false for one that does not belong to this probe.
func parse(b []byte, token [tokenLen]byte) (m message, ok bool) {
	if len(b) < payloadLen || string(b[:4]) != magic || [tokenLen]byte(b[4:20]) != token {
		return m, false
	}
	m = message{kind: b[20], round: binary.BigEndian.Uint32(b[24:]), number: binary.BigEndian.Uint32(b[28:]), turn: time.Duration(binary.BigEndian.Uint64(b[32:]))}
	return m, m.kind >= kindData && m.kind <= kindReply && m.turn >= 0
}
