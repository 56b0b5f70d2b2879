package study

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/report"
	"linerate/internal/store"
	"linerate/internal/study/drive"
	"linerate/internal/study/file"
)

// conclude keeps the results of a study that is over.
func (s *session) conclude(root string, out *experiment.Outcome) (*model.Results, error) {
	r, err := results(s.file, s.drive, out)
	if err != nil {
		return nil, err
	}
	r.Started = s.begun
	r.Took = s.env.Now().Sub(s.begun)
	r.Build = s.env.Build
	r.Command = "study run " + s.file.Name
	r.Study.Started = r.Started
	r.Study.Took = r.Took
	id, err := s.bundle(root, r, out.Facts)
	if err != nil {
		return nil, failure.As(failure.KindOf(err), &StoppedError{ID: s.state.ID(), Runs: len(out.Runs), Unkept: true, Err: err})
	}
	return r, s.state.Finish(s.env.Now(), r.Study.Ended, id)
}

// stopped is the end of a study that was not finished.
func (s *session) stopped(out *experiment.Outcome, err error, interrupted bool) error {
	var not *experiment.NotRestoredError
	var changed *experiment.ChangedHostError
	why := store.StudyEntry{Kind: store.StudyStopped, At: s.env.Now(), Why: failure.FirstLine(err), Restored: out.Restored}
	if perr := s.state.Put(why); perr != nil {
		err = fmt.Errorf("%w; how the study ended could not be recorded: %w", err, perr)
	}
	e := &StoppedError{ID: s.state.ID(), Runs: len(out.Runs), Err: err}
	switch {
	case errors.As(err, &not):
		return failure.As(failure.NotRestored, e)
	case interrupted:
		return failure.As(failure.Interrupted, e)
	}
	e.Changed = errors.As(err, &changed)
	return failure.As(failure.Failed, e)
}

// results are what a bundle keeps of a study.
func results(f model.StudyFile, d *drive.Drive, out *experiment.Outcome) (*model.Results, error) {
	st := &model.Study{Restored: out.Restored, Reverted: []model.StudyAdvice{}}
	if err := d.Findings(st); err != nil {
		return nil, fmt.Errorf("conclude the study: %w", err)
	}
	if len(st.Runs) < len(out.Runs) { // some were made before the study was begun anew
		st.Runs = out.Runs
	}
	st.Ended = cmp.Or(out.Ended, st.Ended)
	byName := map[string]*model.Facts{}
	for name, at := range f.Hosts {
		byName[name] = out.Facts[at]
	}
	for _, a := range out.Reverted {
		a.Default = file.Default(byName[a.Host], a.Setting)
		st.Reverted = append(st.Reverted, a)
	}
	for i := range st.Recommended {
		r := &st.Recommended[i]
		r.Default = cmp.Or(r.Default, file.Default(byName[r.Host], r.Setting))
		for _, a := range out.Reverted {
			if a.Host == r.Host && a.Setting == r.Setting && r.Before == "" {
				r.Before = a.Before
			}
		}
	}
	r := &model.Results{Study: st, Runs: []model.Run{}}
	r.Outcome = model.Outcome{V: model.OutcomeVersion, Restored: out.Restored, Ended: st.Ended, Verdict: model.Verdict{Line: verdictLine(st)}}
	for _, name := range slices.Sorted(maps.Keys(f.Hosts)) {
		r.Hosts = append(r.Hosts, f.Hosts[name])
	}
	app.Normalise(r)
	return r, nil
}

// verdictLine is what a study found, in one sentence.
func verdictLine(s *model.Study) string {
	gains := ""
	decided, primary := 0, 0
	for _, c := range s.Comparisons {
		if !c.Primary || c.Conclusion == model.StudyInForce {
			continue
		}
		primary++
		switch c.Conclusion {
		case model.StudyUndecided, model.StudyNotTried, model.StudyNotConverged:
		default:
			decided++
		}
		if c.Conclusion == model.StudyGain && c.Ratio != nil {
			gains += fmt.Sprintf(", %s %s ×%.2f", c.Factor, c.Level, *c.Ratio)
		}
	}
	if gains == "" {
		gains = ", nothing is shown to pay"
	}
	return fmt.Sprintf("study %s: %s; %d of %d decided", s.Name, gains[2:], decided, primary)
}

// bundle writes the results with the samples on record, and returns the bundle's id.
func (s *session) bundle(root string, r *model.Results, facts map[string]*model.Facts) (id string, err error) {
	w, err := store.Create(root, "study "+s.file.Name, s.begun)
	if err != nil {
		return "", err
	}
	defer func() {
		if aerr := w.Abort(); err == nil {
			err = aerr
		}
	}()
	r.Warnings = append(r.Warnings, w.Warnings()...)
	r.Report = w.ReportPath()
	for _, at := range slices.Sorted(maps.Keys(facts)) {
		if err := w.Facts(facts[at]); err != nil {
			return "", err
		}
	}
	counted := map[string]bool{}
	for _, run := range r.Study.Runs {
		counted[run.Label] = true
	}
	samples, err := s.state.Samples(func(label string) bool { return counted[label] })
	if err != nil {
		return "", err
	}
	var runs []model.Run // only to carry the samples: all else is in r.Study
	for _, run := range r.Study.Runs {
		if samples[run.Label] != nil {
			runs = append(runs, model.Run{Label: run.Label, Samples: samples[run.Label]})
		}
	}
	if err := w.Samples(runs); err != nil {
		return "", err
	}
	if err := w.Results(r); err != nil {
		return "", err
	}
	if err := w.Report(func(out io.Writer) error { return report.HTML(out, r, samples, facts) }); err != nil {
		return "", err
	}
	_, err = w.Commit()
	return w.ID(), err
}

// soFar is what a study that is not over has found, by its record.
func soFar(past *store.StudyPast, now time.Time) (*model.Results, error) {
	d, err := drive.New(past.Begin.File)
	if err != nil {
		return nil, err
	}
	out := &experiment.Outcome{Runs: past.Runs(), Facts: map[string]*model.Facts{}, Ended: model.StudyNotOver}
	if end := past.Stopped(); end != nil {
		out.Ended, out.Restored = "it was stopped before its end: "+end.Why, end.Restored
	}
	var valid []model.StudyRun // since the study was last begun anew
	for _, e := range past.Entries {
		switch {
		case e.Kind == store.StudyPlanned:
			out.Reverted = experiment.Noted(out.Reverted, e.Host, e.Factor, e.Level, e.Changes)
		case e.Kind == store.StudyRan && e.Run != nil:
			valid = append(valid, *e.Run)
		case e.Kind == store.StudyAnew:
			valid = nil
		}
	}
	for _, r := range valid {
		if err := d.Add(r); err != nil {
			return nil, err
		}
	}
	r, err := results(past.Begin.File, d, out)
	if err != nil {
		return nil, err
	}
	r.Command = past.Begin.Command
	r.Build = past.Begin.Build
	r.Started = past.Begun
	r.Took = now.Sub(past.Begun)
	r.Study.Started = r.Started
	r.Study.Took = r.Took
	return r, nil
}
