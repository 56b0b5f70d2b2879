package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// copied is a copy of ten seconds between two hosts whose streams send all the time.
func copied(change func(from, to *model.CopyCount), k knobs) Case {
	from := model.CopyCount{Took: 10 * time.Second, Streams: 4, Lanes: 4, Sending: 38 * time.Second, Reading: 10 * time.Second, CPU: 5 * time.Second, CPUs: 8}
	to := model.CopyCount{Took: 10 * time.Second, Streams: 4, Writing: 4 * time.Second, CPU: 5 * time.Second, CPUs: 8, Bytes: 1e9, Files: 10}
	change(&from, &to)
	k.streams = 4
	c := k.build()
	grow(c.Sender.Samples, from)
	grow(c.Receiver.Samples, to)
	return c
}

// grow puts counters into samples that reach their values with the last.
func grow(in []model.Sample, end model.CopyCount) {
	for i := range in {
		part := func(d time.Duration) time.Duration { return d * time.Duration(i+1) / time.Duration(len(in)) }
		x := end
		x.Pacing = part(end.Pacing)
		x.Took, x.Sending, x.Held, x.Reading, x.Writing = part(end.Took), part(end.Sending), part(end.Held), part(end.Reading), part(end.Writing)
		x.ReadingSmall = part(end.ReadingSmall)
		x.Committing, x.CPU = part(end.Committing), part(end.CPU)
		x.Bytes, x.Files = end.Bytes*int64(i+1)/int64(len(in)), end.Files*int64(i+1)/int64(len(in))
		in[i].Copy = &x
	}
}

func disk(in []model.Sample, name string, share float64) {
	for i := range in {
		in[i].Server = &model.ServerCount{Disk: &model.DiskCount{Name: name, Busy: time.Duration(share * float64(in[i].At))}}
	}
}

// The stages of a copy tell what its connections only show the effect of.
func TestTheLimiterOfACopy(t *testing.T) {
	still := func(*model.CopyCount, *model.CopyCount) {}
	window := knobs{rate: 0.1e9, rtt: 10 * time.Millisecond, full: true, rwnd: 0.9, wnd: 32 << 10, rcvbuf: 65536, settings: map[string]string{rmemSetting: "4096 65536 65536"}}
	full := func(_, to *model.CopyCount) { to.Held = 36 * time.Second }
	dry := func(from, _ *model.CopyCount) { from.Sending, from.Reading = 3*time.Second, 38*time.Second }
	for name, c := range map[string]struct {
		change func(from, to *model.CopyCount)
		k      knobs
		want   model.LimiterID
	}{
		"the path is full":          {still, knobs{}, model.None},
		"window":                    {still, window, model.ReceiverWindow},
		"target behind a window":    {full, window, model.TargetStorage},
		"target":                    {full, knobs{rate: 0.3e9}, model.TargetStorage},
		"making durable":            {func(from, to *model.CopyCount) { from.Sending, to.Committing = 3*time.Second, 8*time.Second }, knobs{rate: 0.3e9, notsent: -1}, model.TargetStorage},
		"source":                    {dry, knobs{rate: 0.3e9, notsent: -1}, model.SourceStorage},
		"small files at the target": {func(f, to *model.CopyCount) { full(f, to); to.Files = 60000 }, knobs{rate: 0.3e9}, model.SmallFiles},
		"the sender's CPU":          {func(from, _ *model.CopyCount) { from.CPU = 78 * time.Second }, knobs{rate: 0.3e9}, model.SenderCPU},
		"the receiver's CPU":        {func(f, to *model.CopyCount) { full(f, to); to.CPU = 79 * time.Second }, knobs{rate: 0.3e9}, model.ReceiverCPU},
		"--limit":                   {func(from, _ *model.CopyCount) { from.Limit = 1e8 }, knobs{rate: 0.8e9}, model.ApplicationSource},
		"--limit, then the target": {func(f, to *model.CopyCount) {
			f.Limit, f.Pacing, f.Sending, to.Committing = 1.4e8, 7*time.Second, 3*time.Second, 3*time.Second
		}, knobs{rate: 0.8e9, notsent: -1}, model.ApplicationSource},
		"the target below --limit": {func(f, to *model.CopyCount) { full(f, to); f.Limit, f.Pacing = 1.4e8, time.Second }, knobs{rate: 0.3e9}, model.TargetStorage},
		"loss, with idle storage":  {still, knobs{rate: 0.1e9, retrans: 0.01, cwnd: 12, rtt: 10 * time.Millisecond}, model.PathLoss},
	} {
		v := Judge(copied(c.change, c.k))
		if v.Limiter != c.want {
			t.Errorf("%s: %s (%v)", name, v.Line, v.Confidence)
		}
	}
}

