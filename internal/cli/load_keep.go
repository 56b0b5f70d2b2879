package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/facts"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/load/block"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// loadRecord is what a load leaves behind.
type loadRecord struct {
	kind, command, line string
	text                string // what people read
	shown               bool   // they have, run by run
	value               loadValue
	series              []model.LoadSeries
	hosts               []string
	agents              []*host.Client // of hosts; none: this one
	runs                []model.Run
}

// loadValue is what --json prints, which says where the report lies.
type loadValue interface{ setReport(path string) }

func (r *loadResult) setReport(path string)   { r.Report = path }
func (r *jobsResult) setReport(path string)   { r.Report = path }
func (r *withResult) setReport(path string)   { r.Report = path }
func (r *tcpResult) setReport(path string)    { r.Report = path }
func (r *framesResult) setReport(path string) { r.Report = path }

// concludeLoad keeps the bundle of a load and prints what it did. A bundle that
// cannot be written does not hide the figures: they are printed, then the error.
func concludeLoad(ctx context.Context, env *environment, p *progress, l loadRecord) error {
	p.End()
	path, kept := l.keep(ctx, env, p)
	if kept != nil {
		kept = fmt.Errorf("keep the load: %w", kept)
	}
	l.value.setReport(path)
	if env.json {
		if err := printJSON(env, l.value); err != nil {
			return err
		}
		return kept
	}
	text := l.text
	if l.shown {
		text = ""
	}
	if path != "" {
		text += "\nreport  " + path + "\n"
	}
	if _, err := fmt.Fprint(env.out, text); err != nil {
		return err
	}
	return kept
}

// lookTime bounds how long the facts of the hosts are waited for.
const lookTime = 15 * time.Second

func (l loadRecord) keep(ctx context.Context, env *environment, p *progress) (string, error) {
	data, err := json.Marshal(l.value)
	if err != nil {
		return "", fmt.Errorf("write results: %w", err)
	}
	rec := &loop.Record{Facts: map[string]*model.Facts{}, Results: model.Results{
		Command: l.command, Build: env.Build, Started: p.began, Took: env.Now().Sub(p.began), Hosts: l.hosts, Runs: l.runs,
		Load: &model.Load{V: model.LoadVersion, Kind: l.kind, Line: l.line, Text: l.text, Series: l.series, Data: data},
	}}
	if rec.Results.Load.Series == nil {
		rec.Results.Load.Series = []model.LoadSeries{}
	}
	rec.Results.V, rec.Results.Restored, rec.Results.Verdict.Line = model.OutcomeVersion, true, l.line
	l.look(ctx, env, rec)
	err = app.Keep(env.Env, rec)
	return rec.Results.Report, err
}

// look takes the facts of the hosts: the figures are of machines in that state.
func (l loadRecord) look(ctx context.Context, env *environment, rec *loop.Record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	missed := func(name string, err error) {
		rec.Results.Warnings = append(rec.Results.Warnings, model.Warning{ID: "facts-missing", What: "the facts of " + name + " are not in the bundle: " + err.Error(),
			Next: "look at it with linerate check"})
	}
	if len(l.agents) == 0 {
		f, err := facts.Read(ctx, kernel.Live{}, reach.Here, env.Now())
		if err != nil {
			missed("this host", err)
			return
		}
		rec.Facts[reach.Here] = f
		return
	}
	for i, a := range l.agents {
		f, err := a.Facts(ctx)
		if err != nil {
			missed(l.hosts[i], err)
			continue
		}
		f.Host = l.hosts[i]
		rec.Facts[l.hosts[i]] = f
	}
}

// bytesPerSecond is the course of a load on storage.
func bytesPerSecond(name string, points []block.Second, each int) model.LoadSeries {
	s := model.LoadSeries{Name: name, Unit: "B/s", Each: max(each, 1), Values: []float64{}}
	for _, p := range points {
		s.Values = append(s.Values, float64(p.ReadBytes+p.WrittenBytes)/float64(s.Each))
	}
	return s
}
