package report

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{shareText(0.126), "13%"}, {shareText(0.0044), "0.4%"}, {shareText(0), "0%"}, {shareText(0.00002), "< 0.1%"}, {shareText(0.995), "100%"}, {shareText(math.NaN()), unknown},
		{factor(of(7.6)), "7.60×"}, {factor(nil), unknown}, {factor(of(math.Inf(1))), unknown},
		{probability(0.0078125), "0.0078"}, {probability(1e-9), "< 0.0001"}, {probability(math.NaN()), unknown},
		{sig(0), "0"}, {sig(1448), "1448"}, {sig(12.34), "12.3"}, {sig(0.00144), "0.00144"}, {sig(math.Inf(-1)), unknown},
		{duration(16200 * time.Microsecond), "16.2 ms"}, {duration(-5 * time.Second), "-5 s"}, {duration(125 * time.Second), "2m5s"}, {duration(0), "0 ns"},
		{rate(nil), unknown}, {rate(of(unit.BitRate(math.NaN()))), unknown}, {rate(of(118 * unit.Mbit)), "118 Mbit/s"},
		{limiterName(model.MTUBlackhole), "MTU blackhole"}, {limiterName(model.ReceiverCPU), "Receiver CPU"}, {limiterName(model.SACKOff), "SACK off"},
		{limiterName(model.PathLoss), "Path loss"}, {limiterName(""), unknown},
		{document.Capital("let it grow"), "Let it grow"}, {document.Capital("eth0 is slow"), "eth0 is slow"}, {document.Capital(""), ""},
		{cpuList([]int{3, 0, 1, 8}), "0-1, 3, 8 (4 CPUs)"}, {cpuList(nil), ""},
		{runID(`C:\Users\ada\linerate\runs\20261120-x\report.html`), "20261120-x"}, {runID(""), ""},
		{evidenceValue(model.Evidence{Value: 262144, Unit: "bytes"}), "256 KiB"}, {evidenceValue(model.Evidence{Value: math.NaN(), Unit: "ratio"}), unknown},
		{evidenceValue(model.Evidence{Value: math.Inf(1), Unit: "packets"}), unknown},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestSpreadLeavesOutWhatIsNoNumber(t *testing.T) {
	s := spreadOf([]unit.BitRate{30, unit.BitRate(math.NaN()), 10, 20, 40})
	if s != (spread{N: 4, Low: 10, Mid: 25, Top: 40}) {
		t.Errorf("%+v", s)
	}
}

// conns makes a sample of connections to one peer with the given counters.
func conns(at time.Duration, acked ...int64) model.Sample {
	s := model.Sample{At: at}
	for i, n := range acked {
		s.Conns = append(s.Conns, model.Conn{Local: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(1000+i)), BytesAcked: n})
	}
	return s
}

func TestDeltasCountOnlyWhatCanBeCompared(t *testing.T) {
	e := end{"h", []model.Sample{
		conns(0, 100), conns(time.Second, 600, 9_000_000), // a second connection appears with a history
		conns(2*time.Second, 50, 9_000_100),             // the first was replaced
		conns(2*time.Second, 60, 9_000_200),             // read twice at one moment
		conns(3 * time.Second), conns(4*time.Second, 7), // a gap
	}}
	var got []int64
	for _, s := range e.deltas(func(c model.Conn) int64 { return c.BytesAcked }) {
		got = append(got, s.by)
	}
	want := []int64{500, 100, 0, 0}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestSharesAddUpToTheWhole(t *testing.T) {
	_, samples, _ := windowRun()
	e := end{"client1", samples["diagnosis"]["client1"]}
	fig, ok := sharesFigure(e, 500*time.Millisecond)
	if !ok || fig.Legend[0].Value != "98%" || fig.Legend[3].Value != "0%" {
		t.Errorf("%v %+v", ok, fig.Legend)
	}
}

func TestAnOldKernelsMissingWindowIsNotZero(t *testing.T) {
	e := end{"h", nil}
	for i := range 3 {
		e.samples = append(e.samples, model.Sample{At: time.Duration(i) * time.Second, Conns: []model.Conn{{SndMSS: 1448, Unacked: 10, Cwnd: 20, InfoLen: 192}}})
	}
	fig, ok := windowFigure(e, 0)
	if !ok || len(fig.Legend) != 2 {
		t.Errorf("%v %+v", ok, fig.Legend)
	}
}

// What a run carried by its samples is the change of the counters in its bundle: of the receiver's, or
// of the sender's where nobody else was watched.
func TestCarriedIsTheBundlesOwn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	run := model.Run{Started: start, Workload: model.Workload{Sender: "a", Receiver: "b"}}
	samples := map[string][]model.Sample{"a": senderSamples(rng), "b": receiverSamples(rng)}
	check := func(name string, counter func(model.Conn) int64) {
		steps := CarriedBy(run, samples)
		all := samples[name]
		if len(steps) != len(all)-1 {
			t.Fatalf("%s: %d steps of %d samples", name, len(steps), len(all))
		}
		for i, s := range steps {
			if s.Bytes != counter(all[i+1].Conns[0])-counter(all[i].Conns[0]) || s.Span != 100*time.Millisecond || !s.At.Equal(start.Add(all[i].At)) {
				t.Errorf("%s: step %d is %+v", name, i, s)
			}
		}
	}
	check("b", func(c model.Conn) int64 { return c.BytesReceived })
	delete(samples, "b")
	check("a", func(c model.Conn) int64 { return c.BytesAcked })
}
