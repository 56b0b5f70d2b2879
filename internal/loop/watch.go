package loop

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/explain"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// Target is what to watch from this end.
type Target struct {
	Name  string       // as the user named it
	Peers []netip.Addr // the other end
	Ports []uint16     // of the service; empty is any
	Mount string       // NFS mount point, for its RPC statistics
	Share string       // SMB share, //server/name, for its request statistics
	Disk  string       // block device of an iSCSI session, e.g. sda, likewise
}

func (t Target) String() string {
	if len(t.Peers) == 0 || t.Peers[0].String() == t.Name {
		return t.Name
	}
	return fmt.Sprintf("%s (data path to %s)", t.Name, t.Peers[0])
}

// Watcher is what watching asks of a host.
type Watcher interface {
	Facts(ctx context.Context) (*model.Facts, error)
	StartSampling(ctx context.Context, w measure.Watch, interval time.Duration) (stop func() ([]model.Sample, error), err error)
}

// IdleError: nothing moved while we watched, so there is nothing to judge.
type IdleError struct {
	Target Target
	Waited time.Duration
	Conns  int // connections that were there, idle
}

func (e *IdleError) Error() string {
	if e.Conns == 0 {
		return fmt.Sprintf("watch %s: no TCP connection to there in %s; start the copy, then run this again while it goes on", e.Target, e.Waited.Round(time.Second))
	}
	return fmt.Sprintf("watch %s: idle, %d connections moved no data in %s; start the copy, then run this again while it goes on", e.Target, e.Conns, e.Waited.Round(time.Second))
}

// Watch judges a transfer that runs anyway, from one end, without any load.
type Watch struct {
	Agent    Watcher
	Host     string // this end's name; empty: its own host name
	Target   Target
	LineRate model.Fact[unit.BitRate]
	For      time.Duration // how long to watch once data moves
	Patience time.Duration // how long to wait for that, For included
	Now      func() time.Time
	Progress func(step string)
}

const sampleInterval = 100 * time.Millisecond

// moving is the least that counts as a transfer: less is keep-alives and
// directory look-ups.
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
	if err := w.awaitData(ctx); err != nil {
		return rec, err
	}
	started := w.Now()
	samples, err := w.sample(ctx, w.For)
	if err != nil {
		return rec, err
	}
	sent, received, conns := moved(samples)
	if rate(max(sent, received), samples) < moving && !stuck(samples) {
		return rec, &IdleError{w.Target, w.For, conns}
	}
	w.Progress("judging")
	run := model.Run{Label: "watched", Started: started, Window: w.For, Samples: map[string][]model.Sample{w.Host: samples}}
	run.Bytes, run.Goodput = unit.Bytes(max(sent, received)), rate(max(sent, received), samples)
	r.Runs = append(r.Runs, run)
	c := w.oneSided(facts, samples)
	r.Verdict = explain.Judge(c)
	r.Ladder = explain.Ladder(c, r.Verdict)
	r.Findings = rules.Check(facts, rules.Context{LineRate: w.LineRate.Or(0), RTT: minRTT(samples)})
	r.Took = w.Now().Sub(r.Started)
	return rec, nil
}

// awaitData looks a second at a time until bytes move.
func (w *Watch) awaitData(ctx context.Context) error {
	started, told := w.Now(), false
	for {
		samples, err := w.sample(ctx, time.Second)
		if err != nil {
			return err
		}
		sent, received, conns := moved(samples)
		if rate(max(sent, received), samples) >= moving || stuck(samples) {
			return nil
		}
		if waited := w.Now().Sub(started); waited+w.For >= w.Patience {
			return &IdleError{w.Target, waited, conns}
		}
		if !told {
			told = true
			w.Progress(fmt.Sprintf("waiting for data to move (%d connections, idle): start the copy now", conns))
		}
	}
}

func (w *Watch) sample(ctx context.Context, d time.Duration) ([]model.Sample, error) {
	stop, err := w.Agent.StartSampling(ctx, measure.Watch{
		Addrs: w.Target.Peers, Ports: w.Target.Ports, FindOwners: true,
		Mount: w.Target.Mount, Share: w.Target.Share, Disk: w.Target.Disk,
	}, sampleInterval)
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
	for i := range samples { // one host, one clock: its own
		samples[i].At = samples[i].HostAt.Sub(samples[0].HostAt)
	}
	return samples, nil
}

// oneSided is the case of this end alone; which way the data goes is read
// from it.
func (w *Watch) oneSided(facts *model.Facts, samples []model.Sample) explain.Case {
	end := &explain.End{Host: w.Host, Facts: facts, Samples: samples}
	if len(w.Target.Peers) > 0 {
		end.Peer = w.Target.Peers[0]
	}
	return explain.Watched(end, w.LineRate)
}

// moved sums what each connection acknowledged and received between its first
// and last appearance. conns counts connections seen at the end.
func moved(samples []model.Sample) (sent, received int64, conns int) {
	type ends struct{ local, remote netip.AddrPort }
	first := map[ends]model.Conn{}
	last := map[ends]model.Conn{}
	for _, s := range samples {
		for _, c := range s.Conns {
			k := ends{c.Local, c.Remote}
			if f, ok := first[k]; !ok || c.Inode != f.Inode {
				first[k] = c
			}
			last[k] = c
		}
	}
	for k, l := range last {
		sent += max(0, l.BytesAcked-first[k].BytesAcked)
		received += max(0, l.BytesReceived-first[k].BytesReceived)
	}
	return sent, received, len(last)
}

// stuck: a connection is not idle but sends the same again and again, each time
// after twice the wait (tcp_info's backoff), without an answer.
func stuck(samples []model.Sample) bool {
	if len(samples) == 0 {
		return false
	}
	return slices.ContainsFunc(samples[len(samples)-1].Conns, func(c model.Conn) bool { return c.Backoff >= 2 && c.Unacked > 0 })
}

func rate(bytes int64, samples []model.Sample) unit.BitRate {
	if len(samples) < 2 {
		return 0
	}
	d := samples[len(samples)-1].HostAt.Sub(samples[0].HostAt)
	if d <= 0 {
		return 0
	}
	return unit.BitRate(float64(bytes) * 8 / d.Seconds())
}
