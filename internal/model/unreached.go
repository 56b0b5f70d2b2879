package model

import (
	"net/netip"
	"time"
)

// Refusal says what came instead of a connection.
type Refusal string

// The ways in which a connection does not come up.
const (
	// Refused: an answer said no (RST, or ICMP port unreachable).
	Refused Refusal = "refused"
	// Forbidden: this host's own firewall or a prohibit route keeps the request in.
	Forbidden Refusal = "forbidden"
	// NoRoute: this host has no route to the network of the address.
	NoRoute Refusal = "no route"
	// HostUnreachable: a route is there, but the next hop or the host does not
	// answer address resolution, or a router says that it cannot be reached.
	HostUnreachable Refusal = "host unreachable"
	// Unanswered: requests were sent again and nothing ever came back.
	Unanswered Refusal = "unanswered"
)

// Unreached is a TCP connection that did not come up.
type Unreached struct {
	How    Refusal        `json:"how"`
	From   netip.Addr     `json:"from"`
	To     netip.AddrPort `json:"to"` // port 0: none was tried
	Waited time.Duration  `json:"waited"`
	Text   string         `json:"text"` // as the system words it
}
