package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// serving makes both ends of a mount that is read: calls a second of readSize,
// each for rtt, from a server whose connection runs dry.
func serving(perSecond int64, rtt time.Duration, edits ...func(i int, s *model.Sample)) Case {
	c := knobs{rate: float64(perSecond) * readSize * 8, rtt: 10 * time.Millisecond, notsent: -1, appLtd: true, sendQ: 1}.build()
	client := mounted(perSecond, 0, rtt, rtt)
	for i := range c.Receiver.Samples {
		c.Receiver.Samples[i].NFS = client.Receiver.Samples[i].NFS
		s := &c.Sender.Samples[i]
		s.Tasks = nil // the kernel serves
		at := time.Duration(i) * 100 * time.Millisecond
		s.Server = &model.ServerCount{
			Disk: &model.DiskCount{Name: "sdb", Busy: at / 10, Read: model.RequestOp{Bytes: int64(i) * perSecond * readSize / 10}},
			NFSD: &model.NFSDCount{Threads: 8, Arrived: int64(i) * 100, Woken: int64(i) * 100},
		}
		for _, edit := range edits {
			edit(i, s)
		}
	}
	c.Passive = true
	return c
}

func TestServerInView(t *testing.T) {
	const ms = time.Millisecond
	blocked := func(_ int, s *model.Sample) { s.Server.Blocked = 1 }
	diskBusy := func(i int, s *model.Sample) { s.Server.Disk.Busy = time.Duration(i) * 95 * ms }
	fromCache := func(_ int, s *model.Sample) { s.Server.Disk.Read.Bytes = 0 }
	fewThreads := func(i int, s *model.Sample) {
		s.Server.NFSD = &model.NFSDCount{Threads: 1, Arrived: int64(i) * 100, Woken: int64(i) * 5}
	}
	noCPU := func(i int, s *model.Sample) {
		for j := range s.CPUs {
			s.CPUs[j].User, s.CPUs[j].Idle = time.Duration(i)*99*ms, time.Duration(i)*ms
			s.CPUs[j].System, s.CPUs[j].SoftIRQ = 0, 0
		}
	}
	inDisk := func(i int, s *model.Sample) {
		s.Tasks = []model.Task{{PID: 9, TID: 9, Name: "ganesha.nfsd", State: "D", CPU: time.Duration(i) * 10 * ms, Conns: nil}}
	}
	for _, tc := range []struct {
		name string
		c    Case
		want model.LimiterID
		says string
	}{
		{"tasks wait for the disk", serving(20, 300*ms, blocked), model.ServerTime, "waits for a disk in 100%"},
		{"the disk has work all the time", serving(20, 300*ms, diskBusy), model.ServerTime, "the disk sdb has work 95%"},
		{"something waits for another disk", serving(60, 13*ms, blocked, fromCache), model.NFSConcurrency, "stands idle"},
		{"a server in user space waits", serving(20, 300*ms, inDisk), model.ServerTime, "the file service waits for a disk in 100%"},
		{"no CPU is left", serving(20, 300*ms, noCPU), model.ServerTime, "least busy core is busy 99%"},
		{"one thread for all", serving(80, 50*ms, fewThreads), model.ServerTime, "finds all 1 NFS threads at work"},
		{"one call at a time", serving(60, 13*ms), model.NFSConcurrency, "stands idle"},
		{"the application asks for little", serving(10, 13*ms, blocked), model.ApplicationSink, "reads slowly"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := Judge(tc.c)
			said := v.Line
			for _, e := range v.Evidence {
				said += "\n" + e.What
			}
			if v.Limiter != tc.want || !strings.Contains(said, tc.says) {
				t.Errorf("got %s (%.2f): %s", v.Limiter, v.Confidence, said)
			}
			if v.Limiter == model.ServerTime && v.Host != "client1" { // which sends, here
				t.Errorf("named at %q", v.Host)
			}
			checkVerdict(t, tc.c, v)
			if short := strings.Contains(tc.says, "NFS threads"); short != (v.Fix.Kind == model.FixSetting) || short && (v.Fix.Setting != "linux.nfsd.threads" || v.Fix.From != "1" || v.Fix.To != "64" || v.Fix.Host != "client1") {
				t.Errorf("fix %+v", v.Fix)
			}
		})
	}
}

// A client whose socket is full of what it writes waits for the server's disk all the same.
func TestWritesWaitForTheDisk(t *testing.T) {
	const ms = time.Millisecond
	c := knobs{rate: 20 * 8 << 20, rtt: 12 * ms, minRTT: 10 * ms}.build()
	for i := range c.Sender.Samples {
		n, at := int64(2*i), time.Duration(i)*100*ms
		op := model.NFSOp{Ops: n, BytesSent: n << 20, RTT: 300 * ms * time.Duration(n), Execute: 300 * ms * time.Duration(n)}
		c.Sender.Samples[i].NFS = &model.NFSCount{Mount: "/mnt/nas", Ops: map[string]model.NFSOp{"WRITE": op}, MaxSlots: 64}
		s := &c.Receiver.Samples[i]
		s.Tasks = nil
		s.Server = &model.ServerCount{Blocked: 1, Disk: &model.DiskCount{Name: "sdb", Busy: at * 95 / 100, Write: model.RequestOp{Bytes: n << 20}}}
	}
	c.Passive = true
	v := Judge(c)
	if v.Limiter != model.ServerTime || v.Confidence < machineCap || v.Host != "server1" || len(v.Alternatives) > 0 {
		t.Errorf("%s (%.2f) or %v: %s", v.Limiter, v.Confidence, v.Alternatives, v.Line)
	}
	for _, e := range v.Evidence {
		if strings.Contains(e.What, "nothing left to send") {
			t.Errorf("of the client's socket: %s", e.What)
		}
	}
	checkVerdict(t, c, v)
}

