package explain

import (
	"fmt"
	"math"
	"slices"

	"linerate/internal/model"
)

const (
	// serverWorks: a disk or CPU that is busy for this share of the time is what
	// requests wait for.
	serverWorks = 0.50
	// wantsAll and getsShort: a service lacks CPU when it wants at least the first
	// share of a core, and waits for the second share of what it wants.
	wantsAll  = 0.70
	getsShort = 0.30
	// fromDisk: where the served disk moves less than this share of the goodput,
	// tasks that wait for a disk wait for another one.
	fromDisk = 0.30
	// threadsShort: too few threads run when this share of the requests finds none
	// idle.
	threadsShort = 0.50
	// seenCap caps the confidence in what the tasks of the file service show,
	// machineCap in what only figures of the whole machine show.
	seenCap    = 0.95
	machineCap = 0.85
	// linkSteady: a slow link keeps the rate within this spread even while the
	// sender's cores are full. fewResent: such a sender itself causes up to this
	// share of retransmitted bytes.
	linkSteady = 1.10
	fewResent  = 0.004
	// crowdedCap caps the confidence in "too few calls" where many are under way.
	crowdedCap = 0.45
)

// serverView is what the serving host shows of its own work. Unknown is NaN.
type serverView struct {
	end      *End
	n        int
	waits    float64 // share of the samples in which something waits for a disk
	own      bool    // it is a task of the service; else any task of the machine
	name     string  // of the served disk
	disk     float64 // share of the time that the served disk has work
	moved    float64 // what it moves, bit/s
	cpu      float64 // share of the time that its least busy core is busy
	run      float64 // share of the time that the service's tasks are on a CPU, all together
	wait     float64 // the same of being runnable without one
	one      float64 // both, of the task that waits most
	task     string  // that waits most
	threads  int64   // of the kernel's NFS server; 0: it does not run
	noThread float64 // share of the arrivals that found none idle
}

// viewServer looks at the end that serves the mount; nil where it was not seen.
func viewServer(c *views) *serverView {
	end := c.Sender
	if end == c.mount.end {
		end = c.Receiver
	}
	if end == nil || len(end.Samples) < 2 {
		return nil
	}
	in := end.Samples
	v := &serverView{end: end, n: len(in), waits: unknown(), disk: unknown(), moved: unknown(), cpu: unknown(), run: unknown(), wait: unknown(), one: unknown(), noThread: unknown()}
	h := &hostView{busy: unknown(), least: unknown(), kernel: unknown(), steal: unknown()}
	var allowed []int
	if end.Facts != nil {
		allowed = end.Facts.CPUs
	}
	h.cores(in, allowed)
	v.cpu = h.least
	v.tasks(in)
	v.counters(in, c.mount.op == "READ")
	return v
}

// tasks sums what the tasks that serve did.
func (v *serverView) tasks(in []model.Sample) {
	type seen struct{ first, last model.Task }
	all := map[int]*seen{}
	blocked, samples := 0, 0
	for _, s := range in {
		if len(s.Tasks) == 0 {
			continue
		}
		samples++
		if slices.ContainsFunc(s.Tasks, func(t model.Task) bool { return t.State == "D" }) {
			blocked++
		}
		for _, t := range s.Tasks {
			if all[t.TID] == nil {
				all[t.TID] = &seen{first: t}
			}
			all[t.TID].last = t
		}
	}
	if samples < 2 {
		return
	}
	v.own, v.run, v.wait = true, 0, 0
	v.waits = float64(blocked) / float64(samples)
	d, most := wall(in), 0.0
	for _, tid := range sortedKeys(all) {
		t := all[tid]
		r, w := max(0, (t.last.CPU-t.first.CPU).Seconds()/d), max(0, (t.last.Wait-t.first.Wait).Seconds()/d)
		v.run += r
		if v.wait += w; w >= most {
			most, v.one, v.task = w, r+w, t.last.Name
		}
	}
}

