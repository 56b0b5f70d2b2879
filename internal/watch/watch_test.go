package watch

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/docstest"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// sampleAt is a sample that was taken d after its agent began, at noon.
func sampleAt(d time.Duration) model.Sample { return model.Sample{V: 1, At: d, HostAt: noon.Add(d)} }

// fill adds a sample each 100 ms over a time, each of which travels that long.
func fill(w *Window, from, to, travels time.Duration) {
	for d := from; d <= to; d += 100 * time.Millisecond {
		w.Add(sampleAt(d), d+travels)
	}
}

func TestWindowKeepsItsSpan(t *testing.T) {
	w := Window{Span: 2 * time.Second}
	fill(&w, 0, 10*time.Second, 5*time.Millisecond)
	s := w.Samples()
	if got := w.Covers(); got != 2*time.Second || len(s) != 21 {
		t.Errorf("%d samples cover %s", len(s), got)
	}
	if last, ok := w.Last(); !ok || last != 10*time.Second+5*time.Millisecond {
		t.Errorf("last came in at %s", last)
	}
	s[0].At = -1
	if w.Samples()[0].At == -1 {
		t.Error("the list that came out is the window's own")
	}
	w.Clear()
	if _, ok := w.Last(); ok || w.Covers() != 0 {
		t.Error("cleared, and still holds something")
	}
}

// A clock that is set moves nothing: the time between two samples is that of the agent's other clock.
func TestWindowOutlivesAClockThatIsSet(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, -3 * time.Second, 3 * time.Second, time.Hour} {
		w := Window{Span: 4 * time.Second}
		fill(&w, 0, 2*time.Second, 0)
		for d := 2100 * time.Millisecond; d <= 4*time.Second; d += 100 * time.Millisecond {
			x := sampleAt(d)
			x.HostAt = x.HostAt.Add(step)
			w.Add(x, d)
		}
		s := w.Samples()
		if got := w.Covers(); got != 4*time.Second || len(s) != 41 {
			t.Errorf("set by %s: %d samples cover %s", step, len(s), got)
		}
		for i := 1; i < len(s); i++ {
			if s[i].At <= s[i-1].At {
				t.Fatalf("set by %s: sample %d lies at %s, the one before at %s", step, i, s[i].At, s[i-1].At)
			}
		}
		if w.Jumps.Round(100*time.Millisecond) != step {
			t.Errorf("set by %s: told %s", step, w.Jumps)
		}
	}
}

// Where one sampling takes the place of another, a sample of the second may have read the counters before
// the last of the first did, although it came later: it is left out, or data would seem to go backwards.
func TestWindowLeavesOutWhatWasReadBefore(t *testing.T) {
	w := Window{Span: 4 * time.Second}
	fill(&w, 0, 2*time.Second, 0)
	for wall, want := range map[time.Duration]bool{-3 * time.Millisecond: false, 0: false, 5 * time.Millisecond: false, 40 * time.Millisecond: true} {
		v := w
		v.samples, v.own = slices.Clone(w.samples), slices.Clone(w.own)
		x := sampleAt(2*time.Second + 8*time.Millisecond)
		x.HostAt = noon.Add(2*time.Second + wall)
		if got := v.Add(x, x.At); got != want {
			t.Errorf("read %s after the newest: taken %v, want %v", wall, got, want)
		}
	}
}

// What was long on its way lies where it was taken, also while more of it comes, and is not new.
func TestWindowPlacesLateSamplesAtTheirOwnTime(t *testing.T) {
	const stall, travels = 20 * time.Second, 5 * time.Millisecond
	w := Window{Span: 10 * time.Second}
	fill(&w, 0, 30*time.Second, travels)
	for d := 30100 * time.Millisecond; d <= 50*time.Second; d += 100 * time.Millisecond {
		w.Add(sampleAt(d), 30*time.Second+stall) // all at once
		if last, _ := w.Last(); (last - d - travels).Abs() > 10*time.Millisecond {
			t.Fatalf("a sample of %s lies at %s", d, last)
		}
	}
	if got := w.Covers(); got != w.Span || w.Jumps != 0 {
		t.Errorf("%s are covered; a clock was set by %s", got, w.Jumps)
	}
	w.Add(sampleAt(45*time.Second), 51*time.Second)
	if last, _ := w.Last(); (last - 50*time.Second).Abs() > 10*time.Millisecond {
		t.Errorf("what was seen before is the newest, at %s", last)
	}
}