// Without the counters of the server nothing is concluded from them.
func TestServerNotInView(t *testing.T) {
	c := serving(20, 300*time.Millisecond, func(_ int, s *model.Sample) { s.Server, s.CPUs = nil, nil })
	if v := Judge(c); v.Limiter == model.ServerTime || v.Limiter == model.NFSConcurrency && v.Confidence > nfsOneEnd {
		t.Errorf("%s (%.2f)", v.Line, v.Confidence)
	}
}

// Requests that go out in turns: all are asked for, come, and only then the next.
func TestRequestsInTurns(t *testing.T) {
	const ms = time.Millisecond
	c := requesting(model.OfSMB, 1200, 16384, 30*ms, 0) // 157 of 941 Mbit/s
	if v := Judge(c); v.Limiter == model.RequestConcurrency {
		t.Errorf("a round trip of a third of the time does not fill what is not used: %s", v.Line)
	}
	c = requesting(model.OfSMB, 1200, 16384, 13*ms, 0)
	if v := Judge(c); v.Limiter != model.RequestConcurrency || v.Confidence > nfsOneEnd {
		t.Errorf("%s (%.2f)", v.Line, v.Confidence)
	}
}

func TestReadersProbe(t *testing.T) {
	const ms = time.Millisecond
	slow := mounted(20, 0, 50*ms, 50*ms) // one call at a time takes long
	v := Judge(slow)
	p, ok := PlanReaders(slow, v)
	if !ok || v.Limiter != model.ServerTime || p.Readers != manyReaders {
		t.Fatalf("%v %+v for %s", ok, p, v.Line)
	}
	after := func(v model.Verdict, times float64) model.Verdict {
		c := slow
		c.Goodput = model.Known(bitRate(times * p.Before))
		v = p.after(v, c)
		v.Line = Line(v)
		return v
	}
	if got := after(v, 3); got.Limiter != model.NFSConcurrency || got.Confidence < settled || got.Probe != nil || got.Where != model.AtReceiver || !strings.Contains(got.Line, "nfs-concurrency") {
		t.Errorf("rises: %s (%.2f) %+v", got.Line, got.Confidence, got.Probe)
	}
	stays := after(v, 1)
	if stays.Limiter != model.ServerTime || stays.Confidence < nfsOneEnd {
		t.Errorf("stays: %s (%.2f)", stays.Line, stays.Confidence)
	}
	for _, a := range stays.Alternatives {
		if a.Limiter == model.NFSConcurrency {
			t.Error("what was refuted is still there")
		}
	}
	if got := after(v, 1.17); got.Limiter != v.Limiter || got.Confidence != v.Confidence || len(got.Notes) != len(v.Notes)+1 {
		t.Errorf("in between: %s (%.2f) %q", got.Line, got.Confidence, got.Notes)
	}
	turns := Judge(mounted(60, 0, 13*ms, 13*ms))
	if got := after(turns, 1); got.Limiter != model.ServerTime || got.Confidence > nfsOneEnd {
		t.Errorf("refuted: %s (%.2f)", got.Line, got.Confidence)
	}
	if _, ok := PlanReaders(knobs{}.build(), Judge(knobs{}.build())); ok {
		t.Error("planned without a mount")
	}
}

// Recorded readers of real servers, judged with the server in view and from the
// client alone. Many small requests keep the server's tasks waiting for each
// other, which is no lack of CPU; a server whose cores are full makes its
// connections look like a slow or a lossy path.
func TestRecordedServers(t *testing.T) {
	for name, want := range map[string][2]model.LimiterID{ // both ends, the client alone
		"nfs-small-transfer.severe.nfs": {model.NFSConcurrency, model.NFSConcurrency},
		"server-cpu.severe.nfs":         {model.ServerTime, model.ServerTime},
		"server-cpu.severe.iscsi":       {model.ServerTime, model.ServerTime},
		"server-cpu.severe.smb":         {model.ServerTime, model.ServerTime},
		"link-rate.medium.nfs":          {model.LinkRate, model.LinkRate},
	} {
		c := readRecording(t, "storage/"+name+".cubic")
		if v := Judge(c); v.Limiter != want[0] || v.Limiter == model.ServerTime && v.Host != c.Sender.Host {
			t.Errorf("%s: %s at %q, want %s: %s", name, v.Limiter, v.Host, want[0], v.Line)
		}
		c.Sender = nil
		if v := Judge(c); v.Limiter != want[1] || v.Confidence > nfsOneEnd {
			t.Errorf("%s from the client: %s (%.2f), want %s: %s", name, v.Limiter, v.Confidence, want[1], v.Line)
		}
	}
}
