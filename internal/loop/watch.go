package loop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/explain"
	"linerate/internal/load"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// Target is what to watch from this end.
type Target struct {
	Name  string       // as the user named it
	Peers []netip.Addr // addresses of the other end; empty for a process
	// Control is the process on this host that talks to the watched hosts. The traffic of it and of
	// its ssh sessions is not counted as the path's. 0: none.
	Control int
	Ports   []uint16 // ports of the service; empty: any
	Mount   string   // NFS mount point, for its RPC statistics
	Share   string   // SMB share, //server/name, for its request statistics
	Disk    string   // block device of an iSCSI session, e.g. sda, likewise
	// PID is a process whose connections are watched, with its descendants';
	// 0 is none. Peers are then servers of the storage it uses.
	PID int
	// NoTasks: the host's system does not show the threads of a process, so that seeing none does not
	// mean that the process has ended.
	NoTasks bool
	// Without is the message if there is no connection at all; Watch then does not wait for
	// one. Empty: Watch waits.
	Without string
	// Elsewhere is where else to look if there is no connection after all the waiting.
	Elsewhere string
	// Notes are added to the verdict's.
	Notes []string
}

func (t Target) String() string {
	if len(t.Peers) == 0 || t.Peers[0].String() == t.Name {
		return t.Name
	}
	return fmt.Sprintf("%s (data path to %s)", t.Name, t.Peers[0])
}

// protocol is the protocol of the target, in the words of the published results; empty for
// plain TCP.
func (t Target) protocol() string {
	switch {
	case t.Mount != "":
		return "NFS"
	case t.Share != "":
		return "SMB"
	case t.Disk != "":
		return "iSCSI"
	}
	return ""
}

// Watcher is what Watch needs of a host.
type Watcher interface {
	Facts(ctx context.Context) (*model.Facts, error)
	StartSampling(ctx context.Context, w measure.Watch, interval time.Duration) (stop func() ([]model.Sample, error), err error)
}

// IdleError: no data moved while the path was watched, so there is nothing to judge.
type IdleError struct {
	Target Target
	Waited time.Duration
	Conns  int  // idle connections that were seen
	Ended  bool // the process has ended
}

func (e *IdleError) Error() string {
	switch {
	case e.Ended:
		return fmt.Sprintf("watch %s: it ended before data moved; attach while the copy goes on", e.Target)
	case e.Conns == 0 && e.Target.Without != "":
		return fmt.Sprintf("watch %s: %s", e.Target, e.Target.Without)
	case e.Conns == 0:
		which, also := "to there", ""
		if e.Target.PID != 0 {
			which = "of it"
		}
		if e.Target.Elsewhere != "" {
			also = "; " + e.Target.Elsewhere
		}
		return fmt.Sprintf("watch %s: no TCP connection %s in %s; start the copy, then run this again while it goes on%s", e.Target, which, e.Waited.Round(time.Second), also)
	}
	return fmt.Sprintf("watch %s: idle, %d connections moved no data in %s; start the copy, then run this again while it goes on", e.Target, e.Conns, e.Waited.Round(time.Second))
}

// Watch judges a transfer that runs anyway, from one end, without load by linerate.
type Watch struct {
	Agent    Watcher
	Host     string // this end's name; empty: its own host name
	Target   Target
	LineRate model.Fact[unit.BitRate]
	For      time.Duration // how long to watch once data moves
	Wait     time.Duration // how long to wait for that; 0 looks once, for a second
	Now      func() time.Time
	Progress func(step string)
	// Read is what to read if no data moves within Wait; nil: no load.
	Read *load.ReadSpec
	// Write is a directory on the target to write a file in instead; empty: none.
	Write string

	clock time.Duration // by how much the host's clock was set during the last sampling
}

// mayLoad reports whether Watch may load the target if no data moves.
func (w *Watch) mayLoad() bool { return w.Read != nil || w.Write != "" }

const sampleInterval = 100 * time.Millisecond

