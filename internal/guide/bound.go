package guide

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
)

// The entries are written by hand in YAML, below settings and advice. What the program carries is
// the same as one line of JSON for each entry, since reading YAML took most of a command's time:
// go test ./internal/guide -run TestBound -update writes it.
const (
	boundSettings  = "bound/settings.jsonl"
	boundGuides    = "bound/guides.jsonl"
	boundConflicts = "bound/conflicts.jsonl"
)

//go:embed bound/*.jsonl
var bound embed.FS

// settingLine is a setting as a line of boundSettings. Its judgements are not part of what the
// program prints of a setting.
type settingLine struct {
	Setting
	Judge []Judgement `json:"judge,omitempty"`
}

func (l settingLine) setting() Setting {
	l.Setting.Judge = l.Judge
	return l.Setting
}

// All returns every setting, in the order of the files.
func All() []Setting {
	lines := decode[settingLine](boundSettings)
	all := make([]Setting, len(lines))
	for i, l := range lines {
		all[i] = l.setting()
	}
	return all
}

// Find returns the setting with an id. It reads only that entry, since plans look settings up
// between the runs of a study.
func Find(id string) (Setting, bool) {
	quoted, err := json.Marshal(id)
	if err != nil {
		return Setting{}, false
	}
	begin := append([]byte(`{"id":`), append(quoted, ',')...)
	for line := range bytes.Lines(text(boundSettings)) {
		if bytes.HasPrefix(line, begin) {
			return decodeLine[settingLine](boundSettings, line).setting(), true
		}
	}
	return Setting{}, false
}

func decode[T any](name string) []T {
	b := text(name)
	all := make([]T, 0, bytes.Count(b, []byte("\n")))
	for line := range bytes.Lines(b) {
		all = append(all, decodeLine[T](name, line))
	}
	return all
}

// These files are part of the program, and its test reads every line: an error is a defect of the
// program.
func decodeLine[T any](name string, line []byte) T {
	var e T
	if err := json.Unmarshal(line, &e); err != nil {
		panic(fmt.Sprintf("embedded %s: %v", name, err))
	}
	return e
}

func text(name string) []byte {
	b, err := bound.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("embedded %s: %v", name, err))
	}
	return b
}
