// Package load is the work of the load commands: it reaches the hosts that take part,
// puts the load on them or on this host, adds up what they did, says what speaks
// against the figures, and keeps the bundle. It refuses loads on targets that hold
// somebody's data unless those were named twice, and makes no text but the one line
// that a load is listed by: a load's result is a value.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/facts"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/load/storage"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

// Made is a load that was made.
type Made struct {
	// Value is what it came to: *BlockResult, *JobsResult, *PoolsResult, *TCPResult or
	// *FramesResult.
	Value  Value
	record *app.Record
}

// Value is the result of a load.
type Value interface {
	keptAt(report string)
	required([]Checked)
	warn(text string)
	Said() (doubts []string, requirements []Checked)
}

// kept is where a load's bundle is.
type kept struct {
	// Report is where the bundle's page lies; empty: it could not be kept.
	Report string `json:"report,omitempty"`
	// Doubts are what else speaks against the figures as a whole.
	Doubts []string `json:"doubts,omitempty"`
	// Required is what the load was to reach.
	Required []Checked `json:"requirements,omitempty"`
}

func (k *kept) required(all []Checked) { k.Required = all }
func (k *kept) warn(text string)       { k.Doubts = append(k.Doubts, text) }

// Said is what was said of the load as a whole.
func (k *kept) Said() ([]string, []Checked) { return k.Doubts, k.Required }

func (k *kept) keptAt(report string) { k.Report = report }

// Keep writes the bundle of the load, with the text that people are shown of it, and
// returns where its page lies.
func (m *Made) Keep(e app.Env, command, text string) (report string, err error) {
	r := &m.record.Results
	if r.Load.Data, err = json.Marshal(m.Value); err != nil {
		return "", fmt.Errorf("write results: %w", err)
	}
	r.Command, r.Load.Text = command, text
	err = app.Keep(e, m.record)
	m.Value.keptAt(r.Report)
	return r.Report, err
}

// session is a load under way.
type session struct {
	env app.Env
	p   app.Progress
	// names are of the hosts that take part, as the user named them, and agents what
	// was reached there; no agents: this process makes the load.
	names  []string
	agents []*host.Client
	busy   string // what was seen of others' load here, before this one; empty: nothing
}

func here(e app.Env, p app.Progress) *session {
	return &session{env: e, p: p, names: []string{"local"}, busy: busyHere()}
}

// close ends the agents.
func (s *session) close() {
	for _, a := range s.agents {
		_ = a.Close() // the figures are in hand; an agent that hangs is killed
	}
}

// listed are the hosts, as a result lists them.
func (s *session) listed() (out []Host) {
	for _, n := range s.names {
		out = append(out, Host{Name: n})
	}
	return out
}

// made is the end of a load that has figures.
func (s *session) made(ctx context.Context, kind string, v Value, line string, series []model.LoadSeries, runs ...model.Run) *Made {
	if series == nil {
		series = []model.LoadSeries{}
	}
	rec := &app.Record{Facts: map[string]*model.Facts{}, Results: model.Results{
		Started: s.p.Started(), Took: s.env.Now().Sub(s.p.Started()), Hosts: s.names, Runs: runs,
		Load: &model.Load{V: model.LoadVersion, Kind: kind, Line: line, Series: series},
	}}
	rec.Results.V, rec.Results.Restored, rec.Results.Verdict.Line = model.OutcomeVersion, true, line
	s.look(ctx, rec)
	if s.busy != "" {
		v.warn(s.busy)
	}
	return &Made{v, rec}
}

// lookTime bounds how long the facts of the hosts are waited for.
const lookTime = 15 * time.Second

// look takes the facts of the hosts: the figures are of machines in that state.
func (s *session) look(ctx context.Context, rec *app.Record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	take := func(name, called string, f *model.Facts, err error) {
		if err != nil {
			rec.Results.Warnings = append(rec.Results.Warnings, model.Warning{ID: "facts-missing", What: "the facts of " + called + " are not in the bundle: " + err.Error(),
				Next: "look at it with linerate check"})
			return
		}
		f.Host = name
		rec.Facts[name] = f
	}
	if len(s.agents) == 0 {
		f, err := facts.Read(ctx, kernel.Live{}, reach.Here, s.env.Now())
		take(reach.Here, "this host", f, err)
	}
	for i, a := range s.agents {
		f, err := a.Facts(ctx)
		take(s.names[i], s.names[i], f, err)
	}
}

// onStorage makes f's loads on storage in this process, which has at most so much
// memory; 0: as much as there is.
func (s *session) onStorage(ctx context.Context, most unit.Bytes, f func(storage.Hooks) error) error {
	h := storage.Hooks{Say: func(text string) { s.p.Say("%s", text) }, Watch: s.watch(ctx)}
	return refused(storage.Limited(most, h, f))
}

// refused makes a refusal of the target something that cannot be had as it was asked for.
func refused(err error) error {
	var r *load.RefusedError
	if errors.As(err, &r) && failure.KindOf(err) == failure.Failed {
		return failure.As(failure.Usage, err)
	}
	return err
}

// ended is the end of a load: by itself, or by Ctrl-C. That has changed no setting, and
// what the load has written cannot be taken back.
func ended(ctx context.Context, err error, path string, wrote bool) error {
	if ctx.Err() == nil || err == nil {
		return refused(err)
	}
	stays := "nothing was written"
	if wrote {
		stays = "what was written to " + path + " stays"
	}
	var stuck *block.StuckError
	if errors.As(err, &stuck) {
		stays += fmt.Sprintf(" (%v)", stuck)
	}
	return failure.Of(failure.Interrupted, "interrupted; %s", stays)
}