// Samples that were lost are a gap: nothing is counted across it.
func TestWindowCountsNothingAcrossAGap(t *testing.T) {
	w := Window{Span: 10 * time.Second}
	fill(&w, 0, 30*time.Second, 0)
	w.Add(sampleAt(10*time.Minute), 10*time.Minute)
	if got, n := w.Covers(), w.Len(); got != 0 || n != 1 {
		t.Errorf("%s are covered by %d samples", got, n)
	}
	w.Add(sampleAt(10*time.Minute+time.Second), 10*time.Minute+time.Second)
	if got := w.Covers(); got != time.Second {
		t.Errorf("%s are covered", got)
	}
}

// Two hosts whose clocks differ and drift lie on one time within what the quickest sample takes.
func TestWindowsOfTwoHostsLieOnOneClock(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := Window{Span: 5 * time.Second}, Window{Span: 5 * time.Second}
	for i := range 36000 { // an hour, in which the second clock loses 360 ms
		at := time.Duration(i) * 100 * time.Millisecond
		a.Add(sampleAt(at), at+time.Duration(1+rng.IntN(60))*time.Millisecond)
		b.Add(sampleAt(17*time.Minute+at-at/10000), at+time.Duration(1+rng.IntN(60))*time.Millisecond)
	}
	x, y := a.Samples(), b.Samples()
	if d := x[len(x)-1].At - y[len(y)-1].At; d < -10*time.Millisecond || d > 10*time.Millisecond {
		t.Errorf("the newest samples were taken at once, and lie %s apart", d)
	}
}

func TestSteadyHoldsOutAgainstWhatFlips(t *testing.T) {
	loss, rate, idle := Named{State: Moving, Limiter: model.PathLoss}, Named{State: Moving, Limiter: model.LinkRate}, Named{State: Idle}
	starting, lost := Named{State: Starting}, Named{State: Lost}
	for _, c := range []struct {
		name  string
		found []Named
		want  []Named
	}{
		{"the first verdict is shown at once", []Named{starting, loss}, []Named{starting, loss}},
		{"another needs three in a row", []Named{loss, rate, rate, rate}, []Named{loss, loss, loss, rate}},
		{"one that flips never comes through", []Named{loss, rate, loss, rate, rate, loss, rate}, []Named{loss, loss, loss, loss, loss, loss, loss}},
		{"a third begins to count anew", []Named{loss, rate, rate, idle, rate, rate, rate}, []Named{loss, loss, loss, loss, loss, loss, rate}},
		{"what is no judgement is shown at once", []Named{loss, lost, loss}, []Named{loss, lost, loss}},
	} {
		s := Steady{Hold: 3}
		for i, f := range c.found {
			before := s.shown
			shown, changed := s.Next(f)
			if shown != c.want[i] || changed != (before != shown) {
				t.Errorf("%s: step %d shows %v (changed: %v), want %v", c.name, i, shown, changed, c.want[i])
			}
		}
	}
}

// Whatever is found, a judgement is shown for at least as long as it takes to replace it.
func TestSteadyNeverFlipsFasterThanItHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	all := []Named{{State: Idle}, {State: CannotTell}, {State: Moving, Limiter: model.PathLoss}, {State: Moving, Limiter: model.None}}
	for range 200 {
		s, last := Steady{Hold: 3}, -100
		for i := range 300 {
			if _, changed := s.Next(all[rng.IntN(len(all))]); changed {
				if last > 0 && i-last < 3 {
					t.Fatalf("shown at step %d and again another at step %d", last, i)
				}
				last = i
			}
		}
	}
}

