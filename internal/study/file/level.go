package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/conf"
	"linerate/internal/model"
)

func factorKeys() []string {
	return []string{"name", "why", "source", "operator", "hard", "levels", "range"}
}

func rangeKeys() []string { return []string{"from", "to", "points", "spacing", "set", "workload"} }

func levelKeys() []string {
	return []string{"name", "set", "workload", "instruct", "back", "verify", "lab"}
}

func verifyKeys() []string { return []string{"host", "fact", "is"} }

// levels reads factors and steps, which name hosts and change workloads.
type levels struct {
	*reader
	hosts     map[string]string
	workloads []model.StudyWorkload
	value     string // of a range: what VALUE in a setting or field stands for
}

func (l levels) factor(v conf.Node) model.StudyFactor {
	t := v.Table("factor", factorKeys()...)
	f := model.StudyFactor{
		Name: t.Text("name"), Why: t.Text("why"), Source: t.Text("source"), Operator: t.Get("operator").Bool(), Hard: t.Get("hard").Bool(),
	}
	l.nameOf(t, "factor", f.Name)
	if l.factors == nil {
		l.factors = map[string]int{}
	}
	l.factors[f.Name] = t.Line
	names := []string{}
	for _, v := range t.Get("levels").List() {
		level := l.level(v, f.Operator)
		names = append(names, level.Name)
		f.Levels = append(f.Levels, level)
	}
	if t.Has("range") {
		if t.Has("levels") || f.Operator {
			t.Problem("range", "factor %s: a range makes the levels itself, of settings or fields of the load; give it levels or a range", f.Name)
		} else {
			f.Levels = l.ranged(t.Get("range"))
		}
		names = nil // of one formula
	} else if len(f.Levels) == 0 {
		t.Problem("levels", "factor %s has none; list what it is compared with (the baseline is not listed)", f.Name)
	}
	l.distinct(t, "levels", names)
	return f
}

// step reads a step of the baseline. It can also be an operator's work, which is then done
// once, before the first run.
func (l levels) step(v conf.Node) model.StudyLevel {
	t := v.Table("step", levelKeys()...)
	return l.filled(t, t.Has("instruct"))
}

func (l levels) level(v conf.Node, operator bool) model.StudyLevel {
	return l.filled(v.Table("level", levelKeys()...), operator)
}

func (l levels) filled(t conf.Table, operator bool) model.StudyLevel {
	x := model.StudyLevel{Name: t.Text("name"), Instruct: t.Text("instruct"), Back: t.Text("back")}
	l.nameOf(t, "level", x.Name)
	if t.Has("set") {
		x.Set = l.settings(t.Get("set"))
	}
	if t.Has("workload") {
		x.Workload = l.changes(t.Get("workload"))
	}
	if t.Has("verify") {
		x.Verify = l.verify(t.Get("verify"))
	}
	if t.Has("lab") {
		x.Lab = l.labWork(t)
	}
	ways := 0
	for _, is := range []bool{len(x.Set) > 0, len(x.Workload) > 0, x.Instruct != ""} {
		if is {
			ways++
		}
	}
	switch {
	case ways != 1 && !l.Failed():
		l.Problem(t.Line, "level %s: give it exactly one of set (settings of hosts), workload (fields of the load) and instruct (what an operator does)", x.Name)
	case operator != (x.Instruct != ""):
		l.Problem(t.Line, "level %s: what an operator changes has operator: true at its factor and instruct at its level; anything else has neither", x.Name)
	case len(x.Lab) > 0 && x.Instruct == "":
		l.Problem(t.Where("lab"), "level %s: lab is what a lab does in the operator's place: say with instruct and back what an operator would do", x.Name)
	case x.Instruct != "" && x.Verify == nil && len(x.Lab) > 0 && !oneLab(l.hosts):
		l.Problem(t.Where("lab"), "level %s: the hosts are not all of one lab, so an operator has to do this: it needs verify: {host: …, fact: …, is: …}", x.Name)
	case x.Instruct != "" && x.Verify == nil && len(x.Lab) == 0:
		l.Problem(t.Line, "level %s: an operator's change needs verify: {host: …, fact: …, is: …}, or a study could measure a change that was not made; docs/study.md lists the facts", x.Name)
	case x.Instruct != "" && x.Back == "":
		l.Problem(t.Line, "level %s: say with back: how the operator undoes it", x.Name)
	case x.Instruct == "" && (x.Verify != nil || x.Back != ""):
		l.Problem(t.Line, "level %s: verify and back belong to instruct; what linerate changes it reads back and undoes by itself", x.Name)
	}
	return x
}

