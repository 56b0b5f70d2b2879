package size

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/unit"
)

// Bytes around the payload of a full frame.
const (
	ipv4Header      = 20 // RFC 791
	ipv6Header      = 40 // RFC 8200
	tcpHeader       = 20 // RFC 9293
	timestampOption = 12 // RFC 7323 §3.2 with its two bytes of padding
	udpHeader       = 8  // RFC 768
	frameBytes      = 38 // IEEE 802.3: header 14, check sequence 4, preamble 8, gap 12
	vlanTag         = 4  // IEEE 802.1Q

	// rpcReadReply is around the data of an NFSv3 READ reply: record mark 4 and
	// accepted reply with AUTH_NONE verifier 24 (RFC 5531), status 4,
	// attributes 88, count 4, eof 4, length 4 (RFC 1813 §3.3.6).
	rpcReadReply = 132
	// smbReadReply: transport header 4, SMB2 header 64, fixed part of the READ
	// response 16 ([MS-SMB2] 2.1, 2.2.1, 2.2.20).
	smbReadReply = 84
	// basicHeader is an iSCSI PDU's (RFC 7143 §11.2.1), digest each of its two
	// optional check sums (§11.2.3).
	basicHeader = 48
	digest      = 4
)

// LinkInput describes an Ethernet link and what goes over it.
type LinkInput struct {
	Rate       unit.BitRate `json:"rate_bps"`           // of the line; in reverse the payload wanted
	Link       unit.BitRate `json:"link_bps,omitempty"` // reverse only: the rate of one link, if chosen
	MTU        int          `json:"mtu"`                // bytes
	VLANTags   int          `json:"vlan_tags"`
	IPv6       bool         `json:"ipv6"`
	Timestamps bool         `json:"timestamps"`               // TCP option, on by default in Linux
	Protocol   string       `json:"protocol"`                 // tcp, udp, iscsi, nfs3, smb
	Transfer   unit.Bytes   `json:"transfer_bytes,omitempty"` // data per reply or PDU; 0: 1 MiB, iscsi 256 KiB
}

// envelope is what an upper protocol puts around each transfer.
type envelope struct {
	name    string
	header  int
	usual   unit.Bytes
	comment string
}

func envelopes() []envelope {
	return []envelope{
		{"tcp", 0, 0, ""},
		{"udp", 0, 0, ""},
		{"iscsi", basicHeader, 256 * unit.KiB, "Data-In or Data-Out PDUs without digests; commands and status are not counted"},
		{"nfs3", rpcReadReply, unit.MiB, "READ replies with AUTH_SYS; NFSv4 replies are of the same order but vary with the server's attributes"},
		{"smb", smbReadReply, unit.MiB, "SMB 2 and 3 READ responses, neither encrypted nor compounded"},
	}
}

// Protocols lists the names that LinkInput takes.
func Protocols() []string {
	var out []string
	for _, e := range envelopes() {
		out = append(out, e.name)
	}
	return out
}

// frame is one full frame: payload of wire bytes, both in bytes, and the transfer layer above it.
type frame struct {
	payload, wire int
	env           envelope
	transfer      unit.Bytes
}

func (f frame) share() float64 {
	s := float64(f.payload) / float64(f.wire)
	if f.env.header > 0 {
		s *= float64(f.transfer) / float64(f.transfer+unit.Bytes(f.env.header))
	}
	return s
}

// formula is the share in words, for a text that begins with a rate.
func (f frame) formula() string {
	s := fmt.Sprintf("%d / %d B", f.payload, f.wire)
	if f.env.header > 0 {
		s += fmt.Sprintf(" × %d / %d B of a transfer", f.transfer, int(f.transfer)+f.env.header)
	}
	return s
}

func (in LinkInput) frame() (frame, error) {
	i := slices.IndexFunc(envelopes(), func(e envelope) bool { return e.name == in.Protocol })
	if i < 0 {
		return frame{}, fmt.Errorf("unknown protocol %q; choose one of %s", in.Protocol, strings.Join(Protocols(), ", "))
	}
	env := envelopes()[i]
	low := 576 // every IPv4 host takes that much (RFC 791)
	headers := ipv4Header
	if in.IPv6 {
		low, headers = 1280, ipv6Header // RFC 8200 §5
	}
	if err := checkCount("MTU", in.MTU, low, 65535); err != nil {
		return frame{}, err
	}
	switch {
	case in.Protocol == "udp":
		headers += udpHeader
	case in.Timestamps:
		headers += tcpHeader + timestampOption
	default:
		headers += tcpHeader
	}
	f := frame{payload: in.MTU - headers, wire: in.MTU + frameBytes + vlanTag*in.VLANTags, env: env, transfer: in.Transfer}
	if f.transfer == 0 {
		f.transfer = env.usual
	}
	return f, nil
}

