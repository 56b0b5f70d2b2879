package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// apart gives both ends kernels of their own, on a physical 10 Gbit/s link.
func apart(k knobs) Case {
	k.line, k.physical = -1, 10*unit.Gbit
	c := k.build()
	c.Receiver.Facts.BootID = "another"
	return c
}

// eachSample edits the samples of an end; at counts in seconds.
func eachSample(e *End, edit func(at float64, s *model.Sample)) {
	for i := range e.Samples {
		s := &e.Samples[i]
		nics := make([]model.NICCount, len(s.NICs))
		copy(nics, s.NICs)
		s.NICs = nics
		edit(s.At.Seconds(), s)
	}
}

func TestPauseFrames(t *testing.T) {
	slow := knobs{rate: 3e9, minRTT: time.Millisecond, rtt: 1100 * time.Microsecond}
	paused := func(rx, tx float64) func(at float64, s *model.Sample) {
		return func(at float64, s *model.Sample) {
			s.NICs[0].Pause = &model.PauseCount{Rx: 1000 + int64(rx*at), Tx: int64(tx * at)}
		}
	}
	for _, tt := range []struct {
		name     string
		k        knobs
		snd, rcv func(at float64, s *model.Sample)
		named    bool
		host     string
		says     string
	}{
		{"a switch stops the sender", slow, paused(2000, 0), nil, true, "", "eth0 of client1 is told to stop 2000 times a second"},
		{"the receiver stops the sender", slow, paused(2000, 0), paused(0, 2000), true, "server1", "eth0 of server1 tells the other side to stop 2000 times a second"},
		{"too few to explain what is missing", slow, paused(12, 0), nil, false, "", ""},
		{"counted before", slow, paused(0, 0), nil, false, "", ""},
		{"the receiver is told to stop", slow, nil, paused(2000, 0), false, "", ""},
		{"not told by the driver", slow, nil, nil, false, "", ""},
		{"at the ceiling all the same", knobs{rate: 9.3e9, minRTT: time.Millisecond, rtt: 1100 * time.Microsecond}, paused(2000, 0), nil, false, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := apart(tt.k)
			if tt.snd != nil {
				eachSample(c.Sender, tt.snd)
			}
			if tt.rcv != nil {
				eachSample(c.Receiver, tt.rcv)
			}
			v := Judge(c)
			checkVerdict(t, c, v)
			if (v.Limiter == model.FlowControl) != tt.named {
				t.Fatalf("%.2f %s", v.Confidence, v.Line)
			}
			if tt.named && (v.Host != tt.host || !strings.Contains(v.Line, tt.says) || v.Confidence > 0.8) {
				t.Errorf("at %q, %.2f: %s", v.Host, v.Confidence, v.Line)
			}
		})
	}
}

// Pause frames of a bond are those of its ports, and a tagged interface's those
// of the one below.
func TestPauseFramesOfPorts(t *testing.T) {
	facts := &model.Facts{NICs: []model.NIC{{Name: "bond0"}, {Name: "eth1", Master: "bond0"}, {Name: "eth2", Master: "bond0"}, {Name: "eth3"}}}
	var in []model.Sample
	for i := range 21 {
		s := model.Sample{At: time.Duration(i) * 100 * time.Millisecond, NICs: []model.NICCount{{Name: "bond0"}}}
		for _, name := range []string{"eth1", "eth2", "eth3"} {
			n := model.NICCount{Name: name}
			if i%10 == 0 {
				n.Pause = &model.PauseCount{Rx: int64(50 * i)}
			}
			s.NICs = append(s.NICs, n)
		}
		in = append(in, s)
	}
	for name, want := range map[string]float64{"bond0": 1000, "eth1": 500, "eth3.100": 500} {
		if got := viewPackets(in, &model.NIC{Name: name}, facts).pauseRx; got != want {
			t.Errorf("%s: %v frames a second, want %v", name, got, want)
		}
	}
}

