package kernel

import (
	"bytes"
	"net/netip"
	"strings"
)

// SMBSession is one session of the kernel's SMB client.
type SMBSession struct {
	Addr netip.Addr // of its first connection
	// Also are the server's other addresses that carry connections of this session
	// (multichannel).
	Also []netip.Addr
	RDMA bool // it does not use TCP
	// Credits is the number of credits that the server had granted and no request used at that
	// moment, over all its connections; 0: unknown. A request takes one for each 64 KiB
	// ([MS-SMB2] 3.1.5.2).
	Credits int64
}

// maxCredits bounds the plausible credits of one connection: a credit count has 16 bits.
const maxCredits = 1 << 20

// ParseCIFSDebugData reads the sessions of /proc/fs/cifs/DebugData. The text is meant for people
// and changes from release to release, so the parser uses only what has stayed: "ConnectionId:"
// or "Number of credits:" of a server, the "Address:" (or "Name:") of a session, and the "IPv4:",
// "IPv6:" and "[CONNECTED]" of its interfaces (fs/smb/client/cifs_debug.c). A text without these
// holds no session, which is no error.
func ParseCIFSDebugData(b []byte) []SMBSession {
	var out []SMBSession
	var iface netip.Addr
	rdma, credits, known := false, int64(0), false
	for line := range bytes.Lines(b) {
		text := strings.TrimSpace(string(line))
		f := strings.Fields(text)
		switch {
		case len(f) == 0:
		case len(f) > 1 && f[1] == "ConnectionId:":
			rdma, iface, credits, known = false, netip.Addr{}, 0, false
		case len(f) > 3 && f[0] == "Number" && f[2] == "credits:":
			n, err := number(f[3])
			switch {
			case err != nil || n < 0 || n > maxCredits:
			case known: // of one more channel of the session
				out[len(out)-1].Credits += n
			default:
				credits = n
			}
		case f[0] == "RDMA" && len(f) == 1:
			rdma = true
		case len(f) > 2 && strings.HasSuffix(f[0], ")") && (f[1] == "Address:" || f[1] == "Name:"):
			if a, err := netip.ParseAddr(f[2]); err == nil {
				out, iface, known = append(out, SMBSession{Addr: a.Unmap(), RDMA: rdma, Credits: credits}), netip.Addr{}, true
			}
		case len(f) > 1 && (f[0] == "IPv4:" || f[0] == "IPv6:"):
			iface = netip.Addr{}
			if a, err := netip.ParseAddr(f[1]); err == nil {
				iface = a.Unmap()
			}
		case text == "[CONNECTED]" && iface.IsValid() && len(out) > 0:
			if s := &out[len(out)-1]; iface != s.Addr {
				s.Also = append(s.Also, iface)
			}
			iface = netip.Addr{}
		}
	}
	return out
}
