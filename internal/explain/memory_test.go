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
