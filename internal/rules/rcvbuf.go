package rules

import (
	"fmt"
	"math"

	"linerate/internal/model"
	"linerate/internal/size"
	"linerate/internal/unit"
)

func receiveBuffer() Rule {
	return Rule{
		ID:     "receive-buffer-below-bdp",
		Limits: []model.LimiterID{model.ReceiverWindow},
		Doc:    "The largest TCP receive buffer is smaller than rate × RTT: as a receiver this host closes the window before the path is full.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			b, ok := receiveSide(f)
			if !ok {
				return nil
			}
			found := b.against(c)
			if found == nil {
				return nil
			}
			found.Title = "the receive buffer " + found.Title
			found.Observed = fmt.Sprintf("net.ipv4.tcp_rmem allows %s", found.Observed)
			found.Fix = b.fix("net.ipv4.tcp_rmem", c.BDP())
			found.Source = receiveBufferSource
			return []model.Finding{*found}
		},
	}
}

const receiveBufferSource = "RFC 7323 section 1.1; net/ipv4/tcp_input.c; Documentation/networking/ip-sysctl.rst"

// buffer is the largest buffer of one direction of TCP.
type buffer struct {
	most  unit.Bytes
	share float64 // usual share that holds payload in flight
	// bound is the share of the buffer that payload never exceeds: 1 where the kernel's
	// arithmetic fixes no smaller one.
	bound float64
	what  string // the share in words
}

// receiveSide: the window never exceeds the kernel's share of the buffer. From Linux 6.6 on the
// share depends on the driver, so only the whole buffer bounds it.
func receiveSide(f *model.Facts) (buffer, bool) {
	_, most, ok := triple(f, "tcp_rmem")
	scale, _ := sysctl(f, "tcp_adv_win_scale")
	share, sure := size.WindowShare(f.Kernel, scale, 0)
	if sure {
		return buffer{most, share, share, fmt.Sprintf("of which %.0f%% is window (tcp_adv_win_scale %s)", 100*share, scale)}, ok
	}
	return buffer{most, size.UsualShare, 1, "of which about half is window"}, ok
}

// sendSide: sent data stays in the send buffer until it is acknowledged, together with the
// kernel's bookkeeping (skb truesize), whose size varies but is never zero.
func sendSide(f *model.Facts) (buffer, bool) {
	_, most, ok := triple(f, "tcp_wmem")
	return buffer{most, size.SendShare, 1, "of which about three quarters are payload"}, ok
}

// need is the buffer that holds n bytes in flight, and as many again while lost segments are
// repaired (tcp_rcv_space_adjust and tcp_sndbuf_expand of net/ipv4/tcp_input.c double for that).
func (b buffer) need(flight unit.Bytes) unit.Bytes {
	return max(2*flight, unit.Bytes(float64(flight)/b.share))
}

// fix says to what a setting's maximum is to be raised for n bytes in flight: what no buffer holds takes several
// connections.
func (b buffer) fix(setting string, flight unit.Bytes) string {
	need := b.need(flight)
	if need <= size.LargestBuffer && b.most < need {
		return fmt.Sprintf("raise the maximum of %s to at least %s", setting, need)
	}
	one := float64(size.LargestBuffer) * min(b.share, 0.5) // of it a need is at least twice what is in flight
	n := max(2, int(math.Ceil(float64(flight)/min(one, size.LargestWindow))))
	several := fmt.Sprintf("use at least %s: one cannot have %s in flight", unit.Count(n, "connection"), flight)
	if b.most >= size.LargestBuffer {
		return fmt.Sprintf("%s is at the most that there is: %s", setting, several)
	}
	return fmt.Sprintf("raise the maximum of %s to %d, the most that there is, and %s", setting, size.LargestBuffer, several)
}

// against compares the payload that fits into the buffer with the bandwidth-delay product; nil
// if the buffer suffices or the path is unknown. Title and Observed are fragments; the caller
// completes them.
func (b buffer) against(c Context) *model.Finding {
	bdp := c.BDP()
	if bdp == 0 || float64(b.most)*b.share >= float64(bdp) {
		return nil
	}
	most := unit.Bytes(float64(b.most) * b.bound)
	found := &model.Finding{
		Severity: Medium, Title: "may be too small for this path", Bound: perRTT(most, c.RTT),
		Observed: fmt.Sprintf("%s, %s; %s at %v need %s in flight", b.most, b.what, c.LineRate, c.RTT, bdp),
	}
	if most < bdp {
		found.Severity, found.Title = High, "is too small for this path"
	}
	return found
}
