// Package guide is linerate's knowledge of settings: what each does, its defaults, when and by
// which rule to change it, and the risk of doing so. It also has what papers and other guides
// advise, with a verdict on each advice. It is data, embedded in the binary, which plans,
// reports and audits quote. An audit judges the texts of a host's files, which the caller
// hands to it. The package reads no host and changes nothing; a setting that is not in it is
// neither changed nor judged.
package guide

import "strings"

// Setting is one entry.
type Setting struct {
	ID         string    `yaml:"id" json:"id"`
	Title      string    `yaml:"title" json:"title"`
	Unit       string    `yaml:"unit" json:"unit"`
	Defaults   []Default `yaml:"defaults" json:"defaults"`
	Does       string    `yaml:"does" json:"does"`
	ChangeWhen string    `yaml:"change_when" json:"change_when"`
	Value      string    `yaml:"value" json:"value"` // rule for the new value
	// TimesBDP is that rule as a number, if it can be one: the last number of the value has to
	// be at least TimesBDP × rate × RTT.
	TimesBDP float64 `yaml:"times_bdp" json:"times_bdp,omitempty"`
	// NeverLower: no number of the value may be lowered unless the user names the setting.
	NeverLower bool   `yaml:"never_lower" json:"never_lower,omitempty"`
	ActsOn     string `yaml:"acts_on" json:"acts_on"`
	Risk       Risk   `yaml:"risk" json:"risk"`
	// Trades names what a change may cost besides performance (data safety, security); usually
	// empty.
	Trades   string   `yaml:"trades" json:"trades,omitempty"`
	Sources  []string `yaml:"sources" json:"sources"`
	Verified bool     `yaml:"verified" json:"verified"` // checked against the sources
	// Unverified names the part of the entry that was not checked against a source; empty: all
	// was checked.
	Unverified string `yaml:"unverified" json:"unverified,omitempty"`
	// Names are other names of the setting on a host; WrongNames are names that people mistake
	// for it.
	Names      []string `yaml:"names" json:"names,omitempty"`
	WrongNames []string `yaml:"wrong_names" json:"wrong_names,omitempty"`
	// Instead is the setting that serves the purpose on Linux, or at the right end.
	Instead string `yaml:"instead" json:"instead,omitempty"`
	// NotRead says why no host that has it shows its value; empty: some do.
	NotRead string `yaml:"not_read" json:"not_read,omitempty"`
	// Judge has the audit's judgements of values; the first that matches counts.
	Judge []Judgement `yaml:"judge" json:"-"`
}

// Default is the value of a fresh system.
type Default struct {
	Kernel string `yaml:"kernel" json:"kernel"` // a Range
	Value  string `yaml:"value" json:"value"`
	Note   string `yaml:"note" json:"note,omitempty"` // what the value depends on
}

// Risk of a change: low, medium or high.
type Risk struct {
	Level string `yaml:"level" json:"level"`
	Why   string `yaml:"why" json:"why,omitempty"`
}

// Judgement is the audit's opinion on some values of a setting.
type Judgement struct {
	When   string `yaml:"when"`   // a Condition on the value
	Kernel string `yaml:"kernel"` // a Range
	Status Status `yaml:"status"`
	Why    string `yaml:"why"`
}

// OS is the operating system of a setting, the first word of its id. "any", "switch" and
// "array" are not operating systems of hosts.
func (s Setting) OS() string {
	os, _, _ := strings.Cut(s.ID, ".")
	return os
}

// Native is the name without system and mechanism, e.g. net.ipv4.tcp_rmem.
func (s Setting) Native() string {
	parts := strings.SplitN(s.ID, ".", 3)
	return parts[len(parts)-1]
}
