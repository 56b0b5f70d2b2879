package copy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/app"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
	"linerate/internal/unit"
)

// Job is a copy that is only measured, between two hosts that are reached already.
type Job struct {
	From, To JobEnd
	Source   string // absolute path on From
	Target   string // absolute path of a directory on To: a new one below it is written to
	Streams  int    // 0: as many as bring something
	Plain    bool
	Full     bool
}

// JobEnd is one host of a Job.
type JobEnd struct {
	Name  string // how it is reached
	Agent *host.Client
	Addr  netip.Addr // of the data path
}

// mute is a progress that hears nothing: the study has its own words.
type mute struct{ app.Progress }

// Say implements app.Progress.
func (mute) Say(string, ...any) {}

// Live implements app.Progress.
func (mute) Live() bool { return false }

// Measure copies into a new directory, which is removed again, and says what it was as a run:
// its samples by the hosts' names, its goodput over the time since the ends met. A copy of
// which a file failed is an error; losses of metadata are warnings.
func Measure(ctx context.Context, e app.Env, j Job, label string, p app.Progress) (model.Run, error) {
	b := &between{env: e, p: mute{p}, report: move.NewReport(nil), began: e.Now(), o: Options{Sources: []string{j.Source}, Target: j.Target, Far: Far{Streams: j.Streams, Plain: j.Plain}, Full: j.Full}}
	b.out = &Result{V: resultVersion, Sources: b.o.Sources, Target: b.o.Target, Warnings: []string{}}
	defer b.close()
	run, secret, err := wire.Draw()
	if err != nil {
		return model.Run{}, err
	}
	from := mover.Task{Full: j.Full, Plain: j.Plain, Run: run, Secret: secret, Streams: j.Streams, Read: []move.Raw{move.Raw(j.Source)}, Cold: true}
	to := mover.Task{Full: j.Full, Plain: j.Plain, Run: run, Secret: secret, Write: move.Raw(j.Target), Scratch: true}
	for _, x := range []struct {
		s  **side
		of JobEnd
	}{{&b.from, j.From}, {&b.to, j.To}} {
		n, err := host.ParseName(x.of.Name)
		if err != nil {
			return model.Run{}, err
		}
		*x.s = &side{as: x.of.Name, name: n, agent: x.of.Agent, addr: x.of.Addr}
	}
	out := model.Run{Label: label, Started: b.began}
	if err := b.start(ctx, from, to); err != nil {
		return out, fmt.Errorf("prepare the copy: %w", err)
	}
	r, err := b.ended(ctx, b.move(ctx))
	if r.State == "stopped" || r.Lost[move.Failed] > 0 {
		return out, fmt.Errorf("copy %s of %s: %w", j.Source, j.From.Name, err)
	}
	out.Window, out.Bytes, out.Goodput = time.Duration(r.Wire.MovedNs), unit.Bytes(r.Moved.Kept()), unit.BitRate(r.Rate)
	if err != nil {
		out.Warnings = append(out.Warnings, model.Warning{ID: "copy-lossy", What: err.Error(), Next: "run the same copy by hand: linerate copy names what could not be kept"})
	}
	out.Samples = map[string][]model.Sample{}
	b.seen.mu.Lock()
	defer b.seen.mu.Unlock()
	for _, e := range b.seen.ends {
		out.Samples[e.host] = slices.Clone(e.samples)
	}
	return out, nil
}
