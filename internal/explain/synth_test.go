package explain

import (
	"net/netip"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// knobs describe a steady transfer for tests; the zero value of a knob leaves
// a healthy cubic stream that fills a 1 Gbit/s link of 10 ms.
type knobs struct {
	rate     float64 // goodput, bit/s
	line     unit.BitRate
	rtt      time.Duration // under load
	minRTT   time.Duration
	samples  int
	streams  int
	cc       string
	notsent  int64
	appLtd   bool
	rwnd     float64 // share
	sndbuf   float64
	wnd      int64 // advertised window
	full     bool  // the window is full
	cwnd     int
	recvQ    int64
	rcvbuf   int64
	sndbufSz int64
	sendQ    int64
	retrans  float64 // share of segments
	backoff  int
	run      [2]float64 // writer, reader
	wait     [2]float64
	busy     [2]float64 // core
	kernel   [2]float64 // share of busy
	features map[string]bool
	settings map[string]string
	v6       bool
	noFacts  bool
	physical unit.BitRate
}

const healthy = 0.94e9

func orInt[T int | int64 | float64 | time.Duration | unit.BitRate](v, other T) T {
	if v == 0 {
		return other
	}
	return v
}

// build makes the case the knobs describe.
func (k knobs) build() Case {
	k.rate, k.minRTT = orInt(k.rate, healthy), orInt(k.minRTT, 10*time.Millisecond)
	k.rtt, k.samples, k.streams = orInt(k.rtt, k.minRTT*3/2), orInt(k.samples, 40), orInt(k.streams, 1)
	k.wnd, k.rcvbuf, k.sndbufSz = orInt(k.wnd, 4<<20), orInt(k.rcvbuf, 6<<20), orInt(k.sndbufSz, 4<<20)
	k.cwnd = orInt(k.cwnd, int(k.rate/8*k.rtt.Seconds()/1448)+1)
	if k.cc == "" {
		k.cc = "cubic"
	}
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if k.v6 {
		a, b = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
	}
	c := Case{Sender: &End{Host: "client1", Peer: b, Facts: k.facts("client1", a)}, Receiver: &End{Host: "server1", Peer: a, Facts: k.facts("server1", b)}}
	if k.line >= 0 {
		c.LineRate = model.Known(orInt(k.line, unit.Gbit))
	}
	for i := range k.samples {
		at := time.Duration(i) * 100 * time.Millisecond
		snd, rcv := k.host(at, 0), k.host(at, 1)
		for s := range k.streams {
			snd.Conns = append(snd.Conns, k.sender(at, netip.AddrPortFrom(a, uint16(40000+s)), netip.AddrPortFrom(b, 5201)))
			rcv.Conns = append(rcv.Conns, k.receiver(at, netip.AddrPortFrom(b, 5201), netip.AddrPortFrom(a, uint16(40000+s))))
		}
		c.Sender.Samples, c.Receiver.Samples = append(c.Sender.Samples, snd), append(c.Receiver.Samples, rcv)
	}
	return c
}

func (k knobs) facts(host string, addr netip.Addr) *model.Facts {
	if k.noFacts {
		return nil
	}
	set := map[string]model.Fact[string]{
		rmemSetting: model.Known("4096 131072 6291456"), wmemSetting: model.Known("4096 16384 4194304"),
		moderateSetting: model.Known("1"), scalingSetting: model.Known("1"),
	}
	for id, v := range k.settings {
		set[id] = model.Known(v)
	}
	n := model.NIC{Name: "eth0", Device: "if:eth0", MTU: 1500, Up: true, Addrs: []netip.Prefix{netip.PrefixFrom(addr, 24)}}
	if k.features != nil {
		n.Features = model.Known(k.features)
	}
	if k.physical > 0 {
		n.Speed = model.Known(k.physical)
	}
	return &model.Facts{V: 1, Host: host, BootID: "same", Settings: set, NICs: []model.NIC{n}, CPUs: []int{map[string]int{"client1": 0, "server1": 1}[host]}}
}

func (k knobs) moved(at time.Duration) int64 {
	return 64<<20 + int64(k.rate/8*at.Seconds()/float64(k.streams))
}

// host is a sample without connections; end 0 is the sender.
func (k knobs) host(at time.Duration, end int) model.Sample {
	part := func(x float64) time.Duration { return time.Duration(x * float64(at)) }
	packets := k.moved(at) / 1448
	s := model.Sample{V: 1, At: at}
	s.Tasks = []model.Task{{PID: 7, TID: 7, Name: "worker", CPU: part(orInt(k.run[end], 0.2)), Wait: part(k.wait[end]), Core: end}}
	for core := range 2 {
		busy := orInt(k.busy[core], 0.3)
		kernel := busy * orInt(k.kernel[core], 0.8)
		s.CPUs = append(s.CPUs, model.CPUTime{CPU: core, User: part(busy - kernel), System: part(kernel / 2), SoftIRQ: part(kernel / 2), Idle: part(1 - busy)})
	}
	s.NICs = []model.NICCount{{Name: "eth0", TxBytes: packets * 1514, TxPackets: packets, RxBytes: packets * 1514, RxPackets: packets}}
	return s
}

func (k knobs) sender(at time.Duration, local, remote netip.AddrPort) model.Conn {
	segs := k.moved(at) / 1448
	c := model.Conn{Local: local, Remote: remote, CC: k.cc, InfoLen: 248, State: tcpEstablished, Options: 7,
		SndMSS: 1448, AdvMSS: 1448, PMTU: 1500, RTT: k.rtt, MinRTT: k.minRTT, Cwnd: k.cwnd, Unacked: k.cwnd,
		BytesAcked: k.moved(at), BytesSent: k.moved(at), SegsOut: segs, NotSent: orInt(k.notsent, 1<<20), AppLimited: k.appLtd,
		MaxPacing: -1, PacingRate: -1, SndWnd: k.wnd, SndBuf: k.sndbufSz, Backoff: uint8(k.backoff)}
	if k.notsent < 0 {
		c.NotSent, c.Unacked = 0, k.cwnd/4
	}
	if k.full {
		c.Unacked, c.Cwnd = int(k.wnd/1448), 2*int(k.wnd/1448)
	}
	c.SendQ = orInt(k.sendQ, int64(c.Unacked)*1448+c.NotSent)
	c.TotalRetrans = max(k.backoff, int(k.retrans*float64(segs)))
	c.BytesRetrans = int64(k.retrans * float64(c.BytesSent))
	c.Busy, c.RwndLimited, c.SndbufLimited = at, time.Duration(k.rwnd*float64(at)), time.Duration(k.sndbuf*float64(at))
	return c
}

func (k knobs) receiver(at time.Duration, local, remote netip.AddrPort) model.Conn {
	return model.Conn{Local: local, Remote: remote, CC: k.cc, InfoLen: 248, State: tcpEstablished, Options: 7,
		SndMSS: 1448, RcvMSS: 1448, AdvMSS: 1448, PMTU: 1500, RcvRTT: k.rtt, MinRTT: k.minRTT, BytesReceived: k.moved(at),
		RcvWnd: k.wnd, RecvQ: k.recvQ, RcvBuf: k.rcvbuf, MaxPacing: -1}
}

// A path that carries its full rate at times is not too slow: what comes and goes
// holds it back. At the same mean, steady, it is.
func TestNoSlowLinkThatCarriesItAllAtTimes(t *testing.T) {
	steady := knobs{rate: 0.75e9, rtt: 18 * time.Millisecond}.build()
	if v := Judge(steady); v.Limiter != model.LinkRate {
		t.Fatalf("steady: %s", v.Line)
	}
	c := knobs{rate: 0.75e9, rtt: 18 * time.Millisecond}.build()
	moved := int64(64 << 20)
	for i := range c.Sender.Samples {
		if i > 0 {
			rate := 0.64e9
			if i%10 < 4 {
				rate = healthy
			}
			moved += int64(rate / 8 / 10)
		}
		c.Sender.Samples[i].Conns[0].BytesAcked = moved
		c.Receiver.Samples[i].Conns[0].BytesReceived = moved
	}
	if v := Judge(c); v.Limiter == model.LinkRate {
		t.Errorf("named the link: %s", v.Line)
	}
}
