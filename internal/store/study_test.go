package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
)

func exampleStudy() StudyBegin {
	return StudyBegin{Command: "study run x.yaml", Build: "test", File: model.StudyFile{
		V: 1, Name: "X 520", Question: "what pays?", Hosts: map[string]string{"client": "lab:client1"},
		Workloads: []model.StudyWorkload{{Name: "bulk", Kind: "tcp", Streams: 1, Duration: time.Second}}, Primary: "bulk",
	}}
}

func newStudy(t *testing.T, root string) *StudyState {
	t.Helper()
	s, err := CreateStudy(root, exampleStudy(), []byte("v: 1\n"), moment)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() }) // most tests have closed it by then
	return s
}

func ran(n int) StudyEntry {
	v := 1e9 + float64(n)
	return StudyEntry{Kind: StudyRan, At: moment, Run: &model.StudyRun{N: n, Label: fmt.Sprintf("run %d", n), Workload: "bulk", Value: &v, Unit: "bit/s", Counted: true}}
}

func TestStudyStateIsTakenUp(t *testing.T) {
	root := t.TempDir()
	s := newStudy(t, root)
	facts := &model.Facts{V: model.FactsVersion, Host: "lab:client1", BootID: "b"}
	must(t, s.PutFacts(facts))
	must(t, s.Put(ran(1)))
	must(t, s.PutSamples("run 1", map[string][]model.Sample{"lab:client1": {{V: 1, At: time.Second}}}))
	must(t, s.PutSamples("run 2", map[string][]model.Sample{"lab:client1": {{V: 1}}})) // its entry never came
	if _, _, err := ResumeStudy(root, s.ID()); !errors.Is(err, ErrBusy) {
		t.Errorf("resumed while it runs: %v", err)
	}
	if list, err := ListStudies(root); err != nil || len(list) != 1 || list[0].State != StudyIsRunning || list[0].Runs != 1 {
		t.Errorf("list %+v, %v", list, err)
	}
	must(t, s.Close())

	s, past, err := ResumeStudy(root, s.ID()[:18])
	must(t, err)
	if runs := past.Runs(); len(runs) != 1 || runs[0].N != 1 || past.Begin.File.Name != "X 520" || string(past.Raw) != "v: 1\n" || past.Finished() != nil {
		t.Errorf("%+v", past)
	}
	if f, err := s.Facts("lab:client1"); err != nil || f == nil || f.BootID != "b" {
		t.Errorf("facts %+v, %v", f, err)
	}
	if f, err := s.Facts("lab:other"); err != nil || f != nil {
		t.Errorf("facts nobody has put: %+v, %v", f, err)
	}
	samples, err := s.Samples(func(label string) bool { return label == "run 1" })
	must(t, err)
	if len(samples) != 1 || len(samples["run 1"]["lab:client1"]) != 1 {
		t.Errorf("samples %v", samples)
	}
	must(t, s.Finish(moment, "all looks were made", "bundle-1"))
	must(t, s.Close())
	list, err := ListStudies(root)
	must(t, err)
	if len(list) != 1 || list[0].State != StudyIsFinished || list[0].Bundle != "bundle-1" {
		t.Errorf("list %+v", list)
	}
}

// A crash in the middle of a write leaves a part of a line; whatever part.
func TestStudyStateAfterAnyCrash(t *testing.T) {
	root := t.TempDir()
	s := newStudy(t, root)
	must(t, s.Put(ran(1)))
	path := filepath.Join(s.Dir(), stateName)
	before, err := os.ReadFile(path)
	must(t, err)
	must(t, s.Put(ran(2)))
	must(t, s.Close())
	after, err := os.ReadFile(path)
	must(t, err)
	for cut := len(before); cut <= len(after); cut += 7 {
		must(t, os.WriteFile(path, after[:cut], 0o600))
		s, past, err := ResumeStudy(root, "last")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if n := len(past.Runs()); n != 1 && cut < len(after) {
			t.Fatalf("cut at %d: %d runs", cut, n)
		}
		must(t, s.Put(ran(3)))
		must(t, s.Close())
		again, err := ReadStudy(root, "last")
		if err != nil || again.Runs()[len(again.Runs())-1].N != 3 {
			t.Fatalf("cut at %d, then written: %v", cut, err)
		}
	}
}

func TestRunsBeforeANewBeginDoNotCount(t *testing.T) {
	p := StudyPast{Entries: []StudyEntry{ran(1), {Kind: StudyAnew, Why: "another kernel"}, ran(2)}}
	runs := p.Runs()
	if len(runs) != 2 || runs[0].Counted || runs[0].Why != "another kernel" || !runs[1].Counted {
		t.Errorf("%+v", runs)
	}
	if !p.Entries[0].Run.Counted {
		t.Error("the record itself was changed")
	}
}

func TestStudyReferences(t *testing.T) {
	root := t.TempDir()
	if _, err := ReadStudy(root, "last"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no study: %v", err)
	}
	a, b := newStudy(t, root), newStudy(t, root)
	for _, ref := range []string{"", "2026", "../" + a.ID(), "x"} {
		if _, err := ReadStudy(root, ref); err == nil {
			t.Errorf("%q is a study", ref)
		}
	}
	for _, s := range []*StudyState{a, b} {
		if p, err := ReadStudy(root, s.ID()); err != nil || p.ID != s.ID() {
			t.Errorf("%s: %v", s.ID(), err)
		}
	}
}

func TestStudyStateRefuses(t *testing.T) {
	root := t.TempDir()
	s := newStudy(t, root)
	must(t, s.Close())
	path := filepath.Join(s.Dir(), stateName)
	good, err := os.ReadFile(path)
	must(t, err)
	for name, raw := range map[string]string{
		"empty":            "",
		"no begin":         `{"v":1,"kind":"run"}` + "\n",
		"damage within":    string(good) + "{\n" + string(good),
		"of a later build": strings.Replace(string(good), `"v":1`, `"v":2`, 1),
	} {
		must(t, os.WriteFile(path, []byte(raw), 0o600))
		if _, err := ReadStudy(root, s.ID()); err == nil {
			t.Errorf("%s: read", name)
		}
		if list, err := ListStudies(root); err != nil || len(list) != 1 || list[0].State != StudyIsDamaged || list[0].Why == "" {
			t.Errorf("%s: list %+v, %v", name, list, err)
		}
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"begin","begin":{"file":{"name":"x"}}}` + "\n" + `{"v":1,"kind":"run","run":{"n":1}}` + "\n"))
	f.Add([]byte("{\"v\":2}\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := parseState(raw)
		if err != nil {
			return
		}
		if len(entries) != bytes.Count(raw, []byte{'\n'}) {
			t.Errorf("%d entries of %d lines", len(entries), bytes.Count(raw, []byte{'\n'}))
		}
		whole, err := parseState(raw[:bytes.LastIndexByte(raw, '\n')+1])
		if err != nil || !cmp.Equal(len(whole), len(entries)) {
			t.Errorf("without what follows the last line: %d, %v", len(whole), err)
		}
	})
}