func (in *LinkInput) check() (frame, error) {
	f, err := in.frame()
	if err == nil && f.env.header == 0 && in.Transfer != 0 {
		err = fmt.Errorf("transfer has no meaning for plain %s: leave it away or choose iscsi, nfs3 or smb", in.Protocol)
	}
	if err == nil {
		in.Transfer = f.transfer
		err = optional(f.env.header > 0, checkBytes("transfer", f.transfer, 512, 16*unit.MiB))
	}
	return f, first("link", err,
		checkRate("rate", in.Rate),
		optional(in.Link != 0, checkRate("link", in.Link)),
		checkCount("VLAN tags", in.VLANTags, 0, 2))
}

// Link computes the payload a link carries:
//
//	rate × (MTU − IP − TCP or UDP headers) / (MTU + 38 + 4 × VLAN tags)
//
// and for iscsi, nfs3 and smb × transfer / (transfer + its header).
func Link(in LinkInput) (Answer, error) {
	f, err := in.check()
	if err == nil {
		err = first("link", onlyReverse("the rate of one link", in.Link != 0))
	}
	if err != nil {
		return Answer{}, err
	}
	a := newAnswer("link", in)
	line := float64(in.Rate)
	a.add("goodput", line*f.share(), BitsPerSecond, "%s × %s", in.Rate, f.formula())
	a.add("goodput in bytes", line*f.share()/8, BytesPerSecond, "%s / 8", unit.BitRate(line*f.share()))
	a.add("share of the line", f.share(), Share, "%s", f.formula())
	a.add("full frames", line/8/float64(f.wire), PerSecond, "%s / (8 × %d B)", in.Rate, f.wire)
	if in.MTU != 1500 {
		std := in
		std.MTU = 1500
		g, err := std.frame()
		if err != nil {
			return Answer{}, first("link", err)
		}
		a.add("gain over MTU 1500", f.share()/g.share()-1, Share, "(%d / %d B) / (%d / %d B) − 1", f.payload, f.wire, g.payload, g.wire)
		a.note("A larger gain from MTU %d than that is not saved headers: with MTU 1500 something else was wrong (loss, interrupts, offloads).", in.MTU)
	}
	linkNotes(a, in, f)
	return *a, nil
}

func linkNotes(a *Answer, in LinkInput, f frame) {
	if f.env.comment != "" {
		a.note("%s: %s.", f.env.name, f.env.comment)
	}
	if in.MTU > 1500 {
		a.note("Ports on the way must pass frames of %d bytes (MTU + 14 header + 4 check sequence + tags); switches drop longer ones silently.", in.MTU+18+vlanTag*in.VLANTags)
	}
}

// ethernetRates are those of IEEE 802.3 that a NIC is sold with.
func ethernetRates() []unit.BitRate {
	g := unit.Gbit
	return []unit.BitRate{g, 2.5 * g, 5 * g, 10 * g, 25 * g, 40 * g, 50 * g, 100 * g, 200 * g, 400 * g, 800 * g}
}

// LinkFor computes the line rate that a payload of in.Rate needs, and the links.
func LinkFor(in LinkInput) (Answer, error) {
	f, err := in.check()
	if err != nil {
		return Answer{}, err
	}
	a := newReverse("link", in)
	need := float64(in.Rate) / f.share()
	a.add("line rate needed", need, BitsPerSecond, "%s / (%s)", in.Rate, f.formula())
	if in.Link > 0 {
		a.add("links needed", atLeast(need/float64(in.Link)), Count, "⌈%s / %s⌉", unit.BitRate(need), in.Link)
		a.note("One TCP connection uses one link of a bond: several links need several connections that the hash spreads.")
		linkNotes(a, in, f)
		return *a, nil
	}
	for _, r := range ethernetRates() {
		if float64(r) >= need*(1-1e-12) {
			a.add("Ethernet rate", float64(r), BitsPerSecond, "the slowest that carries %s", unit.BitRate(need))
			linkNotes(a, in, f)
			return *a, nil
		}
	}
	a.note("No single Ethernet link of today carries that; give --link to count links.")
	linkNotes(a, in, f)
	return *a, nil
}
