package file

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/study"
)

// Version is that of the study files which this build reads.
const Version = 1

// Bounds of a file: far above any study, so that a hostile one costs little.
const (
	maxFile    = 256 << 10
	maxEntries = 64 // of a list
	maxHosts   = 64
	maxBudget  = 30 * 24 * time.Hour
)

// The keys of a study file, by what they stand in. schema.json says the same
// for editors; a test holds the two together.
func fileKeys() []string {
	return []string{"v", "name", "question", "source", "hosts", "via", "baseline", "factors", "workloads", "primary", "protocol", "budget"}
}

// Parse reads a study file and fills in what it leaves out. name is the file's,
// for messages: every problem is a line "NAME: line N: what is wrong and what to
// do" of the error. The seed is 0 where the file has none: whoever runs the study
// draws one, and keeps it.
func Parse(name string, text []byte) (model.StudyFile, error) {
	return parse(name, text, readCatalogue())
}

func parse(name string, text []byte, c *catalogue) (model.StudyFile, error) {
	r := &reader{catalogue: c, name: name}
	f := r.file(text)
	if len(r.problems) > 0 {
		return model.StudyFile{}, errors.New(strings.Join(r.problems, "\n"))
	}
	return f, nil
}

func (r *reader) file(text []byte) model.StudyFile {
	if len(text) > maxFile {
		r.problem(1, "%d bytes: a study file has at most %d", len(text), maxFile)
		return model.StudyFile{}
	}
	root, ok := r.document(text)
	if !ok {
		return model.StudyFile{}
	}
	t := r.mapping(root, "study", fileKeys())
	f := model.StudyFile{
		V: Version, Name: t.text("name"), Question: t.text("question"), Source: t.text("source"), Via: t.text("via"), Primary: t.text("primary"),
		Budget: t.duration("budget", time.Second, maxBudget, 0),
	}
	if t.integer("v", 0, 1<<20, 0) != Version {
		t.problem("v", "this linerate reads study files of version %d: write v: %d", Version, Version)
	}
	r.nameOf(t, "study", f.Name)
	f.Hosts = r.hosts(t)
	for _, v := range t.list("workloads") {
		f.Workloads = append(f.Workloads, r.workload(v, f.Hosts))
	}
	l := levels{reader: r, hosts: f.Hosts, workloads: f.Workloads}
	for _, v := range t.list("baseline") {
		f.Baseline = append(f.Baseline, l.step(v))
	}
	for _, v := range t.list("factors") {
		f.Factors = append(f.Factors, l.factor(v))
	}
	f.Protocol = r.protocol(t)
	if len(r.problems) == 0 {
		r.whole(t, &f)
	}
	return f
}

// whole checks what no single part of a file shows.
func (r *reader) whole(t table, f *model.StudyFile) {
	if len(f.Workloads) == 0 {
		t.problem("workloads", "there is none: say what is measured")
		return
	}
	names := make([]string, 0, len(f.Workloads))
	for _, w := range f.Workloads {
		names = append(names, w.Name)
	}
	r.distinct(t, "workloads", names)
	if f.Primary == "" && len(names) == 1 {
		f.Primary = names[0]
	}
	if !slices.Contains(names, f.Primary) {
		t.problem("primary", "%q is no workload of this file; declare one of %s before the first run, or any of them could be picked afterwards",
			f.Primary, strings.Join(names, ", "))
	}
	names = nil
	for _, x := range f.Factors {
		names = append(names, x.Name)
	}
	r.distinct(t, "factors", names)
	r.distinctSteps(t, f)
	r.reach(f)
	r.design(t, f)
}

func (r *reader) distinctSteps(t table, f *model.StudyFile) {
	names := make([]string, 0, len(f.Baseline))
	for _, s := range f.Baseline {
		names = append(names, s.Name)
	}
	r.distinct(t, "baseline", names)
	if slices.ContainsFunc(f.Factors, func(x model.StudyFactor) bool { return x.Name == StepFactor }) {
		t.problem("factors", "the name %q is kept for the steps of the baseline; take another", StepFactor)
	}
}

// StepFactor is the factor by whose name the steps of the baseline are compared
// in design "sequence".
const StepFactor = "baseline"

