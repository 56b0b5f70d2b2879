package tcp

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// steady is a run of 4 s with a second of warm-up, in which a stream moves 10^9
// bytes a second but for the third second, when it rests.
func steady() model.Run {
	from, to := netip.MustParseAddrPort("10.0.0.1:4000"), netip.MustParseAddrPort("10.0.0.2:5000")
	r := model.Run{Goodput: 8e9 * 2 / 3, Bytes: 2e9, Window: 3 * time.Second,
		Workload: model.Workload{Sender: "a", Receiver: "b", Warmup: time.Second, Duration: 4 * time.Second}, Samples: map[string][]model.Sample{}}
	for at := time.Duration(0); at < 4*time.Second; at += 130 * time.Millisecond {
		moved := min(at, 2*time.Second) + max(0, at-3*time.Second)
		n := moved.Nanoseconds()
		r.Samples["a"] = append(r.Samples["a"], model.Sample{At: at,
			Conns: []model.Conn{{Local: from, Remote: to, CC: "cubic", BytesAcked: n, BytesReceived: 72, Busy: at, RwndLimited: at / 2, RTT: time.Millisecond, TotalRetrans: int(at / time.Second)}},
			Tasks: []model.Task{{PID: 7, TID: 7, CPU: 0}, {PID: 7, TID: 8, CPU: at / 4}},
			CPUs:  []model.CPUTime{{User: at / 4, SoftIRQ: at / 8, Idle: at / 2}, {CPU: 1, IRQ: at / 8}}})
		r.Samples["b"] = append(r.Samples["b"], model.Sample{At: at,
			Conns: []model.Conn{{Local: to, Remote: from, BytesReceived: n, BytesAcked: 72}},
			Tasks: []model.Task{{PID: 9, TID: 9, CPU: at}}})
	}
	return r
}

func known(p *float64, want float64) bool { return p != nil && near(*p, want) }

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-3*math.Abs(b) }

func TestSummarise(t *testing.T) {
	f := Summarise(steady())
	rate := 2e9 / 3 // bytes per second
	if !known(f.Sender.Threads, 0.25/rate*1e9) || !known(f.Sender.SoftIRQ, 0.25/rate*1e9) || !known(f.Sender.Busy, 0.5/rate*1e9) || !known(f.Sender.Busiest, 0.25) {
		t.Errorf("sender %+v", f.Sender)
	}
	if !known(f.Receiver.Threads, 1/rate*1e9) || f.Receiver.SoftIRQ != nil || f.Receiver.Busy != nil {
		t.Errorf("receiver %+v", f.Receiver)
	}
	// Between two samples the rest begins and ends: interpolation is off by that.
	want := []int64{1e9, 0, 1e9}
	if len(f.PerSecond) != 3 || !slices.EqualFunc(f.PerSecond, want, func(a, b int64) bool { return math.Abs(float64(a-b)) < 0.1e9 }) {
		t.Errorf("per second %v, want about %v", f.PerSecond, want)
	}
	if len(f.Streams) != 1 {
		t.Fatalf("%+v", f.Streams)
	}
	s := f.Streams[0]
	if s.CC != "cubic" || !near(s.Busy, 1) || !near(s.RwndLimited, 0.5) || s.SndbufLimited != 0 || s.Retrans != 2 || s.RTT != time.Millisecond {
		t.Errorf("%+v", s)
	}
	limited, evidence := f.GeneratorLimited()
	if !limited || !strings.Contains(strings.Join(evidence, "\n"), "the busiest thread that receives took 100% of a core of b") {
		t.Errorf("%v, %q", limited, evidence)
	}
}

// Inside one host both sockets of a connection are seen: the one that writes is
// the stream.
func TestLoopbackStreamsAreSeenOnce(t *testing.T) {
	r := steady()
	for i := range r.Samples["a"] {
		r.Samples["a"][i].Conns = append(r.Samples["a"][i].Conns, r.Samples["b"][i].Conns...)
	}
	if f := Summarise(r); len(f.Streams) != 1 || f.Streams[0].CC != "cubic" {
		t.Errorf("%+v", f.Streams)
	}
}