// A copy takes no line rate, and its user is not told to state one.
func TestAFullPathOfACopyNeedsNoOptionThatCopyLacks(t *testing.T) {
	v := Judge(copied(func(*model.CopyCount, *model.CopyCount) {}, knobs{line: -1}))
	if v.Limiter != model.Undetermined || !strings.Contains(v.Line, "the path is full at") || strings.Contains(v.Fix.Advice+v.Line, "--line-rate") {
		t.Errorf("%s: %q, %q", v.Limiter, v.Line, v.Fix.Advice)
	}
}

// The application that leaves the connections of a copy idle is the copy: its user is not told to make that
// read faster, and is told of a limit that it waited for.
func TestTheAdviceWhereTheCopyLeavesConnectionsIdle(t *testing.T) {
	for name, c := range map[string]struct {
		pacing time.Duration
		want   string
	}{"a limit": {7 * time.Second, "higher limit"}, "no limit": {0, "the copy's own process"}} {
		v := Judge(copied(func(f, _ *model.CopyCount) {
			f.Sending, f.Pacing = 3*time.Second, c.pacing
			if c.pacing > 0 {
				f.Limit = 1.4e8
			}
		}, knobs{rate: 0.8e9, notsent: -1}))
		if v.Limiter != model.ApplicationSource || !strings.Contains(v.Fix.Advice, c.want) {
			t.Errorf("%s: %s, %q", name, v.Limiter, v.Fix.Advice)
		}
	}
}

// How busy the readers are is judged by those of what was read in the time that is looked at, not of what
// most was since the copy began.
func TestTheReadersOfACopyAreThoseOfTheWindow(t *testing.T) {
	const small, blocks = 2000 * time.Second, 30 * time.Second // from before
	for name, c := range map[string]struct {
		before, window, smallBefore, smallWindow time.Duration
		lanesSmall                               int
		want                                     model.LimiterID
	}{
		"large files after small ones":          {small, 38 * time.Second, small, 0, 24, model.SourceStorage},
		"some small ones after large ones":      {blocks, 38 * time.Second, 0, 36 * time.Second, 24, model.ApplicationSource},
		"small files after large ones":          {blocks, 230 * time.Second, 0, 229 * time.Second, 24, model.SourceStorage},
		"an older bundle, which does not tell":  {small, 38 * time.Second, 0, 0, 0, model.SourceStorage},
		"large files, among them some of small": {small, 39 * time.Second, small, time.Second, 24, model.SourceStorage},
	} {
		in := copied(func(from, _ *model.CopyCount) {
			from.Sending, from.Reading, from.ReadingSmall, from.LanesSmall = 3*time.Second, c.window, c.smallWindow, c.lanesSmall
		}, knobs{rate: 0.3e9, notsent: -1})
		for _, x := range in.Sender.Samples {
			x.Copy.Reading, x.Copy.ReadingSmall = x.Copy.Reading+c.before, x.Copy.ReadingSmall+c.smallBefore
		}
		if v := Judge(in); v.Limiter != c.want {
			t.Errorf("%s: %s (%v)", name, v.Line, v.Confidence)
		}
	}
}