// settings reads set: {host: {setting[@device]: value}}.
func (l levels) settings(v conf.Node) []model.StudySetting {
	var out []model.StudySetting
	hosts := v.Table("set")
	for _, host := range hosts.Keys {
		l.host(hosts.Where(host), host)
		of := hosts.Get(host).Table(host)
		if len(of.Keys) == 0 {
			hosts.Problem(host, "want setting: value pairs")
		}
		for _, key := range of.Keys {
			s := model.StudySetting{Host: host, Value: l.filledIn(of.Text(key))}
			s.Setting, s.Target, _ = strings.Cut(key, "@")
			canonical, err := l.canonical(s)
			if err != nil {
				l.Problem(of.Where(key), "%v", err)
			}
			s.Value = canonical
			for _, other := range out {
				if Same(s, other) {
					l.Problem(of.Where(key), "%s is set twice on %s; take one out", s.Setting, host)
				}
			}
			out = append(out, s)
		}
	}
	return out
}

func (r *reader) declared(line int, hosts map[string]string, name string) {
	if _, ok := hosts[name]; !ok {
		r.Problem(line, "host %q is not one of hosts: add it there, or take one of %s", name, strings.Join(slices.Sorted(maps.Keys(hosts)), ", "))
	}
}

func (l levels) host(line int, name string) { l.declared(line, l.hosts, name) }

// changes reads workload: {streams: 4}. Each must fit at least one workload.
func (l levels) changes(v conf.Node) map[string]string {
	t := v.Table("workload", changeKeys()...)
	out := map[string]string{}
	for _, key := range t.Keys {
		out[key] = l.filledIn(t.Text(key))
	}
	fits, why := len(l.workloads) == 0, error(nil)
	for _, w := range l.workloads {
		if !Applies(w, out) {
			continue
		}
		fits = true
		if _, err := Change(w, out); err != nil {
			why = err
		}
	}
	switch {
	case why != nil:
		l.Problem(v.Line, "%v", why)
	case !fits:
		l.Problem(v.Line, "workload: no workload of this file has %s", strings.Join(t.Keys, " and "))
	}
	return out
}

func (l levels) verify(v conf.Node) *model.StudyVerify {
	t := v.Table("verify", verifyKeys()...)
	x := &model.StudyVerify{Host: t.Text("host"), Fact: t.Text("fact"), Is: t.Text("is")}
	l.host(t.Where("host"), x.Host)
	if x.Is == "" {
		t.Problem("is", "say what the fact reads once the change is made")
	}
	if err := knownFact(x.Fact); err != nil {
		t.Problem("fact", "%v", err)
	}
	return x
}

// reach checks that factors change the primary workload, by whose outcome they are
// judged, and that no two set the same thing.
func (r *reader) reach(f *model.StudyFile) {
	i := slices.IndexFunc(f.Workloads, func(w model.StudyWorkload) bool { return w.Name == f.Primary })
	if i < 0 {
		return
	}
	for _, x := range f.Factors {
		for _, level := range x.Levels {
			if len(level.Workload) > 0 && !Applies(f.Workloads[i], level.Workload) {
				r.Problem(r.factors[x.Name], "level %s of %s changes nothing of the primary workload %s; declare another primary, or make it a study of its own", level.Name, x.Name, f.Primary)
			}
		}
	}
	r.overlaps(f)
}

// overlaps finds two factors that set the same thing: in a crossed design they would undo each
// other, and no design can separate their effects.
func (r *reader) overlaps(f *model.StudyFile) {
	for i, one := range f.Factors {
		for _, other := range f.Factors[i+1:] {
			if what := shared(one, other); what != "" {
				r.Problem(r.factors[other.Name], "%s (line %d) and %s both set %s: make them levels of one factor", one.Name, r.factors[one.Name], other.Name, what)
			}
		}
		base := model.StudyFactor{Levels: f.Baseline}
		if what := shared(base, one); what != "" {
			r.Problem(r.factors[one.Name], "%s and the baseline both set %s: leave it out of the baseline, and let a level have what the baseline had", one.Name, what)
		}
	}
}

func shared(one, other model.StudyFactor) string {
	for _, a := range one.Levels {
		for _, b := range other.Levels {
			for _, s := range a.Set {
				if slices.ContainsFunc(b.Set, func(o model.StudySetting) bool { return Same(s, o) }) {
					return fmt.Sprintf("%s on %s", s.Setting, s.Host)
				}
			}
			for key := range a.Workload {
				if _, ok := b.Workload[key]; ok {
					return key + " of the workload"
				}
			}
		}
	}
	return ""
}

// labWork reads lab: as words, or as a list where a word has spaces in it.
func (l levels) labWork(t conf.Table) []string {
	if t.Get("lab").IsList() {
		return t.Get("lab").Texts()
	}
	return strings.Fields(t.Text("lab"))
}

// ByLab reports whether the lab does the operator's work of a level: the level says how, and
// all hosts of the study belong to one lab.
func ByLab(f model.StudyFile, l model.StudyLevel) bool { return len(l.Lab) > 0 && oneLab(f.Hosts) }

// oneLab tells whether all hosts are of the same lab.
func oneLab(hosts map[string]string) bool {
	labs := map[string]bool{}
	for _, at := range hosts {
		name, ok := strings.CutPrefix(at, "lab:")
		if !ok {
			return false
		}
		lab, _, named := strings.Cut(name, "/")
		if !named {
			lab = ""
		}
		labs[lab] = true
	}
	return len(labs) == 1
}