// What was not sampled is not known, and not zero.
func TestSummariseWithoutSamples(t *testing.T) {
	r := steady()
	r.Samples = nil
	f := Summarise(r)
	if f.Sender.Threads != nil || f.Receiver.SoftIRQ != nil || len(f.PerSecond) != 0 || f.PerSecond == nil || f.Streams == nil {
		t.Errorf("%+v", f)
	}
	if limited, evidence := f.GeneratorLimited(); limited || len(evidence) != 2 || !strings.Contains(evidence[0], "not known") {
		t.Errorf("%v, %q", limited, evidence)
	}
	// A run that moved nothing has no cost per byte.
	r = steady()
	r.Goodput = 0
	if f := Summarise(r); f.Sender.Threads != nil {
		t.Errorf("%+v", f.Sender)
	}
}

// Of a host that cannot be sampled the processes' own counts are shown, and what they do not
// show is not known.
func TestSummariseOfHostsThatAreNotSampled(t *testing.T) {
	cpu := 600 * time.Millisecond
	r := steady()
	r.Samples, r.Unsampled = nil, []string{"a", "b"}
	r.Counted = model.Counted{PerSecond: []int64{1e9, 0, 1e9}, SenderCPU: &cpu, SenderWindow: 3 * time.Second, ReceiverWindow: 3 * time.Second}
	f := Summarise(r)
	rate := 2e9 / 3
	if !known(f.Sender.Threads, 0.2/rate*1e9) || !known(f.Sender.Process, 0.2) || f.Sender.Busiest != nil || f.Sender.SoftIRQ != nil || f.Sender.Waited != nil {
		t.Errorf("sender %+v", f.Sender)
	}
	if f.Receiver.Threads != nil || f.Receiver.Process != nil || !slices.Equal(f.PerSecond, []int64{1e9, 0, 1e9}) || len(f.Streams) != 0 {
		t.Errorf("receiver %+v, per second %v, streams %v", f.Receiver, f.PerSecond, f.Streams)
	}
	limited, evidence := f.GeneratorLimited()
	if limited || len(evidence) != 2 || !strings.HasPrefix(evidence[0], "all threads that send took 20% of a core of a together; the busiest one") || !strings.Contains(evidence[1], "not known") {
		t.Errorf("%v, %q", limited, evidence)
	}
	cpu = 6 * time.Second // two cores: one thread may have had no time left
	if limited, _ := Summarise(r).GeneratorLimited(); !limited {
		t.Error("a process that took two cores has threads with time left, it is said")
	}
}

// A thread that waits for a core is not one that has time left.
func TestGeneratorOnABusyMachine(t *testing.T) {
	for _, tc := range []struct {
		name      string
		cpu, wait float64 // shares of the time
		limited   bool
		says      bool // that it waited
	}{
		{"quiet", 0.4, 0.01, false, false},
		{"in turn with others", 0.4, 0.57, true, true},
		{"kept out for a while", 0.2, 0.25, true, true},
		{"full", 0.97, 0, true, false},
		{"full with a little waiting", 0.85, 0.12, true, false},
	} {
		r := steady()
		for i := range r.Samples["b"] {
			s := &r.Samples["b"][i]
			s.Tasks[0].CPU, s.Tasks[0].Wait = time.Duration(tc.cpu*float64(s.At)), time.Duration(tc.wait*float64(s.At))
		}
		limited, evidence := Summarise(r).GeneratorLimited()
		said := strings.Contains(strings.Join(evidence, "\n"), "waited for a core of b")
		if limited != tc.limited || said != tc.says {
			t.Errorf("%s: limited %v, %q", tc.name, limited, evidence)
		}
	}
}
