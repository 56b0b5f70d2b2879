package host

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"linerate/internal/host/delta"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// working is a host whose cores, interfaces and connections all work, each as counters of Linux do: cores in
// ticks, interfaces and connections by what went through them.
type working struct {
	rng  *rand.Rand
	s    model.Sample
	busy int // how many connections move data; 0: all
}

func newWorking(cores, nics, conns int) *working {
	h := &working{rng: rand.New(rand.NewPCG(1, uint64(cores))), s: model.Sample{V: 1, SNMP: map[string]int64{}, Pressure: &model.Pressure{}}}
	for i := range cores {
		h.s.CPUs = append(h.s.CPUs, model.CPUTime{CPU: i, User: h.ticks(1e6), System: h.ticks(1e6), SoftIRQ: h.ticks(1e5), Idle: h.ticks(1e8), IOWait: h.ticks(1e4)})
		h.s.Softnet = append(h.s.Softnet, model.Softnet{CPU: i, Processed: h.rng.Int64N(1e10), Squeezed: h.rng.Int64N(1e4)})
	}
	for i := range nics {
		name := fmt.Sprintf("enp%ds0f%d", i/2, i%2)
		h.s.NICs = append(h.s.NICs, model.NICCount{Name: name, RxBytes: h.rng.Int64N(1e15), TxBytes: h.rng.Int64N(1e15), RxPackets: h.rng.Int64N(1e12), TxPackets: h.rng.Int64N(1e12)})
		h.s.Qdiscs = append(h.s.Qdiscs, model.QdiscCount{Dev: name, Kind: "mq", Bytes: h.rng.Int64N(1e15), Packets: h.rng.Int64N(1e12)})
	}
	for i := range conns {
		h.s.Conns = append(h.s.Conns, model.Conn{Local: netip.MustParseAddrPort(fmt.Sprintf("10.0.0.1:%d", 700+i)), Remote: netip.MustParseAddrPort("10.0.0.2:2049"), Inode: 900000 + uint32(i), CC: "cubic", InfoLen: 248,
			State: 1, Options: 7, SndWScale: 11, RcvWScale: 12, RTO: 201 * time.Millisecond, SndMSS: 8948, RcvMSS: 8948, AdvMSS: 8948, PMTU: 9000, Ssthresh: 212, SndBuf: 4194304, RcvBuf: 6291456, MaxPacing: -1})
	}
	for i := range 260 {
		h.s.SNMP[fmt.Sprintf("TcpExt.Counter%d", i)] = h.rng.Int64N(1e9)
	}
	for i := range 8 {
		h.s.Tasks = append(h.s.Tasks, model.Task{PID: 4000, TID: 4000 + i, Name: "nfsd", State: "S"})
	}
	return h
}

func (h *working) ticks(most int64) time.Duration {
	return time.Duration(h.rng.Int64N(most)) * 10 * time.Millisecond
}

// about is a number of events of which so many are expected.
func (h *working) about(n float64) int64 {
	return max(0, int64(math.Round(n+math.Sqrt(n)*h.rng.NormFloat64())))
}

// second is the host's next sample.
func (h *working) second() model.Sample {
	s := &h.s
	s.HostAt = time.Unix(1795000000, 0).UTC().Add(s.At + time.Duration(h.rng.IntN(1e6)))
	s.At += time.Second + time.Duration(h.rng.IntN(1e6))
	s.CPUs, s.Softnet = append([]model.CPUTime(nil), s.CPUs...), append([]model.Softnet(nil), s.Softnet...)
	tick := 10 * time.Millisecond
	for i := range s.CPUs {
		user, system, soft, wait := h.about(18), h.about(25), h.about(7), h.about(0.3)
		c := &s.CPUs[i]
		c.User, c.System, c.SoftIRQ, c.IOWait = c.User+time.Duration(user)*tick, c.System+time.Duration(system)*tick, c.SoftIRQ+time.Duration(soft)*tick, c.IOWait+time.Duration(wait)*tick
		c.Idle += time.Duration(max(0, 100-user-system-soft-wait)) * tick
		s.Softnet[i].Processed += h.about(4000)
		s.Softnet[i].Squeezed += h.about(0.5)
	}
	for i := range s.NICs {
		n, q := &s.NICs[i], &s.Qdiscs[i]
		rx, tx := h.about(90000), h.about(60000)
		n.RxPackets, n.RxBytes, n.TxPackets, n.TxBytes = n.RxPackets+rx, n.RxBytes+rx*8900, n.TxPackets+tx, n.TxBytes+tx*66
		q.Packets, q.Bytes = q.Packets+tx, q.Bytes+tx*66
	}
	for i := range s.Conns {
		if h.busy == 0 || i < h.busy {
			h.send(&s.Conns[i])
		}
	}
	for i := range 40 { // of which the protocols count, on a busy host
		s.SNMP[fmt.Sprintf("TcpExt.Counter%d", 6*i)] += h.about(math.Pow(10, float64(i%6)))
	}
	for i := range s.Tasks {
		s.Tasks[i].CPU, s.Tasks[i].Wait, s.Tasks[i].Core = s.Tasks[i].CPU+time.Duration(h.rng.IntN(3e8)), s.Tasks[i].Wait+time.Duration(h.rng.IntN(1e7)), h.rng.IntN(len(s.CPUs))
	}
	s.Pressure.CPU += time.Duration(h.rng.IntN(100000)) * time.Microsecond
	s.Conns, s.Tasks = append([]model.Conn(nil), s.Conns...), append([]model.Task(nil), s.Tasks...)
	return *s
}