func TestNameStandsByNoVerdictThatDoesNotStandByItself(t *testing.T) {
	for _, c := range []struct {
		v    model.Verdict
		want State
	}{
		{model.Verdict{Limiter: model.PathLoss, Confidence: 0.9}, Moving},
		{model.Verdict{Limiter: model.PathLoss, Confidence: 0.49}, CannotTell},
		{model.Verdict{Limiter: model.Undetermined, Confidence: 0.9}, CannotTell},
		{model.Verdict{Limiter: model.None, Confidence: 0.9}, Moving},
	} {
		if got := Name(c.v); got.State != c.want || (got.Limiter != "") != (c.want == Moving) {
			t.Errorf("%v at %.2f: %+v", c.v.Limiter, c.v.Confidence, got)
		}
	}
}

func TestConnsAreWhatCountersSay(t *testing.T) {
	local, remote := netip.MustParseAddrPort("192.0.2.1:700"), netip.MustParseAddrPort("192.0.2.2:2049")
	conn := func(acked int64, busy, window, buffer time.Duration) model.Conn {
		return model.Conn{Local: local, Remote: remote, Inode: 1, BytesAcked: acked, BytesSent: acked, BytesRetrans: acked / 100, Busy: busy, RwndLimited: window, SndbufLimited: buffer, RTT: time.Millisecond}
	}
	other := model.Conn{Local: local, Remote: netip.MustParseAddrPort("192.0.2.9:22"), BytesReceived: 0}
	reset := model.NICCount{Name: "eth1", TxBytes: 5}
	samples := []model.Sample{
		{At: 0, Conns: []model.Conn{conn(0, 0, 0, 0), other}, NICs: []model.NICCount{{Name: "eth0"}, {Name: "eth1", TxBytes: 1 << 40}}, Qdiscs: []model.QdiscCount{{Dev: "eth0", Drops: 10}}},
		{At: 2 * time.Second, Conns: []model.Conn{conn(2_000_000, time.Second, 500*time.Millisecond, 250*time.Millisecond), other},
			NICs: []model.NICCount{{Name: "eth0", TxBytes: 2_100_000, RxDropped: 4, RxErrors: 8, RxCRC: 6, TxErrors: 2}, reset}, Qdiscs: []model.QdiscCount{{Dev: "eth1", Drops: 7}, {Dev: "eth0", Drops: 16, Backlog: 3000}}},
	}
	got := Conns("h", samples, remote.Addr())
	if len(got) != 1 {
		t.Fatalf("%d connections to there", len(got))
	}
	c := got[0]
	if c.Out != 8e6 || *c.Busy != 0.5 || *c.Window != 0.25 || *c.Buffer != 0.125 || *c.ByPath != 0.125 || *c.ByApp != 0.5 || c.Resent != 0.01 {
		t.Errorf("%+v", c)
	}
	h := Look("h", nil, samples)
	if len(h.NICs) != 2 || h.NICs[0].Out != 8.4e6 || h.NICs[0].Drops != 2 || h.NICs[0].Pauses != nil {
		t.Errorf("%+v", h.NICs)
	}
	if h.NICs[0].Errors != 5 { // frames with a wrong checksum are among those with an error
		t.Errorf("%g damaged frames a second, want 5", h.NICs[0].Errors)
	}
	if *h.NICs[0].QdiscDrops != 3 || *h.NICs[0].Backlog != 3000 || h.NICs[1].QdiscDrops != nil || h.NICs[1].Backlog != nil {
		t.Errorf("queueing disciplines: %+v", h.NICs)
	}
	if h.NICs[1].Out != 0 {
		t.Errorf("a counter that was reset carries %v", h.NICs[1].Out)
	}
	if all := Conns("h", samples, netip.Addr{}); len(all) != 2 || all[0].Remote != remote {
		t.Errorf("%+v", all)
	}
	if alone := Look("h", nil, samples[:1]); len(alone.NICs) != 0 || alone.Cores == nil {
		t.Errorf("of one sample: %+v", alone)
	}
}

