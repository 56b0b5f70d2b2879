package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
)

const (
	tcpMemSetting = "linux.sysctl.net.ipv4.tcp_mem"
	// pageBytes is the unit of tcp_mem on the machines that have it at 4 KiB; where
	// pages are larger, the limit is higher and nothing is claimed wrongly low.
	pageBytes = 4096
	// prunes of receive queues are worth a word; tcp_prune_queue (net/ipv4/tcp_input.c)
	// runs when a socket has no memory left, its own or of all sockets together.
	prunes = 10
	// memoryGuess caps the confidence where only one of the signs is there.
	memoryGuess = 0.6
	// overBuffer: so much more is queued than the send buffer allows, in the median. A
	// write that finds room may exceed a small buffer by a packet; many packets do not.
	overBuffer = 1.5
	// leastBuffer is no less than what the kernel cuts a send buffer down to (SOCK_MIN_SNDBUF).
	leastBuffer = 16 << 10
	// queuedMoves: what is queued changes by this factor, from its low to its high tenth.
	queuedMoves = 1.25
)

// memory is how an end of the flow fares for the memory of all its TCP sockets.
type memory struct {
	pressures float64 // times that the kernel came under pressure (tcp_enter_memory_pressure)
	pruned    float64 // receive queues cut short, and segments dropped for want of memory
	limit     float64 // tcp_mem's pressure level in bytes; unknown where it was not read
	wanted    float64 // what the path needs in flight at its ceiling, bytes; may be unknown
	// roomy: receive queues were cut short although the socket's own buffer has room, and
	// cut: the kernel holds the send buffer below what is queued. Both come of a memory
	// limit above the socket, be it tcp_mem or that of a control group.
	roomy, cut bool
}

// memoryOf reads the signs of an end; nil without it.
func (s *scene) memoryOf(v *hostView) *memory {
	if v == nil {
		return nil
	}
	m := &memory{pressures: float64(v.snmp["TcpExt.TCPMemoryPressures"]), limit: unknown()}
	for _, name := range []string{"TcpExt.PruneCalled", "TcpExt.RcvPruned", "TcpExt.OfoPruned", "TcpExt.TCPOFODrop", "TcpExt.TCPRcvQDrop", "TcpExt.TCPAbortOnMemory"} {
		m.pruned += float64(max(0, v.snmp[name]))
	}
	if text, ok := v.end.setting(tcpMemSetting); ok {
		if fields := strings.Fields(text); len(fields) == 3 {
			if n, err := strconv.ParseFloat(fields[1], 64); err == nil {
				m.limit = n * pageBytes
			}
		}
	}
	m.wanted = s.ceiling / 8 * s.minRTT.Seconds() * bufferPerBDP
	if v == s.reader && s.rcv != nil {
		m.roomy = v.snmp["TcpExt.PruneCalled"] >= prunes && float64(s.rcv.last.RcvBuf) >= m.wanted && s.rcv.queued < queuedShare
	}
	m.cut = v == s.sender && s.overSendBuffer() && !s.pinnedSendBuffer()
	return m
}

// overSendBuffer: far more is queued than the send buffer allows, and tcp_wmem does not hold it there.
func (s *scene) overSendBuffer() bool {
	return s.snd != nil && s.snd.overBuffer >= overBuffer && !s.bufferAtLimit()
}

// pinnedSendBuffer: the send buffer keeps one size while what is queued changes, as one that a program has
// set does. What the kernel cuts follows what is queued, down to leastBuffer. The spread of a queue that is
// empty in a tenth of the samples is not known, and that queue moves all the more.
func (s *scene) pinnedSendBuffer() bool {
	return s.snd.fixedBuffer && s.snd.last.SndBuf > leastBuffer && !(s.snd.queuedSpread < queuedMoves)
}

