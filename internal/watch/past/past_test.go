package past

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func picture(at time.Time, n watch.Named, goodput unit.BitRate) watch.Picture {
	ceiling, pauses := 1000*unit.Mbit, 2.0
	busy := 1.0
	return watch.Picture{At: at, Path: "a – b", Shown: n, Goodput: goodput, Ceiling: &ceiling,
		Conns: []watch.Conn{{Out: goodput, RTT: 10 * time.Millisecond, Resent: 0.01, Busy: &busy}},
		Hosts: []watch.Host{{Name: "a", Cores: []watch.Core{{CPU: 3, User: 0.25, SoftIRQ: 0.5}}, NICs: []watch.NIC{{Name: "eth0", Out: goodput, Pauses: &pauses}},
			Ops: []watch.Op{{Name: "READ", Rate: 10, Mean: 4 * time.Millisecond}}}}}
}

var loss = watch.Named{State: watch.Moving, Limiter: model.PathLoss}

func fill(g *Gather, from time.Time, long, step time.Duration, n watch.Named, goodput unit.BitRate) (out []Record) {
	for d := time.Duration(0); d <= long; d += step {
		out = append(out, g.Add([]watch.Picture{picture(from.Add(d), n, goodput)})...)
	}
	return out
}

func TestRecordsHoldWhatWasShown(t *testing.T) {
	g := Gather{Span: 10 * time.Second}
	got := fill(&g, noon, 15*time.Second, time.Second, loss, 800*unit.Mbit)
	got = append(got, g.Close()...)
	if len(got) != 2 || !got[0].At.Equal(noon) || !got[1].At.Equal(noon.Add(10*time.Second)) {
		t.Fatalf("%+v", got)
	}
	p, h := got[0].Paths[0], got[0].Hosts[0]
	if want := []Part{{Named: loss, For: 10 * time.Second, Bytes: 1e9}}; !reflect.DeepEqual(p.Parts, want) {
		t.Errorf("%+v", p.Parts)
	}
	if *p.Goodput() != 800*unit.Mbit || *p.MeanCeiling() != 1000*unit.Mbit || p.Sent != 1e9 || p.Resent != 1e7 || p.Least != p.Most {
		t.Errorf("%+v", p)
	}
	if rtt, ok := p.RTT.Quantile(0.99); !ok || math.Abs(rtt.Seconds()-0.01) > 0.0001 {
		t.Errorf("RTT %v", rtt)
	}
	if h.Seen != 10*time.Second || h.Cores[0] != (Core{3, 2500, 0, 5000, 0}) || h.NICs[0].Out != 1e9 || *h.NICs[0].Pauses != 20 || h.Ops[0].Count != 100 || h.Ops[0].Time != 400*time.Millisecond {
		t.Errorf("%+v", h)
	}
	if got[1].Paths[0].Seen() != 5*time.Second {
		t.Errorf("the rest: %+v", got[1].Paths)
	}
}

// Time in which nothing was shown is in no record, nor is it filled by what came before or after.
func TestGapsStayGaps(t *testing.T) {
	g := Gather{Span: 10 * time.Second}
	got := fill(&g, noon, 4*time.Second, time.Second, loss, unit.Gbit)
	got = append(got, fill(&g, noon.Add(26*time.Second), 2*time.Second, time.Second, loss, unit.Gbit)...)
	got = append(got, g.Close()...)
	if len(got) != 2 || got[0].Paths[0].Seen() != 4*time.Second || got[1].Paths[0].Seen() != 2*time.Second || !got[1].At.Equal(noon.Add(20*time.Second)) {
		t.Errorf("%+v", got)
	}
	// A clock that goes back opens a slot again.
	got = append(fill(&g, noon, 2*time.Second, time.Second, loss, unit.Gbit), g.Close()...)
	if len(got) != 1 || !got[0].At.Equal(noon) || got[0].Paths[0].Seen() != 2*time.Second {
		t.Errorf("%+v", got)
	}
}