// send has a connection send for a second.
func (h *working) send(c *model.Conn) {
	segs := h.about(12000)
	c.BytesSent, c.BytesAcked, c.SegsOut, c.DataSegsOut, c.Delivered = c.BytesSent+segs*8948, c.BytesAcked+segs*8948, c.SegsOut+segs, c.DataSegsOut+segs, c.Delivered+segs
	acks := h.about(4000)
	c.SegsIn, c.BytesReceived, c.DataSegsIn = c.SegsIn+acks, c.BytesReceived+acks/8*120, c.DataSegsIn+acks/8
	c.RTT, c.RTTVar, c.MinRTT = time.Duration(200+h.rng.IntN(300))*time.Microsecond, time.Duration(20+h.rng.IntN(40))*time.Microsecond, 180*time.Microsecond
	c.Cwnd, c.Unacked = 200+h.rng.IntN(30), h.rng.IntN(200)
	c.DeliveryRate, c.PacingRate = unit.BitRate(8*(1e8+h.rng.IntN(1e7))), unit.BitRate(8*(2e8+h.rng.IntN(1e7)))
	c.Busy, c.SndbufLimited = c.Busy+time.Duration(990+h.rng.IntN(10))*time.Millisecond, c.SndbufLimited+time.Duration(h.rng.IntN(100))*time.Millisecond
	c.SndWnd, c.RcvWnd, c.SendQ, c.WmemQueued, c.NotSent = 3<<20+8948*h.rng.Int64N(30), 3<<20, 8948*h.rng.Int64N(400), 9472*h.rng.Int64N(400), 8948*h.rng.Int64N(100)
}

// learning is how many samples a stream begins with.
const learning = 3

// told is what a brief sampling of a host sent.
type told struct {
	first, most, mean int           // bytes: of the first learning messages, in which it is learnt how counters grow, and of those after for each second
	apart             time.Duration // between two samples, the most
	longest, oldest   time.Duration // for which a core was not told; and a round trip
	rounded           bool

	conns, unseen int // of a crowd: how many are told in a sample at least, and how many never were
	seen          map[connKey]bool
	began         model.ConnTotal // what all had done when the first sample was told
}

// crowded compares a sample that tells some of a host's connections with what all of them did.
func crowded(t *testing.T, n int, is, was model.Sample, out *told) {
	t.Helper()
	at, all := map[connKey]model.Conn{}, model.ConnTotal{Remote: is.Totals[0].Remote, Conns: len(was.Conns)}
	for _, c := range was.Conns {
		at[keyOf(c)] = c
		all.BytesAcked, all.BytesReceived, all.Busy = all.BytesAcked+c.BytesAcked, all.BytesReceived+c.BytesReceived, all.Busy+c.Busy
	}
	if out.seen == nil {
		out.seen, out.began, out.conns = map[connKey]bool{}, all, len(is.Conns)
	}
	b := is.Totals[0]
	for _, x := range [][2]int64{{b.BytesAcked, all.BytesAcked - out.began.BytesAcked}, {b.BytesReceived, all.BytesReceived - out.began.BytesReceived}, {int64(b.Busy), int64(all.Busy - out.began.Busy)}} {
		if x[0] > x[1] || x[1]-x[0] > x[1]/200 || len(is.Totals) != 1 || b.Conns != all.Conns {
			t.Fatalf("second %d: all connections are told as %+v, and grew by %d since the beginning", n, is.Totals, x)
		}
	}
	for _, x := range is.Conns {
		if c, ok := at[keyOf(x)]; !ok || x.BytesAcked > c.BytesAcked || c.BytesAcked-x.BytesAcked > c.BytesAcked/256 {
			t.Fatalf("second %d: a connection was told as %+v, and is %+v", n, x, c)
		}
		out.seen[keyOf(x)] = true
	}
	out.conns, out.unseen = min(out.conns, len(is.Conns)), len(was.Conns)-len(out.seen)
}

