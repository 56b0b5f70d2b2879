package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"linerate/internal/kernel/golden"
	"linerate/internal/model"
	"linerate/internal/report/studytest"
)

// TestStudyFixturesOpen opens the committed bundles of studies, which later
// builds have to read too. -update writes one that is missing, and never
// rewrites one that is there.
func TestStudyFixturesOpen(t *testing.T) {
	for id, want := range map[string]studytest.Example{"20261121-093000-study-c5rt": studytest.Clients(), "20261124-093000-study-m7qa": studytest.ClientsAgain()} {
		dir := filepath.Join("testdata", "v1", id)
		if _, err := os.Stat(dir); golden.Update() && errors.Is(err, fs.ErrNotExist) {
			writeStudy(t, dir, want)
		}
		b, err := Open(dir)
		must(t, err)
		s := b.Results.Study
		if s == nil || s.Name != "cluster" || len(s.Runs) != 40 || len(s.Comparisons) != 4 || s.Comparisons[0].Conclusion != model.StudyGain || *s.Comparisons[0].Ratio < 1.9 ||
			s.File.Protocol.Looks[0] != 8 || *s.Runs[39].Value < 9e8 || len(s.Runs[39].PerClient) != 5 || !s.Restored {
			t.Errorf("%s: read %+v", id, s)
		}
		if f := b.Facts["lab:server1"]; f == nil || f.NICs[0].Driver.Value != "ixgbe" {
			t.Errorf("%s: facts %+v", id, b.Facts)
		}
		got, err := b.Samples()
		must(t, err)
		if len(got["run 1"]["lab:server1"]) != 10 {
			t.Errorf("%s: samples %v", id, got)
		}
	}
}

func writeStudy(t *testing.T, dir string, e studytest.Example) {
	t.Helper()
	w, err := Create(t.TempDir(), e.Results.Command, e.Results.Started)
	must(t, err)
	for _, h := range e.Results.Hosts {
		must(t, w.Facts(e.Facts[h]))
	}
	var runs []model.Run
	for label, samples := range e.Samples {
		runs = append(runs, model.Run{Label: label, Samples: samples})
	}
	must(t, w.Samples(runs))
	must(t, w.Results(e.Results))
	must(t, w.Report(func(out io.Writer) error {
		_, err := io.WriteString(out, "<!doctype html><title>report</title>\n")
		return err
	}))
	path, err := w.Commit()
	must(t, err)
	must(t, os.CopyFS(dir, os.DirFS(path)))
}