// bufferAtLimit: the send buffer is as large as tcp_wmem lets it grow, so that nothing holds it
// below that. More than it holds may be queued all the same: sendfile(2) adds whole pages of the
// file, however large they are.
func (s *scene) bufferAtLimit() bool {
	max, ok := thirdOf(s.c.Sender, wmemSetting)
	return ok && float64(s.snd.last.SndBuf) >= nearLimit*float64(max)
}

// short: the kernel came under pressure, or its level is below what the path needs and
// queues are cut short.
func (m *memory) short() bool {
	return m != nil && (m.pressures >= 1 || m.limit < m.wanted && m.pruned >= 1 || m.roomy || m.cut)
}

// seeMemory: the kernel has no memory left for TCP at one end. No buffer grows then,
// queues are cut short and segments dropped, which reads like a small buffer, like
// losses, or like a slow reader.
func seeMemory(s *scene) *finding {
	for _, v := range []*hostView{s.reader, s.sender} {
		m := s.memoryOf(v)
		if !m.short() {
			continue
		}
		f := &finding{id: model.TCPMemory, host: v.end.Host, margin: over(m.pruned, prunes, 100*prunes), cap: 0.85, costs: true}
		if m.pressures >= 1 {
			f.say(f.host, "tcp_memory_pressures", m.pressures, "times", v.n, "the kernel came under memory pressure for TCP %.0f times", m.pressures)
		}
		if m.pruned >= 1 {
			f.say(f.host, "tcp_pruned", m.pruned, "times", v.n, "receive queues were cut short or segments dropped for want of memory %.0f times", m.pruned)
		}
		if m.roomy {
			f.say(f.host, "rcvbuf", float64(s.rcv.last.RcvBuf), "bytes", s.rcv.n, "the socket's own receive buffer of %s had room", size(float64(s.rcv.last.RcvBuf)))
		}
		if m.cut {
			f.say(f.host, "queued_over_sndbuf", s.snd.overBuffer, "ratio", s.snd.n, "the kernel holds the send buffer below what is queued (%.3g times its %s)", s.snd.overBuffer, size(float64(s.snd.last.SndBuf)))
		}
		if m.limit < m.wanted {
			f.say(f.host, "tcp_mem_bytes", m.limit, "bytes", v.n, "tcp_mem puts all TCP sockets under pressure from %s on, and this path alone needs %s", size(m.limit), size(m.wanted))
		}
		if !(m.pressures >= 1 && (m.pruned >= prunes || m.limit < m.wanted)) && !(m.limit < m.wanted && m.pruned >= prunes) {
			f.cap = memoryGuess
		}
		if m.cut && s.snd.fixedBuffer && !m.roomy && !(m.pressures >= 1) {
			f.cap = tossUpCap
			f.or(model.SendBuffer, "look whether the program sets SO_SNDBUF on a connection that runs (strace -e trace=setsockopt): what was queued before stays above the smaller buffer for a while")
		}
		if !(m.limit < m.wanted) && (m.roomy || m.cut) {
			f.advice = fmt.Sprintf("find what bounds the memory of TCP on %s: the memory limit of the program's control group (memory.max, memory.kmem.tcp.limit_in_bytes), else net.ipv4.tcp_mem against /proc/net/sockstat", f.host)
			return f
		}
		f.advice = fmt.Sprintf("raise the second and third number of net.ipv4.tcp_mem on %s, and find what holds so many full sockets there (ss -tm)", f.host)
		f.or(model.ReceiverWindow, "look at net.ipv4.tcp_mem against the mem of TCP in /proc/net/sockstat while it runs: far below it, the socket's own buffer is what is short")
		return f
	}
	return nil
}

// pinned: the buffer had the same size in all samples. The kernel grows a buffer that is
// the limit, unless a program fixed it.
func pinned(os []obs, s span, size func(*model.Conn) int64) bool {
	in := within(os, s)
	return len(in) >= 2 && !slices.ContainsFunc(in, func(o obs) bool { return size(o.c) != size(in[0].c) })
}