func (r *reader) distinct(t table, key string, names []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			t.problem(key, "two are called %q; give one another name", n)
		}
		seen[n] = true
	}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,62}$`)

// nameOf checks a name: it becomes part of labels, file names and sentences.
func (r *reader) nameOf(t table, what, name string) {
	if !namePattern.MatchString(name) {
		t.problem("name", "%q is no name of a %s: want 1 to 63 letters, digits, dots, dashes, pluses and underscores, a letter or digit first", name, what)
	}
}

func (r *reader) hosts(t table) map[string]string {
	v, ok := t.at["hosts"]
	if !ok || v.missing() {
		t.problem("hosts", "there is none: name them, such as hosts: {client: lab:client1, server: root@nas1}")
		return nil
	}
	m := r.mapping(v, "hosts", nil)
	if len(m.keys) > maxHosts {
		t.problem("hosts", "%d, at most %d", len(m.keys), maxHosts)
		return nil
	}
	out := make(map[string]string, len(m.keys))
	for _, name := range m.keys {
		where := m.text(name)
		if !namePattern.MatchString(name) {
			m.problem(name, "want 1 to 63 letters, digits, dots, dashes and underscores as a host's name in this file")
		}
		if where == "" || strings.HasPrefix(where, "-") || strings.ContainsFunc(where, control) {
			m.problem(name, "%q: say how the host is reached: lab:client1, root@nas1, or localhost for this one", where)
		}
		for other, place := range out {
			if place == where {
				m.problem(name, "%s is %s already; one name for a host", where, other)
			}
		}
		out[name] = where
	}
	return out
}

func control(c rune) bool { return c < ' ' || c == 0x7f || c == '\uFFFD' }

func protocolKeys() []string {
	return []string{"name", "design", "alpha", "margin", "looks", "aa", "runs", "rsd", "most", "seed"}
}

// protocol reads how the study concludes. Its defaults are those of package
// study: looks after 8, 12, 20 and 32 blocks at SequenceAlpha; and for "paper"
// those of Dell's BP1057 (2013): three runs within 1%, differences from 5% on.
func (r *reader) protocol(t table) model.StudyProtocol {
	p := model.StudyProtocol{Name: Linerate, Design: OneAtATime}
	m := table{r: r, line: t.line, at: map[string]value{}}
	if t.has("protocol") {
		m = r.mapping(t.at["protocol"], "protocol", protocolKeys())
	}
	r.choice(m, "name", &p.Name, Linerate, Paper)
	r.choice(m, "design", &p.Design, Designs()...)
	p.Seed = uint64(m.integer("seed", 1, 1<<53, 0))
	for _, key := range map[string][]string{Linerate: {"runs", "rsd", "most"}, Paper: {"alpha", "looks", "aa"}}[p.Name] {
		if m.has(key) {
			m.problem(key, "protocol %s has none; take the key out", p.Name)
		}
	}
	if p.Name == Paper {
		gate := study.PaperGate()
		p.Margin = m.number("margin", 1, 2, 1+gate.Margin)
		p.Runs, p.RSD = m.integer("runs", 2, 20, gate.Runs), m.number("rsd", 0, 1, gate.RSD)
		p.Most = m.integer("most", 1, 20, paperMost)
		return p
	}
	p.Margin = m.number("margin", 1, 2, study.Margin)
	p.Alpha = m.number("alpha", 0, 0.5, study.SequenceAlpha)
	p.AA = m.integer("aa", 0, study.MaxPairs, study.DefaultAAPairs)
	p.Looks = r.looks(m, p.Alpha)
	return p
}

// paperMost is after how many groups of runs that do not agree a case is given
// up. Dell's paper names no end; without one a noisy path is measured for ever.
const paperMost = 5

func (r *reader) looks(m table, alpha float64) []int {
	if !m.has("looks") {
		return study.PlannedBlocks()
	}
	var out []int
	for _, v := range m.list("looks") {
		s, _ := scalar(v.node)
		one := table{r: r, line: v.line, at: map[string]value{"looks": v}}
		n := one.integer("looks", 1, maxBlocks, 0)
		if s == "" || len(out) > 0 && n <= out[len(out)-1] {
			r.problem(v.line, "looks: they must rise, such as [8, 12, 20, 32]")
			return study.PlannedBlocks()
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		m.problem("looks", "there is none; leave the key out for %v", study.PlannedBlocks())
		return study.PlannedBlocks()
	}
	if s := study.Smallest(0.01, out[len(out)-1], alpha); s > 1e6 {
		m.problem("looks", "%d blocks can show nothing at an error rate of %v: a sign-flip test needs 6 at least at 0.05", out[len(out)-1], alpha)
	}
	return out
}

// maxBlocks bounds one comparison.
const maxBlocks = 128

func (r *reader) choice(m table, key string, into *string, of ...string) {
	s := m.text(key)
	switch {
	case s == "":
	case slices.Contains(of, s):
		*into = s
	default:
		m.problem(key, "%q: want one of %s", s, strings.Join(of, ", "))
	}
}