// Records of paths alone are those of all, without their hosts.
func TestRecordsOfPathsOnly(t *testing.T) {
	all, paths := Gather{Span: 10 * time.Second}, Gather{Span: 10 * time.Second, PathsOnly: true}
	fill(&all, noon, 9*time.Second, time.Second, loss, unit.Gbit)
	fill(&paths, noon, 9*time.Second, time.Second, loss, unit.Gbit)
	want, got := all.Close()[0], paths.Close()[0]
	if want.Hosts == nil || got.Hosts != nil {
		t.Errorf("hosts: %+v, of paths alone %+v", want.Hosts, got.Hosts)
	}
	if want.Hosts = nil; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What is lost carried nothing that is known, and lowers no mean.
func TestLostTimeIsInNoMean(t *testing.T) {
	g := Gather{Span: time.Minute}
	fill(&g, noon, 10*time.Second, time.Second, loss, unit.Gbit)
	for i := range 10 {
		p := picture(noon.Add(time.Duration(11+i)*time.Second), watch.Named{State: watch.Lost}, 0)
		p.Hosts[0].Stale = true
		g.Add([]watch.Picture{p})
	}
	r := g.Close()[0]
	if p := r.Paths[0]; *p.Goodput() != unit.Gbit || p.Seen() != 20*time.Second || p.Least != unit.Gbit || r.Hosts[0].Seen != 10*time.Second {
		t.Errorf("%+v", r)
	}
	g.Add([]watch.Picture{picture(noon, watch.Named{State: watch.Lost}, 0)})
	g.Add([]watch.Picture{picture(noon.Add(time.Second), watch.Named{State: watch.Lost}, 0)})
	if p := g.Close()[0].Paths[0]; p.Goodput() != nil || p.Least != 0 {
		t.Errorf("lost all the time: %+v", p)
	}
}

// Records of ten seconds add up to what one of the whole time would have been, whatever comes.
func TestMergeLosesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	fine, coarse := Gather{Span: 10 * time.Second}, Gather{Span: 5 * time.Minute}
	states := []watch.Named{loss, {State: watch.Idle}, {State: watch.Lost}, {State: watch.Moving, Limiter: model.None}}
	var parts []Record
	at := noon
	for range 290 {
		all := []watch.Picture{picture(at, states[rng.IntN(len(states))], unit.BitRate(rng.IntN(1000))*unit.Mbit)}
		all[0].Hosts[0].Marks = []watch.Mark{{At: at, What: "x"}}
		all[0].Events = []watch.Event{{At: at}}
		parts = append(parts, fine.Add(all)...)
		coarse.Add(all)
		at = at.Add(time.Second)
	}
	parts = append(parts, fine.Close()...)
	want, got := coarse.Close()[0], Merge(noon, 5*time.Minute, parts...)
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if string(a) != string(b) {
		t.Errorf("want %s\n got %s", a, b)
	}
}

// Percentiles of what was merged are those of all, within the 1% of a class.
func TestHistogramsMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var whole, a, b Histogram
	for i := range 10000 {
		d := time.Duration(math.Exp(rng.Float64()*12) * 1e3)
		whole.put(d)
		if i%7 == 0 {
			a.put(d)
		} else {
			b.put(d)
		}
	}
	a.merge(b)
	if !reflect.DeepEqual(a, whole) {
		t.Error("two histograms do not add up")
	}
	var one Histogram
	one.put(123456 * time.Microsecond)
	if q, ok := one.Quantile(0.5); !ok || math.Abs(float64(q)/123456e3-1) > 0.0101 {
		t.Errorf("%v", q)
	}
	if _, ok := Histogram(nil).Quantile(0.5); ok {
		t.Error("a quantile of nothing")
	}
}

// Late records take the place of stale time, whatever is added up in which order, and never of any other.
func TestLateRecordsTakeThePlaceOfStaleTime(t *testing.T) {
	stale := watch.Named{State: watch.Stale}
	record := func(at time.Time, late bool, parts ...Part) Record {
		return Record{At: at, Span: 10 * time.Second, Late: late, Paths: []Path{{Name: "a – b", Least: 1, Most: 2, Parts: parts}}}
	}
	first := record(noon, false, Part{loss, 4 * time.Second, 4e6}, Part{stale, 6 * time.Second, 0})
	second := record(noon.Add(10*time.Second), false, Part{stale, 3 * time.Second, 0}, Part{loss, 7 * time.Second, 7e6})
	lateFirst := record(noon, true, Part{loss, 6 * time.Second, 6e6})
	lateSecond := record(noon.Add(10*time.Second), true, Part{loss, 2 * time.Second, 2e6})
	want := []Part{{loss, 19 * time.Second, 19e6}, {stale, time.Second, 0}}
	for name, all := range map[string][]Record{
		"in order":       {first, lateFirst, second, lateSecond},
		"late first":     {lateSecond, lateFirst, second, first},
		"in two steps":   {Merge(noon, 20*time.Second, first, lateFirst), Merge(noon, 20*time.Second, second, lateSecond)},
		"late by itself": {Merge(noon, 20*time.Second, lateFirst, lateSecond), Merge(noon, 20*time.Second, first, second)},
	} {
		got := Merge(noon, 20*time.Second, all...)
		if got.Late || len(got.Paths) != 1 || !reflect.DeepEqual(got.Paths[0].Parts, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := Merge(noon, 10*time.Second, lateFirst); !got.Late {
		t.Error("late records alone are late no more")
	}
	if got := Merge(noon, 10*time.Second, record(noon, false, Part{loss, 10 * time.Second, 1e6}), lateFirst); got.Paths[0].Parts[0].For != 16*time.Second {
		t.Errorf("it took time that was not stale: %+v", got.Paths)
	}
}