// tells tells whether a connection's counters were told as they are or, rounded, as less than they are by no
// more than 1/256 of what they grew since they were told before.
func tells(x, is, before model.Conn, rounded bool) bool {
	if !rounded {
		return onlyCounters(is, []model.Conn{x}, 0) == x
	}
	for _, n := range [][3]int64{
		{x.BytesAcked, is.BytesAcked, before.BytesAcked}, {x.BytesSent, is.BytesSent, before.BytesSent},
		{x.BytesReceived, is.BytesReceived, before.BytesReceived}, {x.SegsOut, is.SegsOut, before.SegsOut},
		{x.SegsIn, is.SegsIn, before.SegsIn}, {x.DataSegsOut, is.DataSegsOut, before.DataSegsOut},
		{x.DataSegsIn, is.DataSegsIn, before.DataSegsIn}, {x.Delivered, is.Delivered, before.Delivered},
		{int64(x.Busy), int64(is.Busy), int64(before.Busy)}, {int64(x.SndbufLimited), int64(is.SndbufLimited), int64(before.SndbufLimited)},
	} {
		if n[0] > n[1] || n[1]-n[0] > (n[1]-n[2])/256 {
			return false
		}
	}
	return x.State == is.State && x.TotalRetrans == is.TotalRetrans && x.Options == is.Options
}

// follows has an agent send a host's samples, reads them, and compares what was told with what was.
func follows(t *testing.T, h *working, seconds int) (out told) {
	t.Helper()
	s := &sampling{id: 7, ring: newRing(mostKeep), pack: &delta.Writer{}, brief: brief{most: BriefBytes}, crowd: crowd{most: BriefConns}}
	c := &Client{samples: map[int]*collected{}, types: &Types{}}
	var came []model.Sample
	made, began := 0, 0
	c.adopt(7).every = time.Second
	c.adopt(7).follow(func(x model.Sample) { came = append(came, x) })
	last, rtts := map[int]int{}, map[int]map[time.Duration]int{}
	for n := range seconds {
		was := h.second()
		if s.rests() {
			continue
		}
		if err := s.add(was); err != nil {
			t.Fatal(err)
		}
		b, ok := s.ring.next()
		message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": notifySamples, "params": b})
		if err == nil {
			err = c.batch(b)
		}
		if !ok || err != nil || len(came) != made+1 {
			t.Fatalf("second %d: %d samples came: %v", n, len(came), err)
		}
		is := came[made]
		if made++; made <= learning {
			out.first, began = out.first+len(message)+1, n+1+b.Rest
		} else {
			out.most, out.mean = max(out.most, (len(message)+1)/(1+b.Rest)), out.mean+(len(message)+1)
		}
		if out.apart = max(out.apart, is.Next); is.Next != time.Duration(1+b.Rest)*time.Second {
			t.Fatalf("second %d: the next one is said to come after %v, and comes after %d s", n, is.Next, 1+b.Rest)
		}
		for _, x := range is.CPUs {
			if x != was.CPUs[x.CPU] {
				t.Fatalf("second %d: core %d was told as %+v, and had %+v", n, x.CPU, x, was.CPUs[x.CPU])
			}
			out.longest, last[x.CPU] = max(out.longest, time.Duration(n-last[x.CPU])*time.Second), n
		}
		for _, x := range is.Softnet {
			if x != was.Softnet[x.CPU] {
				t.Fatalf("second %d: the packets of core %d were told as %+v, and it had %+v", n, x.CPU, x, was.Softnet[x.CPU])
			}
		}
		if is.Totals != nil {
			crowded(t, n, is, was, &out)
			continue
		}
		for i, x := range is.Conns {
			if out.rounded = s.brief.coarse; !tells(x, was.Conns[i], came[max(0, made-2)].Conns[i], out.rounded) {
				t.Fatalf("second %d: a connection was told as %+v, and is %+v", n, x, was.Conns[i])
			}
			age, known := n-rtts[i][x.RTT], rtts[i] != nil
			if rtts[i] == nil {
				rtts[i] = map[time.Duration]int{}
			}
			if rtts[i][was.Conns[i].RTT] = n; known && x.RTT != was.Conns[i].RTT {
				out.oldest = max(out.oldest, time.Duration(age)*time.Second)
			}
		}
		if all := len(is.CPUs) == len(was.CPUs); !all && !is.Partial || !reflect.DeepEqual(is.NICs, was.NICs) || len(is.Conns) != len(was.Conns) || !reflect.DeepEqual(is.SNMP, was.SNMP) {
			t.Fatalf("second %d: something else than cores was left out", n)
		}
	}
	out.mean /= seconds + s.skip - began
	return out
}