// moving is the lowest rate that counts as a transfer: less is keep-alives and directory
// look-ups.
const moving = unit.BitRate(1e5)

// Run waits until data moves, watches, and judges. Its record holds one run
// labelled "watched".
func (w *Watch) Run(ctx context.Context) (*Record, error) {
	rec := &Record{Facts: map[string]*model.Facts{}}
	r := &rec.Results
	r.V, r.Restored, r.Started = model.OutcomeVersion, true, w.Now()
	facts, err := w.Agent.Facts(ctx)
	if err != nil {
		return rec, fmt.Errorf("look at %s: %w", w.Host, err)
	}
	if w.Host == "" {
		w.Host = facts.Hostname
		facts.Host = facts.Hostname
	}
	rec.Facts[w.Host], r.Hosts = facts, []string{w.Host}
	err = w.awaitData(ctx)
	var nothing *IdleError
	if w.mayLoad() && errors.As(err, &nothing) {
		return rec, w.loadItself(ctx, rec)
	}
	if errors.As(err, &nothing) {
		return rec, w.shortOnes(ctx, rec, nothing)
	}
	if err != nil {
		return rec, err
	}
	started := w.Now()
	samples, err := w.sample(ctx, w.For)
	if err != nil {
		return rec, err
	}
	peers := traffic(samples)
	if w.mayLoad() && idle(peers, samples) { // the first data were the end of an earlier transfer
		return rec, w.loadItself(ctx, rec)
	}
	if idle(peers, samples) {
		return rec, &IdleError{Target: w.Target, Waited: w.For, Conns: conns(peers), Ended: w.ended(samples)}
	}
	w.Progress("judging")
	judged := peers[0]
	storage := w.Target.serves(judged.addr)
	if !storage {
		forgetMount(samples)
	}
	run := model.Run{Label: "watched", Started: started, Window: w.For, Samples: map[string][]model.Sample{w.Host: samples}}
	run.Bytes, run.Goodput = unit.Bytes(judged.bytes()), rate(judged.bytes(), samples)
	r.Runs = append(r.Runs, run)
	c := explain.Watched(&explain.End{Host: w.Host, Facts: facts, Samples: samples, Peer: judged.addr}, w.LineRate)
	c.OneEnd, c.Notes = true, w.notes(peers, samples)
	if storage {
		c.Protocol = w.Target.protocol()
	}
	w.conclude(rec, c)
	return rec, nil
}

// conclude makes the verdict on a case of this end.
func (w *Watch) conclude(rec *Record, c explain.Case) {
	r := &rec.Results
	check(r, &c, rec.Facts[w.Host], rules.Context{LineRate: w.LineRate.Or(0), RTT: minRTT(r.Runs[0].Samples[w.Host])})
	r.Verdict = explain.Judge(c)
	r.Ladder = explain.Ladder(c, r.Verdict)
	r.Took = w.Now().Sub(r.Started)
}

// awaitData takes samples of one second each until data moves.
func (w *Watch) awaitData(ctx context.Context) error {
	started, asked := w.Now(), false
	for {
		samples, err := w.sample(ctx, time.Second)
		if err != nil {
			return err
		}
		peers := traffic(samples)
		if !idle(peers, samples) {
			return nil
		}
		waited, n, ended := w.Now().Sub(started), conns(peers), w.ended(samples)
		if waited >= w.Wait || ended || n == 0 && w.Target.Without != "" {
			return &IdleError{w.Target, waited, n, ended}
		}
		if !asked {
			asked = true
			w.Progress(fmt.Sprintf("waiting for data to move (%d connections, idle): start the copy now", n))
		}
	}
}

func (w *Watch) sample(ctx context.Context, d time.Duration) ([]model.Sample, error) {
	began := w.Now()
	stop, err := w.Agent.StartSampling(ctx, w.Target.watch(), sampleInterval)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", w.Target, err)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	samples, err := stop()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("watch %s: %w", w.Target, ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", w.Target, err)
	}
	w.clock = setClock(samples, w.Now().Sub(began))
	return samples, nil
}
