package profile

import "slices"

// Difference is one setting on which two profiles disagree; a side is empty if it has no line for
// it.
type Difference struct {
	Setting string `json:"setting"`
	One     string `json:"one"`
	Other   string `json:"other"`
}

// Diff compares the rules of two profiles, their bases included, setting by setting: those of one
// in its order, then those that only other has.
func Diff(one, other Profile) []Difference {
	out := []Difference{}
	var seen []string
	for _, p := range []Profile{one, other} {
		for _, l := range p.Lines {
			if slices.Contains(seen, l.Setting) {
				continue
			}
			seen = append(seen, l.Setting)
			d := Difference{l.Setting, one.ruleOf(l.Setting), other.ruleOf(l.Setting)}
			if d.One != d.Other {
				out = append(out, d)
			}
		}
	}
	return out
}

// ruleOf prints the lines of a setting.
func (p Profile) ruleOf(setting string) string {
	text := ""
	for _, l := range p.Lines {
		if l.Setting != setting {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += l.Rule()
	}
	return text
}

// Rule prints a line's value with its cap and conditions.
func (l Line) Rule() string {
	text := l.Value
	if l.amount() {
		text = "at least " + l.AtLeast
	}
	if l.Cap != "" {
		text += ", at most " + l.Cap
	}
	if l.When != "" {
		text += ", where " + l.When
	}
	if l.Finding != "" {
		text += ", on the finding " + l.Finding
	}
	return text
}
