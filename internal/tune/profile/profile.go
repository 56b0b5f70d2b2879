package profile

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Version is the version of the profile format that this build reads and writes.
const Version = 1

// Profile is a set of value rules for one kind of work.
type Profile struct {
	V        int        `json:"v"`
	Name     string     `json:"name"`
	Title    string     `json:"title"`
	For      string     `json:"for"`                // the work it is made for
	Base     []string   `json:"base,omitempty"`     // parts and built-in profiles whose lines it has too
	Lines    []Line     `json:"lines"`              // in the order of the file
	Rejected []Rejected `json:"rejected,omitempty"` // advice that was looked at and is not taken
	// Builtin: it came with the program.
	Builtin bool `json:"builtin"`
}

// Line is one setting of a profile with the rule for its value. Either Value or AtLeast is set.
type Line struct {
	Setting string `json:"setting"`
	// Value is the value to set; AtLeast an amount: a larger running value stays.
	Value   string `json:"value,omitempty"`
	AtLeast string `json:"at_least,omitempty"`
	Cap     string `json:"cap,omitempty"` // formula: bounds what the rule asks for, not what runs
	// When is a condition; Finding is a rule of linerate check that must have a finding. Without
	// them the line always applies.
	When    string `json:"when,omitempty"`
	Finding string `json:"finding,omitempty"`
	Reason  string `json:"reason"`
	Source  string `json:"source"`          // paper and table, or the kernel's own documentation
	Risk    string `json:"risk,omitempty"`  // beside what the guide says
	Needs   string `json:"needs,omitempty"` // e.g. "a new mount"

	rule template
	cap  *expression
	when condition
	line int // of the file
}

// amount tells whether the rule is an amount that never falls.
func (l Line) amount() bool { return l.AtLeast != "" }

// Rejected is a line of a paper or another source that is not adopted, and why. With Guide the
// guide's own judgement is the reason.
type Rejected struct {
	Setting string `json:"setting"`
	Value   string `json:"value"` // as the source has it
	Guide   string `json:"guide,omitempty"`
	Why     string `json:"why"`
	Source  string `json:"source"`
}

// namePattern matches the names of profiles: a file name on any system.
var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`) })

// CheckName refuses a malformed name.
func CheckName(name string) error {
	if !namePattern().MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("profile name %q: want small letters, digits, dots, dashes and underscores, at most 63, a letter or digit first", name)
	}
	return nil
}

// Profiles and the parts that they share.
//
//go:embed builtin/*.yaml parts/*.yaml
var files embed.FS

// Names lists the built-in profiles, by name.
func Names() []string {
	entries, err := files.ReadDir("builtin")
	if err != nil {
		panic(fmt.Sprintf("embedded profiles: %v", err)) // part of the program
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	slices.Sort(out)
	return out
}

// Builtin returns a built-in profile.
func Builtin(name string) (Profile, bool) {
	return builtin(name, readCatalogue())
}

func builtin(name string, c *catalogue) (Profile, bool) {
	if !slices.Contains(Names(), name) {
		return Profile{}, false
	}
	p := embedded("builtin/"+name+".yaml", c)
	p.Builtin = true
	return p, true
}

func embedded(file string, c *catalogue) Profile {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(fmt.Sprintf("embedded profile %s: %v", file, err))
	}
	p, err := parse(path.Base(file), text, c)
	if err != nil {
		panic(fmt.Sprintf("embedded profile %v", err)) // its test parses it
	}
	return p
}

// base is a part or a built-in profile on which others may build.
func base(name string, c *catalogue) (Profile, bool) {
	if slices.Contains(parts(), name) {
		return embedded("parts/"+name+".yaml", c), true
	}
	return builtin(name, c)
}

// parts are lines that several profiles share.
func parts() []string { return []string{"tcp", "port"} }

// onto merges a profile into its bases: its own lines replace lines of the same setting, and come
// last.
func (p Profile) onto(bases []Profile) Profile {
	own := func(setting string) bool {
		return slices.ContainsFunc(p.Lines, func(l Line) bool { return l.Setting == setting })
	}
	var lines []Line
	var rejected []Rejected
	for _, b := range bases {
		lines = append(lines, slices.DeleteFunc(b.Lines, func(l Line) bool { return own(l.Setting) })...)
		rejected = append(rejected, b.Rejected...)
	}
	p.Lines, p.Rejected = append(lines, p.Lines...), append(rejected, p.Rejected...)
	return p
}
