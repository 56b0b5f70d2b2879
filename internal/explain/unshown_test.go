package explain

import (
	"fmt"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// asEstats is a connection as Windows would show it: what FromEstats does not list is zero, and the
// counters begin with the watch. Coarse is without the fine round trips: whole milliseconds.
func asEstats(c, base model.Conn, passed time.Duration, coarse bool) model.Conn {
	out := model.Conn{
		From: model.FromEstats, Local: c.Local, Remote: c.Remote, State: c.State, RTO: c.RTO, RTT: c.RTT, RTTVar: c.RTTVar, MinRTT: c.MinRTT,
		SndMSS: c.SndMSS, Unacked: c.Unacked, Cwnd: c.Cwnd, Ssthresh: c.Ssthresh, Backoff: c.Backoff, NotSent: c.NotSent,
		SendQ: c.SendQ, RecvQ: c.RecvQ, SndWnd: c.SndWnd, RcvWnd: c.RcvWnd,
		BytesAcked: c.BytesAcked - base.BytesAcked, BytesReceived: c.BytesReceived - base.BytesReceived, BytesSent: c.BytesSent - base.BytesSent,
		BytesRetrans: c.BytesRetrans - base.BytesRetrans, SegsOut: c.SegsOut - base.SegsOut, SegsIn: c.SegsIn - base.SegsIn,
		DataSegsOut: c.DataSegsOut - base.DataSegsOut, DataSegsIn: c.DataSegsIn - base.DataSegsIn, TotalRTO: c.TotalRTO - base.TotalRTO,
		TotalRetrans: c.TotalRetrans - base.TotalRetrans, DSACKDups: c.DSACKDups - base.DSACKDups,
		RwndLimited: (c.RwndLimited - base.RwndLimited).Truncate(time.Millisecond),
		Busy:        (c.Busy - c.SndbufLimited - base.Busy + base.SndbufLimited).Truncate(time.Millisecond),
	}
	out.SourceLimited = max(0, passed-out.Busy)
	if coarse {
		out.RTT, out.RTTVar, out.MinRTT = out.RTT.Truncate(time.Millisecond), out.RTTVar.Truncate(time.Millisecond), out.MinRTT.Truncate(time.Millisecond)
	}
	return out
}

// asNettop is a connection as macOS would show it.
func asNettop(c, base model.Conn, _ time.Duration, _ bool) model.Conn {
	return model.Conn{
		From: model.FromNettop, Local: c.Local, Remote: c.Remote, State: c.State, CC: c.CC, SndWnd: c.SndWnd, RTT: c.RTT.Truncate(10 * time.Microsecond),
		BytesReceived: c.BytesReceived, BytesSent: c.BytesSent, BytesAcked: c.BytesSent, BytesRetrans: c.BytesRetrans,
	}
}

// onWindows is one end of a case as it would be watched on Windows: no facts, no cores, no tasks.
func onWindows(e *End, coarse bool) *End { return elsewhere(e, coarse, asEstats) }

// elsewhere is one end whose connections are shown by as.
func elsewhere(e *End, coarse bool, as func(c, base model.Conn, passed time.Duration, coarse bool) model.Conn) *End {
	out := &End{Host: e.Host, Peer: e.Peer}
	base := map[trackKey]model.Conn{}
	began := map[trackKey]time.Duration{}
	for _, s := range e.Samples {
		n := model.Sample{V: s.V, At: s.At, HostAt: s.HostAt, Throttled: model.Unknown[time.Duration](model.Unsupported, "not Linux")}
		for _, c := range s.Conns {
			k := trackKey{c.Local, c.Remote, c.Inode}
			if b, ok := base[k]; !ok || c.BytesAcked < b.BytesAcked {
				base[k], began[k] = c, s.At
			}
			n.Conns = append(n.Conns, as(c, base[k], s.At-began[k], coarse))
		}
		out.Samples = append(out.Samples, n)
	}
	return out
}

// withAdapters is such an end of which linerate check read the adapters: their MTU and addresses.
func withAdapters(windows, linux *End) *End {
	f := &model.Facts{OS: "windows"}
	for _, n := range linux.Facts.NICs {
		f.NICs = append(f.NICs, model.NIC{Name: n.Name, MTU: n.MTU, Addrs: n.Addrs})
	}
	windows.Facts = f
	return windows
}

// No detector names something confidently by what Windows or macOS does not show: each recorded fault, seen
// from one end as they would show it, gives the right verdict, or one that is unsure of itself.
// A right one is among what it names in most cases, or the verdict would be of no use.
func TestWhatOtherSystemsDoNotShowIsNoEvidence(t *testing.T) {
	for _, view := range []struct {
		name   string
		coarse bool
		of     func(Case, bool) Case
		named  float64 // share of the recordings whose cause is named, first or among the alternatives
	}{
		{"sending", false, func(c Case, coarse bool) Case {
			return Case{Sender: onWindows(c.Sender, coarse), LineRate: c.LineRate, OneEnd: true}
		}, 0.6},
		{"sending, whole milliseconds", true, func(c Case, coarse bool) Case {
			return Case{Sender: onWindows(c.Sender, coarse), LineRate: c.LineRate, OneEnd: true}
		}, 0.5},
		{"sending, no line rate", false, func(c Case, coarse bool) Case {
			return Case{Sender: onWindows(c.Sender, coarse), OneEnd: true}
		}, 0.5},
		{"receiving", false, func(c Case, coarse bool) Case {
			return Case{Receiver: withAdapters(onWindows(c.Receiver, coarse), c.Receiver), LineRate: c.LineRate, OneEnd: true}
		}, 0.6},
		{"receiving, adapters unread", false, func(c Case, coarse bool) Case {
			return Case{Receiver: onWindows(c.Receiver, coarse), LineRate: c.LineRate, OneEnd: true}
		}, 0.4},
		{"sending from macOS", false, func(c Case, coarse bool) Case {
			return Case{Sender: elsewhere(c.Sender, coarse, asNettop), LineRate: c.LineRate, OneEnd: true}
		}, 0.4},
		{"receiving on macOS", false, func(c Case, coarse bool) Case {
			return Case{Receiver: elsewhere(c.Receiver, coarse, asNettop), LineRate: c.LineRate, OneEnd: true}
		}, 0.1},
	} {
		t.Run(view.name, func(t *testing.T) {
			labels, counts, named := readLabels(t), map[string]int{}, 0
			for _, l := range labels {
				c := view.of(recorded(t, l.Name), view.coarse)
				v := Judge(c)
				checkVerdict(t, c, v)
				counts[fmt.Sprintf("%s → %s", l.Want[0], v.Limiter)]++
				open := l
				open.Ambiguous = true
				right := l.right(v)
				if open.right(v) {
					named++
				}
				if l.Name == "mtubh_probe.bbr" && v.Limiter == model.None {
					continue // from the receiving end alone it is a healthy stream that began late
				}
				if !right && v.Limiter != model.Undetermined && v.Confidence > unshownCap {
					t.Errorf("%s: %s (%.2f) %s", l.Name, v.Limiter, v.Confidence, v.Line)
				}
			}
			for _, k := range sortedKeys(counts) {
				t.Logf("%3d  %s", counts[k], k)
			}
			t.Logf("%d of %d causes are named", named, len(labels))
			if share := float64(named) / float64(len(labels)); share < view.named {
				t.Errorf("the cause is named in %.0f%% of the recordings, want %.0f%%", 100*share, 100*view.named)
			}
		})
	}
}

// The size of the segments that come is not shown by Windows: nothing is worked out from the size of those
// that leave in its place, which the path back may have made another.
func TestTheSizeOfSegmentsThatComeIsUnknown(t *testing.T) {
	a := model.Conn{From: model.FromEstats, SndMSS: 536, BytesReceived: 1 << 20, DataSegsIn: 700, MinRTT: time.Millisecond}
	b := a
	b.BytesReceived, b.DataSegsIn = 11<<20, 8000
	s := &scene{rcv: viewReceiver([]obs{{0, &a}, {time.Second, &b}}, span{to: time.Second}, time.Millisecond), minRTT: time.Millisecond}
	if s.mss() != 0 || s.lossFits() || known(s.overResponse()) || known(s.rcv.late) {
		t.Errorf("segments of %d bytes, %g of them late, %g of what losses allow; want none of it known", s.mss(), s.rcv.late, s.overResponse())
	}
	if got := wireBytes(&a, &b, false); known(got) {
		t.Errorf("%g bytes on the wire, want unknown: what came twice cannot be counted", got)
	}
	end := &End{Host: "winfiler", Samples: []model.Sample{{Conns: []model.Conn{a}}, {At: time.Second, Conns: []model.Conn{b}}}}
	if c := Ceiling(Case{Receiver: end, OneEnd: true, LineRate: model.Known[unit.BitRate](10e9)}); c.Rate != nil || c.Inputs.MSS != 0 {
		t.Errorf("ceiling %v of segments of %d bytes, want unknown: %s", c.Rate, c.Inputs.MSS, c.Formula)
	}
}