// A flow that joined late, or whose observations do not fall on the ends of the time that is
// looked at, counts with what it moved in it.
func TestMovedBetween(t *testing.T) {
	var f flow
	for i, n := range []int64{0, 10, 20, 50, 50} {
		f.rcv = append(f.rcv, obs{at: time.Duration(i) * time.Second, c: &model.Conn{BytesReceived: n}})
	}
	for _, x := range []struct{ from, to, want float64 }{{0, 4, 50}, {-5, 9, 50}, {0.5, 2.5, 30}, {2, 2.5, 15}, {3, 4, 0}, {5, 6, 0}} {
		if got := f.movedBetween(x.from, x.to); got != x.want {
			t.Errorf("%v to %v s: %v bytes, want %v", x.from, x.to, got, x.want)
		}
	}
}

// A disk that was seen at work makes it sure, one that is idle makes it doubtful.
func TestTheDiskOfACopyIsNamed(t *testing.T) {
	sure := copied(func(_, to *model.CopyCount) { to.Held = 39 * time.Second }, knobs{rate: 0.3e9, recvQ: 3 << 20, wnd: 1 << 20})
	disk(sure.Receiver.Samples, "sdb", 0.97)
	idle := copied(func(_, to *model.CopyCount) { to.Held = 39 * time.Second }, knobs{rate: 0.3e9, recvQ: 3 << 20, wnd: 1 << 20})
	disk(idle.Receiver.Samples, "sdb", 0.02)
	a, b := Judge(sure), Judge(idle)
	if a.Limiter != model.TargetStorage || a.Host != "server1" || a.Confidence < 0.9 || b.Confidence > diskIdle {
		t.Errorf("%s (%v)\n%s (%v)", a.Line, a.Confidence, b.Line, b.Confidence)
	}
}

// A copy within one host has no connections. Those that others open on it meanwhile hold nothing of it back.
func TestACopyWithinAHost(t *testing.T) {
	for want, count := range map[model.LimiterID]model.CopyCount{
		model.TargetStorage: {Writing: 60 * time.Second, Committing: 9 * time.Second, Reading: 10 * time.Second, Files: 3},
		model.SourceStorage: {Writing: 6 * time.Second, Reading: 50 * time.Second, Files: 3},
		model.SenderCPU:     {Writing: 6 * time.Second, Reading: 50 * time.Second, CPU: 79 * time.Second, Files: 3},
		model.SmallFiles:    {Writing: 60 * time.Second, Reading: 10 * time.Second, Files: 100000},
		model.Undetermined:  {Writing: 30 * time.Second, Reading: 30 * time.Second, Files: 3},
	} {
		count.Took, count.CPUs, count.Bytes = 10*time.Second, 8, 1e9
		e := &End{Host: "nas1", Samples: make([]model.Sample, 40)}
		for i := range e.Samples {
			n := int64(i)
			e.Samples[i].At = time.Duration(i) * 250 * time.Millisecond
			e.Samples[i].SNMP = map[string]int64{"Tcp.ActiveOpens": 20 * n}
			e.Samples[i].NICs = []model.NICCount{{Name: "eth0", TxBytes: n * 600_000, RxBytes: n * 600_000}}
		}
		grow(e.Samples, count)
		v := Judge(Case{Sender: e, Receiver: e, Passive: true})
		if v.Limiter != want {
			t.Errorf("%s: %s", want, v.Line)
		}
		if v.Measured < 0.7e9 || v.Measured > 0.9e9 {
			t.Errorf("%s: measured %v", want, v.Measured)
		}
	}
}

// Of empty files there is work, and no byte.
func TestACopyOfEmptyFiles(t *testing.T) {
	e := &End{Host: "nas1", Samples: make([]model.Sample, 40)}
	for i := range e.Samples {
		e.Samples[i].At = time.Duration(i) * 250 * time.Millisecond
	}
	grow(e.Samples, model.CopyCount{Took: 10 * time.Second, CPUs: 8, Writing: 60 * time.Second, Files: 100_000})
	if v := Judge(Case{Sender: e, Receiver: e, Passive: true}); v.Limiter != model.SmallFiles || v.Measured != 0 {
		t.Errorf("%s (%v): %s", v.Limiter, v.Measured, v.Line)
	}
}
