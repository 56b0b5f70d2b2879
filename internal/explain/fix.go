package explain

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Setting ids that a verdict may name.
const (
	rmemSetting     = "linux.sysctl.net.ipv4.tcp_rmem"
	wmemSetting     = "linux.sysctl.net.ipv4.tcp_wmem"
	rmemMaxSetting  = "linux.sysctl.net.core.rmem_max"
	wmemMaxSetting  = "linux.sysctl.net.core.wmem_max"
	moderateSetting = "linux.sysctl.net.ipv4.tcp_moderate_rcvbuf"
	scalingSetting  = "linux.sysctl.net.ipv4.tcp_window_scaling"
	sackSetting     = "linux.sysctl.net.ipv4.tcp_sack"
	featuresSetting = "linux.ethtool.features"
)

// bufferPerBDP × bufferRoom is what a new limit is sized by: a buffer holds
// packets with their bookkeeping, and the round trip grows under load.
const (
	bufferPerBDP = 2.0
	bufferRoom   = 1.5
	blindGrowth  = 4 // without a known rate: this times the running limit
)

// fixFor is what removes the limiter of a finding.
func fixFor(s *scene, f *finding) model.Fix {
	switch f.id {
	case model.ReceiverWindow:
		return windowFix(s, f)
	case model.SendBuffer:
		return sendFix(s, f)
	case model.PacketCost:
		if f.advice != "" {
			return operator(f.host, f.advice)
		}
		return offloadFix(s, f)
	case model.SACKOff:
		return sackFix(s)
	case model.CongestionControl:
		return controlFix(s)
	case model.Undetermined:
		if len(f.alts) > 0 {
			return model.Fix{Kind: model.FixNone, Advice: f.alts[0].Probe}
		}
		return model.Fix{Kind: model.FixNone, Advice: restAdvice(f.id)}
	case model.None, model.StartUp:
		return model.Fix{Kind: model.FixNone, Advice: restAdvice(f.id)}
	}
	return operator(f.host, adviceFor(s, f))
}

func operator(host, advice string) model.Fix {
	return model.Fix{Kind: model.FixOperator, Host: host, Advice: advice}
}

func change(host, id, from, to, advice string) model.Fix {
	return model.Fix{Kind: model.FixSetting, Setting: id, Host: host, From: from, To: to, Advice: advice}
}

// larger is a change to a larger value; where that is the largest already, no setting helps one connection.
func larger(host, id, from, to, advice string) model.Fix {
	if to == strings.Join(strings.Fields(from), " ") {
		return operator(host, id+" is at the most that a kernel has: use several connections, of which each has a buffer of its own")
	}
	return change(host, id, from, to, advice)
}

func windowFix(s *scene, f *finding) model.Fix {
	e := s.c.Receiver
	switch f.cause {
	case causeSysctl:
		from, _ := e.setting(rmemSetting)
		return larger(e.Host, rmemSetting, from, raise(s, from), "let the receive buffer grow to what the rate and the round trip need")
	case causeAutotuning:
		return change(e.Host, moderateSetting, "0", "1", "let the kernel size receive buffers")
	case causeScaling:
		return scalingFix(s)
	case causeCapped:
		return allow(s, e, rmemMaxSetting)
	case causeRoute:
		way, _ := s.routeWindow()
		return operator(f.host, fmt.Sprintf("the route to %s limits the window to %s: take \"window\" out of it (ip route change); new connections then have a larger one. First see with ip route get %s that no other table leads there",
			way.Dst, size(float64(way.Window)), s.rcv.last.Remote.Addr().Unmap()))
	case causeUnknown:
		return operator(f.host, fmt.Sprintf("at the receiving end raise the receive buffer (tcp_rmem, or the application's SO_RCVBUF) to %s", needed(s)))
	}
	if f.cause == causeOpen {
		return operator(f.host, fmt.Sprintf("the receive buffer stands at %s, below the limit of tcp_rmem, and no program pinned it: see whether the kernel has memory for TCP (net.ipv4.tcp_mem against /proc/net/sockstat), and watch for longer: it may still grow", size(float64(s.rcv.last.RcvBuf))))
	}
	return operator(f.host, fmt.Sprintf("the application fixed its receive buffer (SO_RCVBUF) at %s: let it leave the buffer to the kernel, or ask for %s", size(float64(s.rcv.last.RcvBuf)), asked(s)))
}

// scalingFix turns window scaling on at the end that has it off.
func scalingFix(s *scene) model.Fix {
	for _, e := range []*End{s.c.Receiver, s.c.Sender} {
		if v, ok := e.setting(scalingSetting); ok && v == "0" {
			return change(e.Host, scalingSetting, "0", "1", "allow windows above 64 KiB; connections opened after it will use them")
		}
	}
	return operator("", "an end or a middlebox strips the window scale option (RFC 7323): compare the SYN at both ends")
}