func TestAllPacketsOnOneCore(t *testing.T) {
	// Core 1 takes the share of the packets and is as busy as told, of four.
	work := func(share, softirq, user, others float64) func(at float64, s *model.Sample) {
		return func(at float64, s *model.Sample) {
			s.CPUs, s.Softnet = nil, nil
			part := func(x float64) time.Duration { return time.Duration(x * at * float64(time.Second)) }
			for cpu := range 4 {
				busy, packets := others, (1-share)/3
				soft := 0.0
				if cpu == 1 {
					busy, soft, packets = user, softirq, share
				}
				s.CPUs = append(s.CPUs, model.CPUTime{CPU: cpu, User: part(busy), SoftIRQ: part(soft), Idle: part(1 - busy - soft)})
				s.Softnet = append(s.Softnet, model.Softnet{CPU: cpu, Processed: int64(8e5 * packets * at), Squeezed: int64(300 * packets * at)})
			}
		}
	}
	channels := func(n, most int) func(c *Case) {
		return func(c *Case) {
			c.Receiver.Facts.NICs[0].Channels = model.Known(model.Channels{Combined: n, CombinedMax: most})
		}
	}
	slow := knobs{rate: 3e9, minRTT: time.Millisecond, rtt: 1100 * time.Microsecond}
	for _, tt := range []struct {
		name  string
		k     knobs
		work  func(at float64, s *model.Sample)
		edit  func(c *Case)
		named bool
		says  string
	}{
		{"one queue of eight", slow, work(0.97, 0.9, 0.08, 0.05), channels(1, 8), true, "1 receive queues and could have 8 (ethtool -L eth0)"},
		{"eight queues, one core", slow, work(0.97, 0.9, 0.08, 0.05), channels(8, 8), true, "nconnect"},
		{"one queue and no more", slow, work(0.97, 0.9, 0.08, 0.05), channels(1, 1), true, "rps_cpus"},
		{"nothing is known of the queues", slow, work(0.97, 0.9, 0.08, 0.05), nil, true, "receive queue"},
		{"spread", slow, work(0.4, 0.9, 0.08, 0.05), nil, false, ""},
		{"a core with time left", slow, work(0.97, 0.5, 0.08, 0.05), nil, false, ""},
		{"full of a program's work", slow, work(0.97, 0.2, 0.78, 0.05), nil, false, ""},
		{"all cores full", slow, work(0.97, 0.9, 0.08, 0.9), nil, false, ""},
		{"at the ceiling all the same", knobs{rate: 9.3e9, minRTT: time.Millisecond, rtt: 1100 * time.Microsecond}, work(0.97, 0.9, 0.08, 0.05), nil, false, ""},
		{"counters that both ends share", slow, work(0.97, 0.9, 0.08, 0.05), func(c *Case) { c.Receiver.Facts.BootID = c.Sender.Facts.BootID }, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := apart(tt.k)
			eachSample(c.Receiver, tt.work)
			if tt.edit != nil {
				tt.edit(&c)
			}
			v := Judge(c)
			checkVerdict(t, c, v)
			named := v.Limiter == model.ReceiverCPU && strings.Contains(v.Line, "another core is 95% idle")
			if named != tt.named {
				t.Fatalf("%s %.2f %s", v.Limiter, v.Confidence, v.Line)
			}
			if tt.named && !strings.Contains(v.Fix.Advice, tt.says) {
				t.Errorf("advice %q, want %q", v.Fix.Advice, tt.says)
			}
		})
	}
}

// A full core that has some thousands of packets a second to pass is full of something else: no
// stack takes 70 µs for a packet.
func TestPacketsBoundWhatTheyCost(t *testing.T) {
	full := &hostView{busy: 0.91, kernel: 0.63}
	for rate, want := range map[float64]bool{92.4e6: false, 900e6: true} {
		s := look(knobs{rate: rate, rtt: 10 * time.Millisecond}.build()).scenes[0]
		if got := s.packetsCost(full); got != want {
			t.Errorf("at %.0f bit/s packets can fill the core: %v", rate, got)
		}
	}
}

// A core that other programs fill, with much of their time in the kernel, is not filled by packets that
// pass one by one, however many offloads are off.
func TestACoreThatOthersFillIsNotFilledByPackets(t *testing.T) {
	k := faults()["offload"]
	k.run = [2]float64{0.1, 0.1}
	c := k.build()
	if v := Judge(c); v.Limiter != model.PacketCost || v.Confidence < 0.8 {
		t.Errorf("half of the core's time in softirq: %.2f %s", v.Confidence, v.Line)
	}
	for _, e := range []*End{c.Sender, c.Receiver} {
		for i := range e.Samples {
			for n, x := range e.Samples[i].CPUs {
				e.Samples[i].CPUs[n].System, e.Samples[i].CPUs[n].SoftIRQ = x.System+x.SoftIRQ*4/5, x.SoftIRQ/5
			}
		}
	}
	if v := Judge(c); v.Limiter == model.PacketCost && v.Confidence > tossUpCap {
		t.Errorf("a tenth of it: %.2f %s", v.Confidence, v.Line)
	}
	for i := range c.Sender.Samples { // who runs is not seen
		c.Sender.Samples[i].Tasks = nil
	}
	if v := Judge(c); v.Limiter != model.PacketCost || v.Confidence < 0.8 {
		t.Errorf("whose time it is unknown: %.2f %s", v.Confidence, v.Line)
	}
}