// A connection that another took the place of, with the same ends, is counted from its own first
// sample: its counters began anew.
func TestConnsOfReusedPorts(t *testing.T) {
	local, remote := netip.MustParseAddrPort("192.0.2.1:700"), netip.MustParseAddrPort("192.0.2.2:2049")
	at := func(inode uint32, acked int64) []model.Conn {
		return []model.Conn{{Local: local, Remote: remote, Inode: inode, BytesAcked: acked}}
	}
	got := Conns("h", []model.Sample{{At: 0, Conns: at(1, 9e9)}, {At: time.Second, Conns: at(2, 0)}, {At: 2 * time.Second, Conns: at(2, 1e6)}}, netip.Addr{})
	if len(got) != 1 || got[0].Out != 8e6 {
		t.Errorf("%+v", got)
	}
}

func TestRequestsHaveTheirMeans(t *testing.T) {
	nfs := func(ops int64, rtt, queue time.Duration) *model.NFSCount {
		return &model.NFSCount{Ops: map[string]model.NFSOp{"READ": {Ops: ops, RTT: rtt, Queue: queue}, "GETATTR": {Ops: 7}}}
	}
	h := Look("h", nil, []model.Sample{{NFS: nfs(10, 0, 0)}, {At: 2 * time.Second, NFS: nfs(20, 40*time.Millisecond, 10*time.Millisecond)}})
	if want := []Op{{"READ", 5, 4 * time.Millisecond, time.Millisecond}}; !slices.Equal(h.Ops, want) {
		t.Errorf("%+v", h.Ops)
	}
}

func TestPathTellsWhatChangedAndSinceWhen(t *testing.T) {
	p := Path{Name: "x", Steady: Steady{Hold: 2}}
	v := model.Verdict{Limiter: model.PathLoss, Confidence: 0.9, Line: "lost", Evidence: []model.Evidence{{What: "seen"}}}
	moving := Judgement{Named: Name(v), Verdict: v}
	first := p.Step(noon, time.Second, Judgement{Named: Named{State: Starting}, Why: "just begun"}, nil)
	if len(first.Events) != 1 || first.Events[0].Line != "just begun" || first.Conns == nil {
		t.Errorf("%+v", first)
	}
	second := p.Step(noon.Add(time.Second), time.Second, moving, nil)
	if len(second.Events) != 1 || second.Events[0].Line != "lost" || second.Events[0].From.State != Starting || len(second.Events[0].Evidence) != 1 || !second.Since.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v", second)
	}
	third := p.Step(noon.Add(2*time.Second), time.Second, Judgement{Named: Named{State: Idle}}, nil)
	if len(third.Events) != 0 || third.Shown.State != Moving || third.Found == nil || third.Found.State != Idle || third.FoundTimes != 1 || !third.Since.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v", third)
	}
	if fourth := p.Step(noon.Add(3*time.Second), time.Second, Judgement{Named: Named{State: Idle}}, nil); fourth.Shown.State != Idle || fourth.Found != nil || len(fourth.Events) != 1 {
		t.Errorf("%+v", fourth)
	}
	p.Leave()
	back := p.Step(noon.Add(time.Hour), time.Second, Judgement{Named: Named{State: Idle}}, nil)
	if !back.Since.Equal(noon.Add(time.Hour)) || len(back.Events) != 1 || back.Events[0].From.State != "" {
		t.Errorf("after it was not there: %+v", back)
	}
}