// counters takes what the kernel counts of the disk and of its NFS server.
func (v *serverView) counters(in []model.Sample, reads bool) {
	first, last, d, n := counted(in, func(s model.Sample) *model.ServerCount { return s.Server })
	if !(d > 0) {
		return
	}
	if !v.own {
		blocked := 0
		for _, s := range in {
			if s.Server != nil && s.Server.Blocked > 0 {
				blocked++
			}
		}
		v.waits = float64(blocked) / float64(n)
	}
	if a, b := first.Disk, last.Disk; a != nil && b != nil && a.Name == b.Name {
		v.name, v.disk = b.Name, min(1, max(0, (b.Busy-a.Busy).Seconds()/d))
		bytes := b.Write.Bytes - a.Write.Bytes
		if reads {
			bytes = b.Read.Bytes - a.Read.Bytes
		}
		v.moved = max(0, float64(bytes)*8/d)
	}
	if a, b := first.NFSD, last.NFSD; a != nil && b != nil {
		v.threads = b.Threads
		if n := b.Arrived - a.Arrived; n > 0 {
			v.noThread = math.Max(0, 1-ratio(float64(b.Woken-a.Woken), float64(n)))
		}
	}
}

// waitsForDisk is the share of the time that requests wait for the served disk; 0
// where that disk moves too little to be the one that they wait for.
func (v *serverView) waitsForDisk(goodput float64) float64 {
	if !v.own && known(v.moved) && v.moved < fromDisk*goodput {
		return 0
	}
	if v.disk > v.waits || !known(v.waits) {
		return v.disk
	}
	return v.waits
}

// starved is the share (0..1) of the time that the service wants a CPU and lacks it.
// Where all cores are full, the CPU time and the waiting of all its tasks count. Where
// cores have time left, a burst of requests wakes many tasks, which then wait for each
// other: so only the task that waits most counts, since a quota or affinity must be
// what keeps it waiting. Without tasks to be seen, the cores decide.
func (v *serverView) starved() float64 {
	wants := v.run + v.wait
	if v.cpu < noTimeLeft {
		wants = v.one
	}
	switch {
	case v.cpu >= noTimeLeft && wants >= serverWorks && v.wait >= getsShort*wants:
		return min(1, max(wantsAll, wants))
	case known(wants) && wants >= wantsAll && v.wait >= getsShort*wants:
		return min(1, wants)
	case known(wants):
		return min(1, v.run/max(1, float64(v.cores())))
	case v.cpu >= noTimeLeft:
		return v.cpu
	case known(v.cpu):
		return min(v.cpu, serverWorks) / 2
	}
	return unknown()
}

// lacksCPU tells whether the elected lack of CPU on a host is that of this server's
// file service.
func (v *serverView) lacksCPU(host string) bool {
	return v != nil && v.own && v.end.Host == host && v.starved() >= wantsAll
}

func (v *serverView) cores() int {
	if v.end.Facts == nil {
		return 1
	}
	return len(v.end.Facts.CPUs)
}

// judgeSeen weighs where a call's time goes with the server in view: the server is
// busy all the time, or it stands idle until the next call comes.
func (m *mountView) judgeSeen(v *serverView, goodput float64) *finding {
	disk, cpu := v.waitsForDisk(goodput), v.starved()
	f := &finding{id: model.ServerTime, host: v.end.Host, cap: seenCap}
	switch {
	case disk >= serverWorks && !(cpu > disk):
		f.margin = over(disk, serverWorks, 0.9)
		f.advice = "give the server a faster disk, or more memory: requests wait for " + v.diskName()
		v.diskEvidence(f)
		if !v.own {
			f.cap = machineCap
		}
	case cpu >= wantsAll:
		f.margin = over(cpu, serverWorks, 0.9)
		f.advice = "give the server's file service more CPU: " + v.cpuName()
		v.cpuEvidence(f)
		if !v.own { // what fills the cores may take nothing from the service
			f.cap = unseenTaskCap
		}
	case v.threads > 0 && v.noThread >= threadsShort && float64(v.threads) <= math.Ceil(m.inflight):
		f.margin, f.cap, f.cause = over(v.noThread, threadsShort, 0.9), machineCap, causeThreads
		f.advice = fmt.Sprintf("start more NFS threads on the server than %d (/proc/fs/nfsd/threads; RPCNFSDCOUNT, or threads= in nfs.conf)", v.threads)
		v.threadEvidence(f)
	default:
		return m.serverIdle(v, disk, cpu)
	}
	m.callEvidence(f)
	if net := ratio(m.net, m.rtt); net >= 0.25 {
		f.or(m.kind.concurrency, m.kind.moreProbe+": if the rate rises, more has to be under way")
	}
	return f
}

