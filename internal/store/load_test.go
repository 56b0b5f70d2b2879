package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel/golden"
	"linerate/internal/model"
)

// loadFixture is the committed bundle of a load, of version 1.
const loadFixture = "testdata/v1/20261120-234501-load-b7q2"

func exampleLoad() *model.Results {
	line := "by hand on /mnt/nas/f: 1000 requests/s, 3.91 MiB/s, p99 2ms"
	return &model.Results{
		Outcome: model.Outcome{V: model.OutcomeVersion, Restored: true, Warnings: []model.Warning{}, Verdict: model.Verdict{Line: line}},
		Command: "load block /mnt/nas/f", Started: moment, Build: "test", Hosts: []string{"local"},
		Load: &model.Load{V: model.LoadVersion, Kind: "block", Line: line, Text: line + "\n  a table\n",
			Series: []model.LoadSeries{{Name: "by hand", Unit: "B/s", Each: 1, Values: []float64{4e6, 4.2e6}}},
			Data:   json.RawMessage(`{"load":{"iops":1000}}`)},
	}
}

func TestLoadBundle(t *testing.T) {
	if _, err := os.Stat(loadFixture); errors.Is(err, fs.ErrNotExist) && golden.Update() {
		w, err := Create(t.TempDir(), "load block /mnt/nas/f", moment)
		must(t, err)
		must(t, w.Samples(nil))
		must(t, w.Results(exampleLoad()))
		must(t, w.Report(func(out io.Writer) error {
			_, err := io.WriteString(out, "<!doctype html><title>report</title>\n")
			return err
		}))
		path, err := w.Commit()
		must(t, err)
		must(t, os.CopyFS(loadFixture, os.DirFS(path)))
	}
	b, err := Open(loadFixture)
	must(t, err)
	var data bytes.Buffer
	must(t, json.Compact(&data, b.Results.Load.Data))
	b.Results.Load.Data = data.Bytes()
	if d := cmp.Diff(exampleLoad().Load, b.Results.Load); d != "" {
		t.Errorf("load (-want +got):\n%s", d)
	}
	if s := summarize(loadFixture); s.State != Complete || s.Verdict != exampleLoad().Load.Line {
		t.Errorf("in a list: %+v", s)
	}
}
