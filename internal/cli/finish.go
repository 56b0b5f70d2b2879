package cli

import (
	"fmt"
	"io"

	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/report"
	"linerate/internal/store"
)

// keep writes the bundle of a pass and returns where its report lies. The
// path is in the results before they are written, so that report.html and
// results.json agree.
func keep(env *environment, rec *loop.Record) (path string, err error) {
	root, err := store.DataDir(env.getenv)
	if err != nil {
		return "", err
	}
	r := &rec.Results
	w, err := store.Create(root, r.Command, r.Started)
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
	for _, f := range rec.Facts {
		if err := w.Facts(f); err != nil {
			return "", err
		}
	}
	samples := byRun(r.Runs)
	if err := w.Samples(r.Runs); err != nil {
		return "", err
	}
	if err := w.Results(r); err != nil {
		return "", err
	}
	if err := w.Report(func(out io.Writer) error { return report.HTML(out, r, samples, rec.Facts) }); err != nil {
		return "", err
	}
	if _, err := w.Commit(); err != nil {
		return "", err
	}
	return r.Report, nil
}

func byRun(runs []model.Run) store.Samples {
	out := store.Samples{}
	for _, run := range runs {
		out[run.Label] = run.Samples
	}
	return out
}

// conclude keeps the bundle and prints the outcome. A report that cannot be
// written does not hide the verdict: it is printed, then the error.
func conclude(env *environment, rec *loop.Record) error {
	normalise(&rec.Results)
	_, kept := keep(env, rec)
	if kept != nil {
		rec.Results.Report = ""
	}
	var err error
	if env.json {
		err = printJSON(env, rec.Results.Outcome)
	} else {
		err = report.Text(env.out, &rec.Results, env.color, env.width)
	}
	if kept != nil {
		return fmt.Errorf("keep the run: %w", kept)
	}
	return err
}

// normalise turns absent lists into empty ones, so that readers of the JSON
// need not tell null from [].
func normalise(r *model.Results) {
	if r.Warnings == nil {
		r.Warnings = []model.Warning{}
	}
	if r.Ladder == nil {
		r.Ladder = []model.Rung{}
	}
	if r.Verdict.Evidence == nil {
		r.Verdict.Evidence = []model.Evidence{}
	}
	if r.Verdict.Causes == nil {
		r.Verdict.Causes = []model.Cause{}
	}
}