func TestEveryFieldIsDocumented(t *testing.T) {
	page := docstest.Section(t, "watch")
	docstest.Fields(t, page, "linerate/internal/watch", 30, Picture{})
	for _, s := range []State{Starting, Moving, CannotTell, Idle, Unused, Stale, Lost} {
		if !strings.Contains(page, "`"+string(s)+"`") {
			t.Errorf("docs/json.md does not have the state %q", s)
		}
	}
}

// Drivers are asked for pause frames once a second, at any sample of ten: what counts is from the first
// to the last that have them, and the newest sample keeps the last that were told.
func TestPauseFramesOfSomeSamples(t *testing.T) {
	for _, c := range []struct {
		from, every int
		want        float64 // a second; negative: not known
		newest      int64
	}{{0, 1, 60, 300}, {3, 10, 60, 258}, {9, 10, 60, 294}, {3, 100, -1, 18}, {0, 0, -1, -1}} {
		var samples []model.Sample
		for i := range 51 {
			s := sampleAt(time.Duration(i) * 100 * time.Millisecond)
			s.NICs = []model.NICCount{{Name: "lo"}, {Name: "eth0"}}
			if c.every > 0 && i%c.every == c.from%c.every && i >= c.from {
				s.NICs[1].Pause = &model.PauseCount{Rx: int64(2 * i), Tx: int64(4 * i)}
			}
			samples = append(samples, s)
		}
		got := Look("a", nil, samples).NICs
		if got[0].Pauses != nil || (got[1].Pauses == nil) != (c.want < 0) || c.want >= 0 && *got[1].Pauses != c.want {
			t.Errorf("every %dth from %d: %+v", c.every, c.from, got[1].Pauses)
		}
		newest := Newest(nil, samples)
		if p := newest.NICs[1].Pause; newest.At != 5*time.Second || newest.NICs[0].Pause != nil || (p == nil) != (c.newest < 0) || p != nil && p.Rx+p.Tx != c.newest {
			t.Errorf("every %dth from %d: the newest has %+v", c.every, c.from, p)
		}
		if last := samples[len(samples)-1].NICs[1].Pause; (c.every == 1) != (last != nil) {
			t.Errorf("the samples themselves were changed: %+v", last)
		}
	}
	if Newest(nil, nil) != nil {
		t.Error("the newest of none")
	}
}

// Cores that are told in turns have their shares between what was told of them twice, however long ago
// within what is remembered, each over its own time; what is not known twice is left out.
func TestCoresThatAreToldInTurns(t *testing.T) {
	const n = 40
	at := func(i int) model.Sample {
		s := sampleAt(time.Duration(i) * time.Second)
		s.Partial = true
		for c := range n {
			if c/4 != i%10 { // four of forty at once, so that each is told every ten seconds
				continue
			}
			busy := time.Duration(i*c) * 20 * time.Millisecond // core c is busy for c/50 of the time
			s.CPUs = append(s.CPUs, model.CPUTime{CPU: c, User: busy, Idle: time.Duration(i)*time.Second - busy})
			s.Softnet = append(s.Softnet, model.Softnet{CPU: c, Processed: int64(1000 * i)})
			s.Queues = append(s.Queues, model.QueueCount{Dev: "eth0", Queue: c, Bytes: int64(i)})
		}
		return s
	}
	w := Window{Span: 10 * time.Second}
	for i := range 60 {
		w.Add(at(i), time.Duration(i)*time.Second)
		h := Look("a", w.Older(), w.Samples())
		if want := min(4*max(0, i-9), n); len(h.Cores) != want {
			t.Errorf("second %d: %d cores, want %d", i, len(h.Cores), want)
		}
		for _, c := range h.Cores {
			if got := float64(c.CPU) / 50; math.Abs(c.Busy()-got) > 1e-9 {
				t.Errorf("second %d: core %d is busy %g of the time, want %g", i, c.CPU, c.Busy(), got)
			}
		}
	}
	last := Newest(w.Older(), w.Samples())
	if len(last.CPUs) != n || len(last.Softnet) != n || len(last.Queues) != n || last.Softnet[3].Processed != 50000 || last.CPUs[39].CPU != 39 || last.CPUs[39].Idle+last.CPUs[39].User != 59*time.Second {
		t.Errorf("%d cores, %+v", len(last.CPUs), last.CPUs)
	}
	judged := Whole(w.Samples())
	if len(judged[0].CPUs) != n || judged[0].Softnet[36].Processed != 49000 || len(judged[len(judged)-1].CPUs) != n || len(w.Samples()[0].CPUs) != 4 {
		t.Errorf("%+v", judged[0].Softnet)
	}
	all := []model.Sample{sampleAt(0), sampleAt(time.Second)}
	if got := Whole(all); &got[0] != &all[0] {
		t.Error("whole samples were copied")
	}
	w.Add(model.Sample{At: time.Hour, HostAt: noon.Add(time.Hour)}, time.Hour)
	if len(w.Older()) > 0 {
		t.Error("what was before a gap is remembered")
	}
}

