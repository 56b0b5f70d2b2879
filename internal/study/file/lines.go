package file

import "linerate/internal/model"

// Lines are where the parts of a study file stand in its text, from line 1 on. A
// part that is not there, or whose line is not known, has 0.
type Lines struct {
	Hosts, Workloads map[string]int    // by name
	Levels           map[[2]string]int // by factor, or StepFactor, and level
	Budget           int
}

// LinesOf finds the parts of a study file that Parse has accepted.
func LinesOf(text []byte) Lines {
	l := Lines{Hosts: map[string]int{}, Workloads: map[string]int{}, Levels: map[[2]string]int{}}
	r := &reader{}
	root, ok := r.document(text)
	if !ok {
		return l
	}
	t := r.mapping(root, "study", fileKeys())
	if t.has("budget") {
		l.Budget = t.where("budget")
	}
	if t.has("hosts") {
		m := r.mapping(t.at["hosts"], "hosts", nil)
		for _, name := range m.keys {
			l.Hosts[name] = m.where(name)
		}
	}
	for _, v := range t.list("workloads") {
		w := r.mapping(v, "workload", workloadKeys())
		l.Workloads[w.text("name")] = w.line
	}
	level := func(factor string, v value) {
		x := r.mapping(v, "level", levelKeys())
		l.Levels[[2]string{factor, x.text("name")}] = x.line
	}
	for _, v := range t.list("baseline") {
		level(StepFactor, v)
	}
	for _, v := range t.list("factors") {
		f := r.mapping(v, "factor", factorKeys())
		for _, v := range f.list("levels") {
			level(f.text("name"), v)
		}
	}
	return l
}

// at puts the line of a level into a problem.
func (l Lines) at(factor, level string, add func(model.StudyPlanProblem)) func(model.StudyPlanProblem) {
	return func(p model.StudyPlanProblem) {
		p.Line = l.Levels[[2]string{factor, level}]
		add(p)
	}
}
