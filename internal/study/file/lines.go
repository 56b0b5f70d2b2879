package file

import (
	"linerate/internal/conf"
	"linerate/internal/model"
)

// Lines has the line numbers of the parts of a study file, from 1 on. A part that is missing,
// or whose line is not known, has 0.
type Lines struct {
	Hosts, Workloads map[string]int    // by name
	Levels           map[[2]string]int // by factor, or StepFactor, and level
	Ranges           map[string]int    // by factor
	Budget           int
}

// LinesOf finds the parts of a study file that Parse has accepted.
func LinesOf(text []byte) Lines {
	l := Lines{Hosts: map[string]int{}, Workloads: map[string]int{}, Levels: map[[2]string]int{}, Ranges: map[string]int{}}
	root := newReader("", nil).Document(text)
	if root.Missing() {
		return l
	}
	t := root.Table("study", fileKeys()...)
	if t.Has("budget") {
		l.Budget = t.Where("budget")
	}
	if t.Has("hosts") {
		m := t.Get("hosts").Table("hosts")
		for _, name := range m.Keys {
			l.Hosts[name] = m.Where(name)
		}
	}
	for _, v := range t.Get("workloads").List() {
		w := v.Table("workload", workloadKeys()...)
		l.Workloads[w.Text("name")] = w.Line
	}
	level := func(factor string, v conf.Node) {
		x := v.Table("level", levelKeys()...)
		l.Levels[[2]string{factor, x.Text("name")}] = x.Line
	}
	for _, v := range t.Get("baseline").List() {
		level(StepFactor, v)
	}
	for _, v := range t.Get("factors").List() {
		f := v.Table("factor", factorKeys()...)
		for _, v := range f.Get("levels").List() {
			level(f.Text("name"), v)
		}
		if f.Has("range") {
			l.Ranges[f.Text("name")] = f.Where("range")
		}
	}
	return l
}

// at adds the line of a level to a problem.
func (l Lines) at(factor, level string, add func(model.StudyPlanProblem)) func(model.StudyPlanProblem) {
	return func(p model.StudyPlanProblem) {
		p.Line = l.Level(factor, level)
		add(p)
	}
}

// Level is the line of a level; of one that a range made, that of the range.
func (l Lines) Level(factor, level string) int {
	if n, ok := l.Levels[[2]string{factor, level}]; ok {
		return n
	}
	return l.Ranges[factor]
}
