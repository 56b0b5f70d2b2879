package loop

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
)

// end is a watched end whose n-th sample is what it says; each sampling takes
// twenty. It keeps what was asked of it.
type end struct {
	sample func(n int) model.Sample
	n      int
	asked  []measure.Watch
}

func (e *end) Facts(context.Context) (*model.Facts, error) {
	return &model.Facts{Hostname: "client1"}, nil
}

func (e *end) StartSampling(_ context.Context, w measure.Watch, _ time.Duration) (func() ([]model.Sample, error), error) {
	e.asked = append(e.asked, w)
	return func() ([]model.Sample, error) {
		var out []model.Sample
		for range 20 {
			e.n++
			s := e.sample(e.n)
			if s.HostAt.IsZero() {
				s.HostAt = time.Unix(1000, 0).Add(time.Duration(e.n) * sampleInterval)
			}
			out = append(out, s)
		}
		return out, nil
	}, nil
}

func watchEnd(t *testing.T, e *end, target Target) (*Record, error) {
	t.Helper()
	clock := time.Unix(1, 0)
	w := Watch{Agent: e, Target: target, For: time.Millisecond, Wait: 5 * time.Second,
		Now: func() time.Time { clock = clock.Add(2 * time.Second); return clock }, Progress: func(string) {}}
	return inNoTime(t, w.Run)
}

// sending is a connection that has had so many Mbit/s acknowledged since the first sample.
func sending(n int, remote string, mbit float64) model.Conn {
	at := float64(n) / 10
	return model.Conn{Local: netip.MustParseAddrPort("10.0.0.1:40000"), Remote: netip.MustParseAddrPort(remote), State: 1, InfoLen: 248, Inode: uint32(remote[len(remote)-1]),
		SndMSS: 1448, AdvMSS: 1448, PMTU: 1500, RTT: 20 * time.Millisecond, MinRTT: 20 * time.Millisecond, Cwnd: 100, SndWnd: 4 << 20, SndBuf: 4 << 20,
		BytesAcked: int64(1e5*mbit*at*1.25) + 1, BytesSent: int64(1e5*mbit*at*1.25) + 1, SegsOut: int64(100 * n)}
}

func tasks(n int) []model.Task {
	return []model.Task{{PID: 4711, TID: 4711, CPU: time.Duration(n) * time.Millisecond}}
}

const (
	busy  = "10.0.0.2:873"
	other = "10.0.0.3:22"
	third = "10.0.0.4:80"
)

