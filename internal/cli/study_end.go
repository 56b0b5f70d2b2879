package cli

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

// conclude keeps the results of a study that is over, and says how to go on with
// one that is not.
func (s *studyAtWork) conclude(root string, out *experiment.Outcome, err error, interrupted bool) error {
	if err != nil {
		return s.stopped(out, err, interrupted)
	}
	r, err := studyResults(s.file, s.drive, out)
	if err != nil {
		return err
	}
	r.Started, r.Took, r.Build = s.begun, s.env.Now().Sub(s.begun), s.env.Build
	r.Study.Started, r.Study.Took = r.Started, r.Took
	r.Command = "study run " + s.file.Name
	id, err := s.bundle(root, r, out.Facts)
	if err != nil {
		return fmt.Errorf("keep the results: %w; the runs are kept, and linerate study resume %s tries again", err, s.state.ID())
	}
	if err := s.state.Finish(s.env.Now(), r.Study.Ended, id); err != nil {
		return err
	}
	if s.env.json {
		return printJSON(s.env, r.Study)
	}
	return report.Text(s.env.out, r, s.env.color, s.env.width)
}

// stopped words the end of a study that was not finished.
func (s *studyAtWork) stopped(out *experiment.Outcome, err error, interrupted bool) error {
	var not *experiment.NotRestoredError
	var changed *experiment.ChangedHostError
	on := fmt.Sprintf("%s on record: linerate study resume %s goes on", plural(len(out.Runs), "run"), s.state.ID())
	switch {
	case errors.As(err, &not):
		return failure.Of(failure.NotRestored, "%w; %s", err, on)
	case interrupted:
		return failure.Of(failure.Interrupted, "interrupted; everything was put back; %s", on)
	case errors.As(err, &changed):
		return failure.Of(failure.Failed, "%w: runs of before and after cannot be compared: make it again what it was, or linerate study resume %s --anew begins again; everything was put back", err, s.state.ID())
	}
	return failure.Of(failure.Failed, "%w; everything was put back; %s", err, on)
}

// studyResults is what a bundle has of a study.
func studyResults(f model.StudyFile, d *drive.Drive, out *experiment.Outcome) (*model.Results, error) {
	st := &model.Study{Restored: out.Restored, Reverted: []model.StudyAdvice{}}
	if err := d.Findings(st); err != nil {
		return nil, fmt.Errorf("conclude the study: %w", err)
	}
	if len(st.Runs) < len(out.Runs) { // some are of before it was begun anew
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
	line := studyLine(st)
	r := &model.Results{Outcome: model.Outcome{V: model.OutcomeVersion, Restored: out.Restored, Ended: st.Ended,
		Verdict: model.Verdict{Line: line}}, Study: st, Runs: []model.Run{}}
	for _, name := range slices.Sorted(maps.Keys(f.Hosts)) {
		r.Hosts = append(r.Hosts, f.Hosts[name])
	}
	app.Normalise(r)
	return r, nil
}

// studyLine is what a study found, in one sentence.
func studyLine(s *model.Study) string {
	gains, decided := "", 0
	for _, c := range s.Comparisons {
		if !c.Primary || c.Conclusion == model.StudyInForce {
			continue
		}
		if c.Conclusion != model.StudyUndecided && c.Conclusion != model.StudyNotTried && c.Conclusion != model.StudyNotConverged {
			decided++
		}
		if c.Conclusion == model.StudyGain && c.Ratio != nil {
			gains += fmt.Sprintf(", %s %s ×%.2f", c.Factor, c.Level, *c.Ratio)
		}
	}
	if gains == "" {
		gains = ", nothing is shown to pay"
	}
	return fmt.Sprintf("study %s: %s; %d of %d decided", s.Name, gains[2:], decided, primaries(s))
}

func primaries(s *model.Study) int {
	n := 0
	for _, c := range s.Comparisons {
		if c.Primary && c.Conclusion != model.StudyInForce {
			n++
		}
	}
	return n
}

// bundle writes the results with the samples on record, and returns its id.
func (s *studyAtWork) bundle(root string, r *model.Results, facts map[string]*model.Facts) (id string, err error) {
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
	var runs []model.Run // for their samples alone: the study has the rest
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

// soFar is a study under way, as its record has it.
func soFar(past *store.StudyPast, now time.Time) (*model.Results, error) {
	d, err := drive.New(past.Begin.File)
	if err != nil {
		return nil, err
	}
	var told []model.StudyRun
	for _, e := range past.Entries {
		switch {
		case e.Kind == store.StudyRan && e.Run != nil:
			told = append(told, *e.Run)
		case e.Kind == store.StudyAnew:
			told = nil
		}
	}
	for _, r := range told {
		if err := d.Add(r); err != nil {
			return nil, err
		}
	}
	out := &experiment.Outcome{Runs: past.Runs(), Facts: map[string]*model.Facts{}, Ended: "it is not over"}
	r, err := studyResults(past.Begin.File, d, out)
	if err != nil {
		return nil, err
	}
	r.Command, r.Build, r.Started, r.Took = past.Begin.Command, past.Begin.Build, past.Begun, now.Sub(past.Begun)
	r.Study.Started, r.Study.Took = r.Started, r.Took
	return r, nil
}