// serverIdle: neither its disk nor its CPU is what a call waits for.
func (m *mountView) serverIdle(v *serverView, disk, cpu float64) *finding {
	if !known(disk) && !known(cpu) {
		return nil
	}
	works := max(0, disk, cpu)
	if !known(disk) || !known(cpu) {
		works = serverWorks / 2
	}
	f := &finding{id: m.kind.concurrency, host: m.end.Host, cap: 0.9, margin: over(works, serverWorks, 0.1)}
	f.say(m.end.Host, m.kind.metric+"_inflight", m.inflight, "calls", m.n, "only %.1f %s %s of %s are under way, and the server stands idle most of the time", m.inflight, m.op, m.kind.calls, size(m.size))
	v.diskEvidence(f)
	v.cpuEvidence(f)
	m.callEvidence(f)
	if m.inflight >= severalCalls && m.net < turnShare*m.rtt {
		// Calls take much longer than a round trip although the server stands idle:
		// something between the two hosts may hold them back, and neither shows it.
		f.cap = crowdedCap
		f.or(model.LinkRate, m.kind.moreProbe+": if the rate stays, it is not what is under way")
	}
	f.or(model.ApplicationSource, "copy with several files or readers at once: if the rate rises, the application asked for too little")
	return f
}

func (v *serverView) diskName() string {
	if v.name == "" {
		return "its disk"
	}
	return v.name
}

func (v *serverView) cpuName() string {
	if v.wait > 0 && v.task != "" {
		return v.task + " waits for a core"
	}
	return "no core of it has time left"
}

// waitsForDiskMetric is the metric of the evidence that the server waits for its disk.
const waitsForDiskMetric = "server_disk_wait_share"

func (v *serverView) diskEvidence(f *finding) {
	what, scope := "the file service waits for a disk", ""
	if !v.own {
		what, scope = "something on the server waits for a disk", "machine"
	}
	f.say(v.end.Host, waitsForDiskMetric, v.waits, "ratio", v.n, "%s in %s of the samples", what, pct(v.waits))
	if scope != "" && len(f.evidence) > 0 && f.evidence[len(f.evidence)-1].Metric == waitsForDiskMetric {
		f.evidence[len(f.evidence)-1].Scope = scope
	}
	f.say(v.end.Host, "server_disk_busy_share", v.disk, "ratio", v.n, "the disk %s has work %s of the time and moves %s", v.diskName(), pct(v.disk), bits(v.moved))
}

func (v *serverView) cpuEvidence(f *finding) {
	f.say(v.end.Host, "server_run_delay_share", v.wait, "ratio", v.n, "%s is runnable without a CPU %s of the time", v.task, pct(v.wait))
	f.say(v.end.Host, "server_cpu_share", v.run, "ratio", v.n, "the file service uses %s of a core", pct(v.run))
	f.say(v.end.Host, "server_core_busy_share", v.cpu, "ratio", v.n, "its least busy core is busy %s of the time", pct(v.cpu))
}

func (v *serverView) threadEvidence(f *finding) {
	f.say(v.end.Host, "nfsd_no_idle_thread_share", v.noThread, "ratio", v.n, "%s of what arrives finds all %d NFS threads at work", pct(v.noThread), v.threads)
}
