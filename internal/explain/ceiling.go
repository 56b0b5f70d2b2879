package explain

import (
	"fmt"
	"net/netip"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Bytes around the payload of a full TCP segment on Ethernet (IEEE 802.3,
// RFC 791, 8200, 9293, 7323).
const (
	ipv4Header     = 20
	ipv6Header     = 40
	tcpHeader      = 20
	timestampBytes = 12
	ethernetHeader = 14
	ipTCPHeaders   = ipv4Header + tcpHeader
	// frameBytes: header 14, check sequence 4, preamble 8, gap 12.
	frameBytes = 38

	// vlanTag: IEEE 802.1Q.
	vlanTag = 4

	optTimestamps = 1
)

// vlanDriver is how Linux names itself as the driver of a tagged interface
// (net/8021q/vlan_dev.c).
const vlanDriver = "802.1Q VLAN Support"

// CeilingInputs are the numbers the ceiling was computed from.
type CeilingInputs struct {
	LineRate unit.BitRate `json:"line_rate_bps"`
	From     string       `json:"from"` // who says so: "stated", or "NIC eth0 of client1"
	MTU      int          `json:"mtu"`  // bytes; 0: derived from the segment size alone
	MSS      int          `json:"mss"`  // payload of a full segment in bytes
	// InUse is the payload of the segments that were sent, where it is smaller by so
	// much that it costs (see seeSmallSegments); else 0.
	InUse      int  `json:"mss_in_use,omitempty"`
	Timestamps bool `json:"timestamps"`
	IPHeader   int  `json:"ip_header"` // 20 or 40
	VLAN       bool `json:"vlan"`      // frames carry a tag
}

// CeilingResult is the most payload the path can carry. Rate is nil when that
// is not known; Formula then says what was missing.
type CeilingResult struct {
	Rate    *unit.BitRate
	Formula string
	Inputs  CeilingInputs
}

// Ceiling is line rate × payload share of the wire frame,
// (MTU − IP − TCP − options) / (MTU + 38), with the timestamp option as seen
// on the connections and the MTU of the interfaces that carry the data, the
// smaller of both ends. A segment size seen on the wire that is a little smaller
// counts instead; one that costs goodput does not lower the ceiling: it is a fault.
func Ceiling(c Case) CeilingResult { return lookAtLink(c).link }

func (v *views) ceiling() CeilingResult {
	in := v.ceilingInputs()
	if !(in.LineRate > 0) || !known(float64(in.LineRate)) {
		return CeilingResult{Formula: "line rate not known: state it, or look at both ends' interfaces", Inputs: in}
	}
	if in.MSS <= 0 {
		return CeilingResult{Formula: "MTU not known: no interface and no connection told it", Inputs: in}
	}
	on := "Ethernet"
	if in.VLAN {
		on = "Ethernet with a VLAN tag"
	}
	frame := in.frame(in.MSS)
	rate := in.LineRate * unit.BitRate(in.MSS) / unit.BitRate(frame)
	formula := fmt.Sprintf("%s × %d / %d B (segment of MTU %d on %s, %s) = %s",
		in.LineRate, in.MSS, frame, in.MSS+in.headers(), on, in.From, rate)
	if in.InUse > 0 {
		formula += fmt.Sprintf("; with the segments in use × %d / %d B = %s", in.InUse, in.frame(in.InUse), in.LineRate*unit.BitRate(in.share(in.InUse)))
	}
	return CeilingResult{Rate: &rate, Formula: formula, Inputs: in}
}

func (v *views) ceilingInputs() CeilingInputs {
	in := CeilingInputs{IPHeader: ipv4Header, Timestamps: true}
	o, haveConn := lastFull(v.flows)
	if haveConn {
		in.Timestamps = o.Options&optTimestamps != 0
		if a := o.Local.Addr(); a.Is6() && !a.Is4In6() {
			in.IPHeader = ipv6Header
		}
	}
	for _, n := range []*model.NIC{v.sendNIC, v.readNIC} {
		if n != nil && n.Driver.Or("") == vlanDriver {
			in.VLAN = true
		}
		if n != nil && n.MTU > 0 && (in.MTU == 0 || n.MTU < in.MTU) {
			in.MTU = n.MTU
		}
	}
	if in.MTU > 0 {
		in.MSS = in.MTU - in.headers()
	}
	if seen := max(o.SndMSS, 0); v.Sender != nil && seen > 0 && (in.MSS <= 0 || seen < in.MSS) {
		if v.segmentsCost(in, o, seen) {
			in.InUse = seen
		} else {
			in.MSS = seen
		}
	} else if in.MSS <= 0 {
		in.MSS = max(o.RcvMSS, 0)
	}
	in.LineRate, in.From = v.lineRate()
	return in
}

// headers are the bytes of a packet that are not payload, frame those of a segment on
// the wire, and share is the part of the wire that is payload.
func (in CeilingInputs) headers() int {
	if in.Timestamps {
		return in.IPHeader + tcpHeader + timestampBytes
	}
	return in.IPHeader + tcpHeader
}

func (in CeilingInputs) frame(mss int) int {
	if in.VLAN {
		return mss + in.headers() + frameBytes + vlanTag
	}
	return mss + in.headers() + frameBytes
}

func (in CeilingInputs) share(mss int) float64 {
	return ratio(float64(mss), float64(in.frame(mss)))
}

// lineRate is the stated rate, else the slowest physical NIC on the way.
func (v *views) lineRate() (unit.BitRate, string) {
	if r, ok := v.LineRate.Get(); ok {
		return r, "stated"
	}
	var best unit.BitRate
	from := ""
	for _, e := range []*End{v.Sender, v.Receiver} {
		n := v.nicOf(e)
		if n == nil {
			continue
		}
		if r, ok := n.Speed.Get(); ok && r > 0 && (best == 0 || r < best) {
			best, from = r, "NIC "+n.Name+" of "+e.Host
		}
	}
	return best, from
}

// lastFull is the newest state of the connection that moved most.
func lastFull(flows []flow) (*model.Conn, bool) {
	var best flow
	found := false
	for _, f := range flows {
		if !found || f.bytes() > best.bytes() {
			best, found = f, true
		}
	}
	switch {
	case len(best.snd) > 0:
		return best.snd[len(best.snd)-1].c, true
	case len(best.rcv) > 0:
		return best.rcv[len(best.rcv)-1].c, true
	}
	return &model.Conn{}, false
}

// dataNIC is the interface of e that carries the connections of tracks.
func (e *End) dataNIC(tracks []track) *model.NIC {
	addr := netip.Addr{}
	var most int64 = -1
	for _, t := range tracks {
		a, b := t.obs[0].c, t.obs[len(t.obs)-1].c
		if n := b.BytesAcked - a.BytesAcked + b.BytesReceived - a.BytesReceived; n > most {
			addr, most = t.local.Addr(), n
		}
	}
	return e.nic(addr)
}
