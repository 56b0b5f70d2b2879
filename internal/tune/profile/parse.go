package profile

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/conf"
)

// maxLines of a profile are far more than a real one has, and bound the cost of a hostile one.
const maxLines = 500

// Parse parses a profile. name is the file's, for messages: each problem is "NAME:LINE: what is
// wrong", one per line of the error. Unknown keys, settings that the guide lacks and malformed
// formulas are problems.
func Parse(name string, text []byte) (Profile, error) {
	return parse(name, text, readCatalogue())
}

func parse(name string, text []byte, c *catalogue) (Profile, error) {
	kind := conf.Kind{
		Name:    "a profile",
		Want:    "want one YAML document, with name and lines",
		Place:   "%s:%d: %s",
		Entries: maxLines,
	}
	r := &reader{Reader: conf.NewReader(kind, name), catalogue: c}
	p := r.profile(text)
	if r.Failed() {
		return Profile{}, r.Err()
	}
	return p, nil
}

type reader struct {
	*conf.Reader
	*catalogue
}

func (r *reader) profile(text []byte) Profile {
	root := r.Document(text)
	if r.Failed() {
		return Profile{}
	}
	m := root.Table("profile", "v", "name", "title", "for", "base", "lines", "rejected")
	p := Profile{V: Version, Name: m.Text("name"), Title: m.Text("title"), For: m.Text("for")}
	if v := m.Get("v").Integer(1, 1<<20, 0); v != Version {
		r.Problem(m.Where("v"), "v: this linerate reads profiles of version %d", Version)
	}
	if err := CheckName(p.Name); err != nil {
		r.Problem(m.Where("name"), "%v", err)
	}
	for _, n := range m.Get("lines").List() {
		p.Lines = append(p.Lines, r.line(n))
	}
	for _, n := range m.Get("rejected").List() {
		p.Rejected = append(p.Rejected, r.rejected(n))
	}
	r.once(p.Lines)
	p = p.onto(r.bases(m, &p))
	if len(p.Lines) == 0 && !r.Failed() {
		r.Problem(1, "lines: none, so the profile has no effect")
	}
	return p
}

// bases reads the names of the profile's bases. A built-in profile may only have parts as bases,
// so that no cycle is possible.
func (r *reader) bases(m conf.Table, p *Profile) []Profile {
	var out []Profile
	for _, n := range m.Get("base").List() {
		name := n.Text()
		b, ok := Profile{}, false
		if name != p.Name {
			b, ok = base(name, r.catalogue)
		}
		if !ok {
			r.Problem(n.Line, "base: there is no %q to stand on; there are %s", name, strings.Join(append(parts(), Names()...), ", "))
			continue
		}
		p.Base = append(p.Base, name)
		out = append(out, b)
	}
	return out
}

// once refuses two lines without conditions for one setting.
func (r *reader) once(lines []Line) {
	seen := map[string]int{}
	for _, l := range lines {
		if first, ok := seen[l.Setting]; ok && l.Setting != "" && l.When == "" && l.Finding == "" {
			r.Problem(l.line, "setting: %s has a line already, %d; give one of them a condition", l.Setting, first)
		}
		seen[l.Setting] = l.line
	}
}

func (r *reader) line(n conf.Node) Line {
	m := n.Table("line", "setting", "value", "at_least", "cap", "when", "finding", "reason", "source", "risk", "needs")
	l := Line{
		Setting: m.Text("setting"), Value: m.Text("value"), AtLeast: m.Text("at_least"), Cap: m.Text("cap"),
		When: m.Text("when"), Finding: m.Text("finding"), Reason: m.Text("reason"), Source: m.Text("source"),
		Risk: m.Text("risk"), Needs: m.Text("needs"), line: n.Line,
	}
	r.setting(m, l.Setting)
	if (l.Value == "") == (l.AtLeast == "") {
		r.Problem(n.Line, "%s: give it either a value or at_least", l.Setting)
		return l
	}
	var err error
	if l.rule, err = parseTemplate(l.Value + l.AtLeast); err != nil {
		r.Problem(max(m.Where("value"), m.Where("at_least")), "%s: %v", l.Setting, err)
	}
	if l.when, err = parseCondition(l.When); err != nil {
		r.Problem(m.Where("when"), "%s: %v", l.Setting, err)
	}
	if l.Cap != "" {
		x, err := parseExpression(l.Cap)
		if err != nil {
			r.Problem(m.Where("cap"), "%s: cap: %v", l.Setting, err)
		}
		l.cap = &x
	}
	r.finding(m, l)
	for _, key := range []string{"reason", "source"} {
		if m.Text(key) == "" {
			r.Problem(n.Line, "%s: %s is missing: a line says why, and where that is from", l.Setting, key)
		}
	}
	return l
}

func (r *reader) finding(m conf.Table, l Line) {
	if l.Finding == "" {
		return
	}
	if !slices.Contains(r.findings, l.Finding) {
		r.Problem(m.Where("finding"), "%s: there is no rule %q; near it are %s", l.Setting, l.Finding, strings.Join(conf.Closest(l.Finding, r.findings, 3), ", "))
	}
}

func (r *reader) setting(m conf.Table, id string) {
	if id == "" {
		r.Problem(m.Line, "setting is missing")
		return
	}
	if _, ok := r.settings.Find(id); !ok {
		r.Problem(m.Where("setting"), "setting %q is not known; near it are %s", id, strings.Join(conf.Closest(id, r.ids, 3), ", "))
	}
}

func (r *reader) rejected(n conf.Node) Rejected {
	m := n.Table("rejected", "setting", "value", "guide", "why", "source")
	x := Rejected{Setting: m.Text("setting"), Value: m.Text("value"), Guide: m.Text("guide"), Why: m.Text("why"), Source: m.Text("source")}
	r.setting(m, x.Setting)
	if x.Guide == "" {
		if x.Why == "" || x.Source == "" {
			r.Problem(n.Line, "%s: give a guide, or a why and a source", x.Setting)
		}
		return x
	}
	for _, a := range r.advice[x.Setting] {
		if a.Guide == x.Guide && a.Value == x.Value {
			if x.Why == "" {
				x.Why = fmt.Sprintf("%s (%s)", a.Why, a.Status)
			}
			if x.Source == "" {
				x.Source = a.Guide + ", " + a.Where
			}
			return x
		}
	}
	r.Problem(n.Line, "%s: the guide %q does not advise %q", x.Setting, x.Guide, x.Value)
	return x
}