// While nobody looks at a host, what it tells takes no more than BriefBytes a second on its way, however many
// cores it has and up to 600 connections that move data; what is left out of one sample is in another
// soon, and nothing is told that was not so.
func TestABriefSampleIsBrief(t *testing.T) {
	labtest.OneGoroutine(t)
	for _, c := range []struct {
		cores, nics, conns int
		busy               int           // of the connections; 0: all
		within             time.Duration // each core is told
	}{{4, 1, 2, 0, time.Second}, {16, 2, 2, 0, time.Second}, {64, 4, 2, 0, 5 * time.Second}, {128, 6, 2, 0, 10 * time.Second}, {256, 8, 2, 0, 15 * time.Second},
		{4, 1, 16, 0, 8 * time.Second}, {16, 2, 8, 0, 5 * time.Second}, {64, 4, 16, 0, 15 * time.Second},
		{16, 2, 30, 0, 15 * time.Second}, {16, 2, 100, 0, 30 * time.Second}, {64, 4, 100, 0, 30 * time.Second}, {16, 2, 200, 0, 30 * time.Second},
		{64, 4, 400, 0, time.Minute}, {16, 2, 600, 0, time.Minute},
		{16, 2, 1000, 0, time.Minute}, {64, 4, 5000, 0, time.Minute}, {16, 2, 20_000, 0, time.Minute}, {16, 2, 3000, 4, 15 * time.Second}} {
		h := newWorking(c.cores, c.nics, c.conns)
		h.busy = c.busy
		got := follows(t, h, 90)
		got.seen, got.began = nil, model.ConnTotal{}
		t.Logf("%d cores, %d interfaces, %d connections: %+v", c.cores, c.nics, c.conns, got)
		if got.most > BriefBytes || got.first > 30e3+500*min(c.conns, BriefConns) || got.longest > c.within {
			t.Errorf("%d cores, %d interfaces, %d connections: %+v, want at most %d bytes a second and %v", c.cores, c.nics, c.conns, got, BriefBytes, c.within)
		}
	}
}

// Rounded growths leave what has a meaning of its own: nothing in a queue, a window that is shut, no limit.
func TestARoundedSampleTellsWhatIsEmpty(t *testing.T) {
	before := model.Conn{BytesAcked: 7e9, RecvQ: 6_000_001, NotSent: 4_194_303, SndWnd: 3_000_017, RTT: 91234567, PacingRate: 1_234_567_891}
	is := model.Conn{BytesAcked: 8_234_567_891, RecvQ: 0, NotSent: 1448, SndWnd: 0, RTT: 91034567, PacingRate: -1}
	told := roundGrowths(model.Sample{Conns: []model.Conn{is}}, model.Sample{Conns: []model.Conn{before}}).Conns[0]
	if left := is.BytesAcked - told.BytesAcked; left <= 0 || left > (is.BytesAcked-before.BytesAcked)/256 {
		t.Errorf("%d of %d bytes are left out", left, is.BytesAcked-before.BytesAcked)
	}
	if off := told.RTT - is.RTT; off < 0 || off > is.RTT/256 {
		t.Errorf("round trip %v, told as %v", is.RTT, told.RTT)
	}
	if told.RecvQ != 0 || told.NotSent != 1448 || told.SndWnd != 0 || told.PacingRate != -1 {
		t.Errorf("told %+v of %+v", told, is)
	}
}

// A host that told little for a while, since many connections moved data, tells its next sample in time once they
// rest.
func TestABriefSampleIsSoonAgain(t *testing.T) {
	labtest.OneGoroutine(t)
	h, s := newWorking(16, 2, 150), &sampling{id: 7, ring: newRing(mostKeep), pack: &delta.Writer{}, brief: brief{most: BriefBytes}}
	second := func() {
		x := h.second()
		if s.rests() {
			return
		}
		if err := s.add(x); err != nil {
			t.Fatal(err)
		}
		s.ring.next()
	}
	for range 40 {
		second()
	}
	if s.brief.share < 3 {
		t.Fatalf("150 connections take the room of %d samples", s.brief.share)
	}
	h.s.Conns = h.s.Conns[:1]
	for s.skip > 0 {
		second()
	}
	second()
	second()
	if s.skip > 0 {
		t.Errorf("one connection: %d samples are left out", s.skip)
	}
}