func TestTheBusiestPeerIsJudged(t *testing.T) {
	t.Parallel()
	e := &end{sample: func(n int) model.Sample {
		return model.Sample{Tasks: tasks(n), Conns: []model.Conn{sending(n, other, 12), sending(n, busy, 300), sending(n, third, 0)}, NFS: &model.NFSCount{}}
	}}
	rec, err := watchEnd(t, e, Target{Name: "process 4711 (rsync)", PID: 4711, Mount: "/mnt/nas", Notes: []string{"a remark"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range e.asked {
		if !slices.Equal(w.OwnedBy, []int{4711}) || len(w.Addrs) != 0 {
			t.Errorf("asked for %+v", w)
		}
	}
	run := rec.Results.Runs[0]
	if mbit := float64(run.Goodput) / 1e6; mbit < 295 || mbit > 305 {
		t.Errorf("goodput %s, want that of the busiest peer", run.Goodput)
	}
	notes := strings.Join(rec.Results.Verdict.Notes, "\n")
	for _, want := range []string{"a remark", "connections to 10.0.0.2, which move most", "10.0.0.3 (12 Mbit/s)", "10.0.0.4 (idle)"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in the notes:\n%s", want, notes)
		}
	}
	if run.Samples["client1"][0].NFS != nil {
		t.Error("a mount that is not judged has its statistics in the case")
	}
}

// Every bad input that a watch from one end can meet ends in a narrower answer
// with its reason.
func TestNarrowAnswers(t *testing.T) {
	t.Parallel()
	mount := Target{Name: "/mnt/nas", Peers: []netip.Addr{netip.MustParseAddr("10.0.0.2")}, Ports: []uint16{873}}
	process := Target{Name: "process 4711 (cp)", PID: 4711, Without: "it holds no TCP connection; name the mount"}
	still := func(remote string) func(int) model.Sample {
		return func(n int) model.Sample {
			return model.Sample{Tasks: tasks(n), Conns: []model.Conn{sending(0, remote, 0)}}
		}
	}
	for _, tc := range []struct {
		name   string
		target Target
		sample func(n int) model.Sample
		idle   string // part of the one line; empty: a verdict
		named  model.LimiterID
		note   string
		most   int // samplings
	}{
		{"an idle mount", mount, still(busy), "idle, 1 connections moved no data", "", "", 100},
		{"a mount without a connection", mount, func(int) model.Sample { return model.Sample{} }, "no TCP connection to there", "", "", 100},
		{"a process with an idle connection", process, still(busy), "start the copy", "", "", 100},
		{"a process without any", process, func(n int) model.Sample { return model.Sample{Tasks: tasks(n)} }, "holds no TCP connection; name the mount", "", "", 1},
		{"a process that ends first", process, func(int) model.Sample { return model.Sample{} }, "ended before data moved", "", "", 1},
		{"a server that answers nobody", mount, func(n int) model.Sample {
			c := sending(0, busy, 0)
			c.State, c.Backoff, c.Unacked, c.TotalRetrans, c.BytesAcked = 2, uint8(3+n/20), 1, 3+n/20, 0
			return model.Sample{Conns: []model.Conn{c}}
		}, "", model.Outage, "", 2},
		{"a watch of 2 s", mount, func(n int) model.Sample {
			c := sending(n, busy, 120)
			c.SndWnd, c.Unacked, c.Cwnd = 300000, 207, 400
			c.Busy, c.RwndLimited, c.NotSent, c.SendQ = time.Duration(n)*sampleInterval, time.Duration(n)*sampleInterval*95/100, 1<<20, 2<<20
			return model.Sample{Conns: []model.Conn{c}}
		}, "", model.ReceiverWindow, "watched for 2 s only", 2},
	} {
		e := &end{sample: tc.sample}
		rec, err := watchEnd(t, e, tc.target)
		var idle *IdleError
		if errors.As(err, &idle) != (tc.idle != "") || err != nil && idle == nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if len(e.asked) > tc.most {
			t.Errorf("%s: it took %d samplings", tc.name, len(e.asked))
		}
		if idle != nil {
			if !strings.Contains(err.Error(), tc.idle) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		v := rec.Results.Verdict
		if v.Limiter != tc.named || !strings.Contains(strings.Join(v.Notes, "\n"), tc.note) || tc.note != "" && v.Confidence > 0.55 {
			t.Errorf("%s: %s (%.2f) %q", tc.name, v.Limiter, v.Confidence, v.Notes)
		}
	}
}

// A clock that is set while it is watched changes no rate.
func TestClockThatIsSet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		step time.Duration
		note bool
	}{{"steady", 0, false}, {"back by 5 s", -5 * time.Second, true}, {"on by 5 s", 5 * time.Second, true}, {"on by 0.3 s", 300 * time.Millisecond, false}} {
		e := &end{sample: func(n int) model.Sample {
			at := time.Unix(1000, 0).Add(time.Duration(n) * sampleInterval)
			if n > 30 { // in the middle of the second sampling
				at = at.Add(tc.step)
			}
			return model.Sample{HostAt: at, Conns: []model.Conn{sending(n, busy, 120)}}
		}}
		rec, err := watchEnd(t, e, Target{Name: "nas:873", Peers: []netip.Addr{netip.MustParseAddr("10.0.0.2")}})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		mbit := float64(rec.Results.Runs[0].Goodput) / 1e6
		if tc.step >= -time.Second && tc.step <= time.Second && tc.step != 0 {
			mbit *= 2.2 / 1.9 // too little to tell from a late reading
		}
		if mbit < 110 || mbit > 140 {
			t.Errorf("%s: %.0f Mbit/s", tc.name, mbit)
		}
		if got := strings.Contains(strings.Join(rec.Results.Verdict.Notes, "\n"), "clock of this host was set"); got != tc.note {
			t.Errorf("%s: notes %q", tc.name, rec.Results.Verdict.Notes)
		}
		for i, s := range rec.Results.Runs[0].Samples["client1"] {
			if i > 0 && s.At < rec.Results.Runs[0].Samples["client1"][i-1].At {
				t.Errorf("%s: sample %d goes back in time", tc.name, i)
			}
		}
	}
}
