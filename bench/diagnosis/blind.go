package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/explain"
	"linerate/internal/model"
)

// A blind case counts as confidently wrong from this confidence on, and as honest
// below that one, or where the engine says that it cannot tell.
const (
	confident = 0.7
	honest    = 0.5
)

// Blind is how an engine fares that does not know the limiter of a recording.
type Blind struct {
	Tally
	// By limiter that was taken out.
	By map[model.LimiterID]*BlindOne `json:"by"`
}

// BlindOne are the recordings of one limiter.
type BlindOne struct {
	Tally
	// Named is what was named instead and how often, with a confidence of honest or more.
	Named map[model.LimiterID]int `json:"named,omitempty"`
}

// Tally counts cases. Those that are in none of its parts were blamed on another
// limiter with a confidence between honest and confident.
type Tally struct {
	Cases            int `json:"cases"`
	ConfidentlyWrong int `json:"confidently_wrong"`
	Honest           int `json:"honest"`
	CalledNone       int `json:"called_none"`
}

func (t *Tally) add(v model.Verdict) {
	t.Cases++
	switch {
	case v.Limiter == model.None:
		t.CalledNone++
	case v.Limiter == model.Undetermined || v.Confidence < honest:
		t.Honest++
	case v.Confidence >= confident:
		t.ConfidentlyWrong++
	}
}

func (b *Blind) add(out model.LimiterID, v model.Verdict) {
	one := b.By[out]
	if one == nil {
		one = &BlindOne{Named: map[model.LimiterID]int{}}
		b.By[out] = one
	}
	b.Tally.add(v)
	one.add(v)
	if v.Limiter != model.Undetermined && v.Confidence >= honest {
		one.Named[v.Limiter]++
	}
}

// blind judges all recordings of a folder and of those in it, each by an engine
// without the detectors of what is right there, and prints how often that engine names
// another limiter.
func blind(dir string, asJSON bool, w io.Writer) error {
	all := &Blind{By: map[model.LimiterID]*BlindOne{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != labelsFile {
			return err
		}
		return all.folder(path)
	})
	if err != nil {
		return fmt.Errorf("judge the recordings of %s: %w", dir, err)
	}
	if all.Cases == 0 {
		return fmt.Errorf("judge the recordings of %s: no %s there names one with a limiter", dir, labelsFile)
	}
	if asJSON {
		return json.NewEncoder(w).Encode(map[string]*Blind{"blind": all})
	}
	_, err = io.WriteString(w, all.table())
	return err
}

// labelsFile says what the recordings beside it were made with.
const labelsFile = "labels.json"

// folder judges the recordings that a file of labels names.
func (b *Blind) folder(labels string) error {
	raw, err := os.ReadFile(labels)
	if err != nil {
		return err
	}
	var rows []struct {
		Name string            `json:"name"`
		Want []model.LimiterID `json:"want"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		return fmt.Errorf("%s: %w", labels, err)
	}
	for _, r := range rows {
		if len(r.Want) == 0 || slices.Contains(r.Want, model.None) {
			continue // nothing to take out
		}
		c, err := readRecording(filepath.Join(filepath.Dir(labels), r.Name+".json.zst"))
		if err != nil {
			return err
		}
		b.add(r.Want[0], explain.JudgeWithout(c, r.Want...))
	}
	return nil
}

func readRecording(path string) (c explain.Case, err error) {
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d, err := zstd.NewReader(f)
	if err != nil {
		return c, fmt.Errorf("read %s: %w", path, err)
	}
	defer d.Close()
	var r recording
	if err := json.NewDecoder(d).Decode(&r); err != nil {
		return c, fmt.Errorf("read %s: %w", path, err)
	}
	if r.V != recordingVersion {
		return c, fmt.Errorf("read %s: version %d, this judge reads %d", path, r.V, recordingVersion)
	}
	return r.Case, nil
}

func (b *Blind) table() string {
	var out strings.Builder
	out.WriteString("| limiter taken out | cases | confidently wrong | honest | called none | named instead |\n|---|---|---|---|---|---|\n")
	row := func(name string, t Tally, named string) {
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d | %s |\n", name, t.Cases, t.ConfidentlyWrong, t.Honest, t.CalledNone, named)
	}
	for _, id := range slices.Sorted(maps.Keys(b.By)) {
		one := b.By[id]
		var named []string
		for _, n := range slices.Sorted(maps.Keys(one.Named)) {
			named = append(named, fmt.Sprintf("%s %d", n, one.Named[n]))
		}
		row(string(id), one.Tally, dashIfNone(named))
	}
	row("all", b.Tally, "")
	return out.String()
}

func dashIfNone(words []string) string {
	if len(words) == 0 {
		return "–"
	}
	return strings.Join(words, ", ")
}
