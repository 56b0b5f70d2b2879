package app

import (
	"io"

	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/report"
	"linerate/internal/store"
)

// Record is the result of one pass of the loop.
type Record = loop.Record

// Keep writes the bundle of a pass and records this program's version in it. It puts the
// report's path into the results before it writes either, so that report.html and
// results.json agree.
func Keep(e Env, rec *Record) error {
	return KeepMore(e, rec, func(*store.Writer) error { return nil })
}

// KeepMore is Keep for a bundle with further files, which more writes.
func KeepMore(e Env, rec *Record, more func(*store.Writer) error) (err error) {
	Normalise(&rec.Results)
	rec.Results.Build = e.Build
	defer func() {
		if err != nil {
			rec.Results.Report = ""
		}
	}()
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return err
	}
	r := &rec.Results
	w, err := store.Create(root, r.Command, r.Started)
	if err != nil {
		return err
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
			return err
		}
	}
	samples := byRun(r.Runs)
	if err := w.Samples(r.Runs); err != nil {
		return err
	}
	if err := w.Results(r); err != nil {
		return err
	}
	if err := w.Report(func(out io.Writer) error { return report.HTML(out, r, samples, rec.Facts) }); err != nil {
		return err
	}
	if err := more(w); err != nil {
		return err
	}
	_, err = w.Commit()
	return err
}

func byRun(runs []model.Run) store.Samples {
	out := store.Samples{}
	for _, run := range runs {
		out[run.Label] = run.Samples
	}
	return out
}

// Normalise turns absent lists into empty ones, so that readers of the JSON
// need not tell null from [].
func Normalise(r *model.Results) {
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