// A host that said that it takes its next sample later has lost none between the two.
func TestWindowCountsAcrossWhatAHostLeavesOut(t *testing.T) {
	for _, c := range []struct {
		next time.Duration
		want time.Duration // that the window covers
	}{{0, 0}, {time.Second, 12 * time.Second}, {12 * time.Second, 12 * time.Second}} {
		w := Window{Span: 11 * time.Second}
		if c.next == 0 {
			w.Span = 10 * time.Second
		}
		for _, at := range []time.Duration{0, 12 * time.Second} {
			w.Add(model.Sample{At: at, HostAt: time.Unix(1000, 0).Add(at), Next: c.next}, at)
		}
		if got := w.Covers(); got != c.want || w.Next() != c.next {
			t.Errorf("after a sample whose next comes after %s one after 12 s: it covers %s, want %s", c.next, got, c.want)
		}
	}
}

// What a host moved while it was read seldom is not what it moved in the instant of its reading: no turn of
// the path is seen where it goes on as before, whenever it is read.
func TestNoTurnWhereAHostIsReadSeldom(t *testing.T) {
	var samples []model.Sample
	at := time.Duration(0)
	for _, step := range slices.Concat(slices.Repeat([]time.Duration{100 * time.Millisecond}, 60), []time.Duration{4 * time.Second, 4 * time.Second, time.Second, time.Second, 3 * time.Second}) {
		at += step
		c := model.Conn{Local: netip.MustParseAddrPort("10.0.0.1:700"), Remote: netip.MustParseAddrPort("10.0.0.2:2049"), BytesAcked: int64(at / 40)}
		samples = append(samples, model.Sample{At: at, Conns: []model.Conn{c}})
		if turn, ok := Turn(samples, func(netip.Addr) bool { return true }); ok {
			t.Errorf("with samples up to %v a turn at %v", at, turn)
		}
	}
}

// Where linerate cannot tell, what it guesses is said to be a guess.
func TestAGuessIsNoVerdict(t *testing.T) {
	sure, guess := model.Verdict{Limiter: model.ServerTime, Confidence: 0.7, Line: "x"}, model.Verdict{Limiter: model.ServerTime, Confidence: 0.42, Line: "x"}
	for _, c := range []struct {
		v    model.Verdict
		want string
	}{{sure, "x"}, {guess, "Not certain (confidence 42%): x"}, {model.Verdict{Limiter: model.Undetermined, Line: "x"}, "x"}} {
		p := Path{Name: "a – b", Steady: Steady{Hold: 3}}
		got := p.Step(time.Time{}, 0, Judgement{Named: Name(c.v), Verdict: c.v}, nil)
		if got.Events[0].Line != c.want || got.Guessed() != (c.want != "x") {
			t.Errorf("%+v: %q, guessed %v", c.v, got.Events[0].Line, got.Guessed())
		}
	}
}