func sendFix(s *scene, f *finding) model.Fix {
	e := s.c.Sender
	switch f.cause {
	case causeSysctl:
		from, _ := e.setting(wmemSetting)
		return larger(e.Host, wmemSetting, from, raise(s, from), "let the send buffer grow to what the rate and the round trip need")
	case causeCapped:
		return allow(s, e, wmemMaxSetting)
	case causeUnknown:
		return operator(e.Host, "raise the send buffer (tcp_wmem, or the application's SO_SNDBUF) to "+needed(s))
	}
	if f.cause == causeOpen {
		return operator(e.Host, fmt.Sprintf("the send buffer stands at %s, below the limit of tcp_wmem, and no program pinned it: see whether the kernel has memory for TCP (net.ipv4.tcp_mem against /proc/net/sockstat), and watch for longer: it may still grow", size(float64(s.snd.last.SndBuf))))
	}
	return operator(e.Host, fmt.Sprintf("the application fixed its send buffer (SO_SNDBUF) at %s: let it leave the buffer to the kernel, or ask for %s", size(float64(s.snd.last.SndBuf)), asked(s)))
}

// offloadFix turns on those of the segmentation features that are off.
func offloadFix(s *scene, f *finding) model.Fix {
	v, names := s.sender, txFeatures()
	switch f.cause {
	case causeRx:
		v, names = s.reader, rxFeatures()
	case causeUnknown:
		return operator(f.host, "see that segmentation offload is on at both ends (ethtool -k), or use larger frames")
	}
	off := v.off(names)
	fix := change(f.host, featuresSetting, strings.Join(off, "=off ")+"=off", strings.Join(off, "=on ")+"=on", "let packets pass the stack in large pieces")
	fix.Target = v.nic.Device
	return fix
}

func sackFix(s *scene) model.Fix {
	for _, e := range []*End{s.c.Sender, s.c.Receiver} {
		if v, ok := e.setting(sackSetting); ok && v == "0" {
			return change(e.Host, sackSetting, "0", "1", "recover several losses per round trip; for connections opened after it")
		}
	}
	return operator("", "an end or a middlebox strips the SACK option (RFC 2018): compare the SYN at both ends")
}

// raise is the three-number setting with a larger maximum.
func raise(s *scene, from string) string {
	fields := strings.Fields(from)
	running, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return from // thirdOf parsed it before
	}
	to := unit.Bytes(neededBytes(s))
	if !known(neededBytes(s)) || to <= unit.Bytes(running) {
		to = 2 * unit.Bytes(running)
	}
	if !known(s.ceiling) {
		to = max(to, blindGrowth*unit.Bytes(running))
	}
	to = min((to+unit.MiB-1)/unit.MiB*unit.MiB, math.MaxInt32/unit.MiB*unit.MiB)
	return strings.Join([]string{fields[0], fields[1], strconv.FormatInt(max(int64(to), running), 10)}, " ")
}

// allow lets programs have the buffer that they ask for. The kernel doubles what
// it grants, so that half of what is needed is enough.
func allow(s *scene, e *End, id string) model.Fix {
	from, _ := e.setting(id)
	running, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return operator(e.Host, "raise "+id) // capped parsed it before
	}
	to := 2 * float64(running)
	if n := neededBytes(s) / 2; n > to {
		to = n
	}
	up := max(int64(min(math.Ceil(to/float64(unit.MiB))*float64(unit.MiB), math.MaxInt32/2)), running)
	return larger(e.Host, id, from, strconv.FormatInt(up, 10),
		"let programs have the buffer that they ask for; it is for connections opened after it: log in, or mount, again")
}

// neededBytes is the buffer that the ceiling (or, when there is none, the rate
// seen) needs at the minimum round trip.
func neededBytes(s *scene) float64 {
	rate := s.ceiling
	if !known(rate) {
		rate = s.total
	}
	return rate / 8 * s.minRTT.Seconds() * bufferPerBDP * bufferRoom
}

func needed(s *scene) string { return atLeast(neededBytes(s)) }

// asked is what an application has to ask for: the kernel doubles it (socket(7)).
func asked(s *scene) string { return atLeast(neededBytes(s)/2) + ", which net.core must allow" }

func atLeast(n float64) string {
	if !known(n) || n <= 0 {
		return "rate × round trip × 3"
	}
	up := math.Ceil(n/float64(unit.MiB)) * float64(unit.MiB)
	return "at least " + size(up)
}

// thirdOf is the maximum of a three-number setting, as tcp_rmem is.
func thirdOf(e *End, id string) (int64, bool) {
	v, ok := e.setting(id)
	if !ok {
		return 0, false
	}
	return thirdNumber(v)
}

func thirdNumber(v string) (int64, bool) {
	fields := strings.Fields(v)
	if len(fields) != 3 {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[2], 10, 64)
	return n, err == nil && n > 0
}
