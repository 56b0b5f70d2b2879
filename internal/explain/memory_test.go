package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// A host that runs out of memory for TCP is not mistaken for a program that fixed its
// buffer, and a buffer that moves was fixed by nobody.
func TestMemoryForTCP(t *testing.T) {
	short := func(tcpMem string) knobs {
		k := knobs{rate: 0.24e6, rtt: 10 * time.Millisecond, full: true, wnd: 8 << 10, rcvbuf: 16 << 10, rwnd: 1}
		if tcpMem != "" {
			k.settings = map[string]string{tcpMemSetting: tcpMem}
		}
		return k
	}
	counts := func(c Case, pressures, pruned int64) Case {
		for i := range c.Receiver.Samples {
			c.Receiver.Samples[i].SNMP = map[string]int64{"TcpExt.TCPMemoryPressures": pressures * int64(min(i, 1)), "TcpExt.PruneCalled": pruned * int64(i)}
		}
		return c
	}
	for _, tt := range []struct {
		name   string
		c      Case
		want   model.LimiterID
		most   float64
		advice string
	}{
		{"pressure, queues cut, and a small tcp_mem", counts(short("64 96 128").build(), 1, 30), model.TCPMemory, 0.85, "tcp_mem"},
		{"under pressure since before, so that it is not counted", counts(short("64 96 128").build(), 0, 30), model.TCPMemory, 0.85, "tcp_mem"},
		{"pressure alone", counts(short("").build(), 1, 0), model.TCPMemory, memoryGuess, "tcp_mem"},
		{"queues cut alone: a small buffer does that, too", counts(short("100000 200000 300000").build(), 0, 30), model.ReceiverWindow, 0.95, "no program pinned it"},
		{"a program's buffer", counts(short("100000 200000 300000").build(), 0, 0), model.ReceiverWindow, 0.95, "the application fixed"},
	} {
		v := Judge(tt.c)
		if v.Limiter != tt.want || v.Confidence > tt.most || v.Confidence < 0.5 || !strings.Contains(v.Fix.Advice, tt.advice) || v.Host != "server1" || len(v.Contradictions) > 0 {
			t.Errorf("%s: %.2f %v %s", tt.name, v.Confidence, v.Contradictions, v.Line)
		}
	}
	grows := short("").build()
	for i := range grows.Receiver.Samples {
		grows.Receiver.Samples[i].Conns[0].RcvBuf += int64(i) * 4096
	}
	if v := Judge(grows); v.Limiter != model.ReceiverWindow || strings.Contains(v.Fix.Advice, "application fixed") {
		t.Errorf("a buffer that moves: %s", v.Line)
	}
}

// A limit on memory above the socket, as of a control group, shows in queues that are cut
// short beside a buffer with room, and in a send buffer below what is queued.
func TestMemoryLimitAboveTheSocket(t *testing.T) {
	k := knobs{rate: 0.3e9, rtt: 18 * time.Millisecond}
	for _, tc := range []struct {
		name   string
		rcvbuf int64
		prunes int64 // a sample
		queued int64 // at the sender, in all samples; negative: up to twice as much, and it moves
		sndbuf int64
		moves  int64 // of sndbuf, a sample
		want   bool
		most   float64
		wmem   string
		empty  bool // nothing is queued in each seventh sample
	}{
		{"as large as tcp_wmem lets it grow", 6 << 20, 0, 700 << 10, 256 << 10, 0, false, 0, "4096 16384 262144", false},
		{"smaller than tcp_wmem lets it grow", 6 << 20, 0, 700 << 10, 256 << 10, 0, true, tossUpCap, "4096 16384 4194304", false},
		{"nothing of it", 6 << 20, 0, 2 << 20, 4 << 20, 0, false, 0, "", false},
		{"cut short beside room", 6 << 20, 3, 2 << 20, 4 << 20, 0, true, memoryGuess, "", false},
		{"cut short, and the buffer is small", 64 << 10, 3, 2 << 20, 4 << 20, 0, false, 0, "", false},
		{"a send buffer held down", 6 << 20, 0, 700 << 10, 140 << 10, 512, true, memoryGuess, "", false},
		{"one that stays, which a program may have set", 6 << 20, 0, 700 << 10, 140 << 10, 0, true, tossUpCap, "", false},
		{"one that stays while what is queued moves", 6 << 20, 0, -700 << 10, 140 << 10, 0, false, 0, "", false},
		{"one that stays while what is queued is gone at times", 6 << 20, 0, -600 << 10, 140 << 10, 0, false, 0, "", true},
		{"a packet beyond a small buffer", 6 << 20, 0, 80 << 10, 16 << 10, 0, false, 0, "", false},
	} {
		k.rcvbuf, k.sndbufSz, k.settings = tc.rcvbuf, tc.sndbuf, nil
		if tc.wmem != "" {
			k.settings = map[string]string{wmemSetting: tc.wmem}
		}
		c := k.build()
		for i := range c.Sender.Samples {
			c.Sender.Samples[i].Conns[0].WmemQueued = tc.queued
			if tc.queued < 0 { // it moves
				c.Sender.Samples[i].Conns[0].WmemQueued = -tc.queued * int64(2+i%3) / 3
				if tc.empty && i%7 == 0 {
					c.Sender.Samples[i].Conns[0].WmemQueued = 0
				}
			}
			c.Sender.Samples[i].Conns[0].SndBuf += tc.moves * int64(i)
			c.Receiver.Samples[i].SNMP = map[string]int64{"TcpExt.PruneCalled": tc.prunes * int64(i)}
		}
		v := Judge(c)
		if got := v.Limiter == model.TCPMemory; got != tc.want || got && v.Confidence > tc.most {
			t.Errorf("%s: %s (%.2f): %s", tc.name, v.Limiter, v.Confidence, v.Line)
		}
		checkVerdict(t, c, v)
	}
}

// A program that fixes a small buffer and writes much at once waits for it in turns, which neither the
// kernel's counter nor a full buffer shows. It is named among what may hold it back.
func TestFixedSendBufferIsAnAlternative(t *testing.T) {
	c := knobs{rate: 0.3e9, rtt: 10 * time.Millisecond, sndbufSz: 140 << 10}.build()
	for i := range c.Sender.Samples {
		c.Sender.Samples[i].Conns[0].WmemQueued = 400 << 10 * int64(2+i%3) / 3
	}
	v := Judge(c)
	if v.Limiter != model.Undetermined || len(v.Alternatives) == 0 || v.Alternatives[0].Limiter != model.SendBuffer {
		t.Errorf("%s or %v: %s", v.Limiter, v.Alternatives, v.Line)
	}
}
