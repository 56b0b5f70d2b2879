// Package guide is what linerate knows about settings without looking at a
// host: what each does, its defaults, when to change it, by which rule, and
// what that risks. It is data, embedded in the binary, for plans and reports
// to quote. It knows no host and decides nothing; a setting that is not in it
// is not changed.
package guide

import (
	"bytes"
	_ "embed" // settings.yaml
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
)

// Setting is one entry.
type Setting struct {
	ID         string    `yaml:"id"`
	Title      string    `yaml:"title"`
	Unit       string    `yaml:"unit"`
	Defaults   []Default `yaml:"defaults"`
	Does       string    `yaml:"does"`
	ChangeWhen string    `yaml:"change_when"`
	Value      string    `yaml:"value"` // rule for the new value
	// NeverLower: no number of it may become smaller without being asked for.
	NeverLower bool   `yaml:"never_lower"`
	ActsOn     string `yaml:"acts_on"`
	Risk       Risk   `yaml:"risk"`
	// Trades names what a change may cost beside performance (data safety,
	// security); empty for most.
	Trades   string   `yaml:"trades"`
	Sources  []string `yaml:"sources"`
	Verified bool     `yaml:"verified"` // read in the sources, not from memory
}

// Default is the value of a fresh system.
type Default struct {
	Kernel string `yaml:"kernel"`
	Value  string `yaml:"value"`
}

// Risk of a change: low, medium or high.
type Risk struct {
	Level string `yaml:"level"`
	Why   string `yaml:"why"`
}

//go:embed settings.yaml
var settingsYAML []byte

// All returns every setting in the order of the file.
func All() []Setting {
	settings, err := parse(settingsYAML)
	if err != nil {
		// The file is part of the program and its tests parse it.
		panic(fmt.Sprintf("embedded settings.yaml: %v", err))
	}
	return settings
}

// Find returns the setting with an id.
func Find(id string) (Setting, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.ID == id })
	if i < 0 {
		return Setting{}, false
	}
	return all[i], true
}

// parse reads the file and refuses fields it does not know.
func parse(b []byte) ([]Setting, error) {
	var settings []Setting
	err := yaml.NewDecoder(bytes.NewReader(b), yaml.DisallowUnknownField()).Decode(&settings)
	return settings, err
}
