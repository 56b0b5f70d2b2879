package file

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"linerate/internal/conf"
	"linerate/internal/model"
	"linerate/internal/study"
)

// Version is the version of study files that this build reads.
const Version = 1

// Bounds of a file: far above any study, so that a hostile file costs little.
const (
	maxEntries = 64 // of a list
	maxHosts   = 64
	maxBudget  = 30 * 24 * time.Hour
)

// The keys of a study file, by the part that they belong to. schema.json has the same for
// editors; a test compares the two.
func fileKeys() []string {
	return []string{"v", "name", "question", "source", "hosts", "via", "baseline", "factors", "workloads", "primary", "protocol", "budget"}
}

// Parse reads a study file and fills in what it leaves out. name is the file's,
// for messages: every problem is a line "NAME: line N: what is wrong and what to
// do" of the error. The seed is 0 where the file has none: the caller then draws
// one, and keeps it.
func Parse(name string, text []byte) (model.StudyFile, error) {
	return parse(name, text, readCatalogue())
}

func parse(name string, text []byte, c *catalogue) (model.StudyFile, error) {
	r := newReader(name, c)
	f := r.file(text)
	if r.Failed() {
		return model.StudyFile{}, r.Err()
	}
	return f, nil
}

// reader collects the problems of a study file.
type reader struct {
	*conf.Reader
	*catalogue
	factors map[string]int // the line of each
}

func newReader(name string, c *catalogue) *reader {
	kind := conf.Kind{
		Name:    "a study file",
		Want:    "want one YAML document; linerate study new prints one to begin with",
		Place:   "%s: line %d: %s",
		Entries: maxEntries,
	}
	return &reader{Reader: conf.NewReader(kind, name), catalogue: c}
}

func (r *reader) file(text []byte) model.StudyFile {
	root := r.Document(text)
	if r.Failed() {
		return model.StudyFile{}
	}
	t := root.Table("study", fileKeys()...)
	f := model.StudyFile{
		V: Version, Name: t.Text("name"), Question: t.Text("question"), Source: t.Text("source"), Via: t.Text("via"), Primary: t.Text("primary"),
		Budget: t.Get("budget").Duration(time.Second, maxBudget, 0),
	}
	if t.Get("v").Integer(0, 1<<20, 0) != Version {
		t.Problem("v", "this linerate reads study files of version %d: write v: %d", Version, Version)
	}
	r.nameOf(t, "study", f.Name)
	f.Hosts = r.hosts(t)
	for _, v := range t.Get("workloads").List() {
		f.Workloads = append(f.Workloads, r.workload(v, f.Hosts))
	}
	l := levels{reader: r, hosts: f.Hosts, workloads: f.Workloads}
	for _, v := range t.Get("baseline").List() {
		f.Baseline = append(f.Baseline, l.step(v))
	}
	for _, v := range t.Get("factors").List() {
		f.Factors = append(f.Factors, l.factor(v))
	}
	f.Protocol = r.protocol(t)
	if !r.Failed() {
		r.whole(t, &f)
	}
	return f
}

// whole checks rules that concern more than one part of a file.
func (r *reader) whole(t conf.Table, f *model.StudyFile) {
	if len(f.Workloads) == 0 {
		t.Problem("workloads", "there is none: say what is measured")
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
		t.Problem("primary", "%q is no workload of this file; declare one of %s before the first run, or any of them could be picked afterwards",
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

func (r *reader) distinctSteps(t conf.Table, f *model.StudyFile) {
	names := make([]string, 0, len(f.Baseline))
	for _, s := range f.Baseline {
		names = append(names, s.Name)
	}
	r.distinct(t, "baseline", names)
	if slices.ContainsFunc(f.Factors, func(x model.StudyFactor) bool { return x.Name == StepFactor }) {
		t.Problem("factors", "the name %q is kept for the steps of the baseline; take another", StepFactor)
	}
}

// StepFactor is the factor by whose name the steps of the baseline are compared
// in design "sequence".
const StepFactor = "baseline"

func (r *reader) distinct(t conf.Table, key string, names []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			t.Problem(key, "two are called %q; give one another name", n)
		}
		seen[n] = true
	}
}

var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,62}$`) })

// nameOf checks a name: it becomes part of labels, file names and sentences.
func (r *reader) nameOf(t conf.Table, what, name string) {
	if !namePattern().MatchString(name) {
		t.Problem("name", "%q is no name of a %s: want 1 to 63 letters, digits, dots, dashes, pluses and underscores, a letter or digit first", name, what)
	}
}

func (r *reader) hosts(t conf.Table) map[string]string {
	if !t.Has("hosts") {
		t.Problem("hosts", "there is none: name them, such as hosts: {client: lab:client1, server: root@nas1}")
		return nil
	}
	m := t.Get("hosts").Table("hosts")
	if len(m.Keys) > maxHosts {
		t.Problem("hosts", "%d, at most %d", len(m.Keys), maxHosts)
		return nil
	}
	out := make(map[string]string, len(m.Keys))
	for _, name := range m.Keys {
		where := m.Text(name)
		if !namePattern().MatchString(name) {
			m.Problem(name, "want 1 to 63 letters, digits, dots, dashes and underscores as a host's name in this file")
		}
		if where == "" || strings.HasPrefix(where, "-") || strings.ContainsFunc(where, control) {
			m.Problem(name, "%q: say how the host is reached: lab:client1, root@nas1, or localhost for this one", where)
		}
		for other, place := range out {
			if place == where {
				m.Problem(name, "%s is %s already; one name for a host", where, other)
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
func (r *reader) protocol(t conf.Table) model.StudyProtocol {
	p := model.StudyProtocol{Name: Linerate, Design: OneAtATime}
	m := t.Get("protocol").Table("protocol", protocolKeys()...)
	r.choice(m, "name", &p.Name, Linerate, Paper)
	r.choice(m, "design", &p.Design, Designs()...)
	p.Seed = uint64(m.Get("seed").Integer(1, 1<<53, 0))
	for _, key := range map[string][]string{Linerate: {"runs", "rsd", "most"}, Paper: {"alpha", "looks", "aa"}}[p.Name] {
		if m.Has(key) {
			m.Problem(key, "protocol %s has none; take the key out", p.Name)
		}
	}
	if p.Name == Paper {
		gate := study.PaperGate()
		p.Margin = m.Get("margin").Number(1, 2, 1+gate.Margin)
		p.Runs, p.RSD = m.Get("runs").Integer(2, 20, gate.Runs), m.Get("rsd").Number(0, 1, gate.RSD)
		p.Most = m.Get("most").Integer(1, 20, paperMost)
		return p
	}
	p.Margin = m.Get("margin").Number(1, 2, study.Margin)
	p.Alpha = m.Get("alpha").Number(0, 0.5, study.SequenceAlpha)
	p.AA = m.Get("aa").Integer(0, study.MaxPairs, study.DefaultAAPairs)
	p.Looks = r.looks(m, p.Alpha)
	return p
}

// paperMost is the number of groups without agreement after which a case is given up. Dell's
// paper has no such bound; without one a noisy path would be measured for ever.
const paperMost = 5

func (r *reader) looks(m conf.Table, alpha float64) []int {
	if !m.Has("looks") {
		return study.PlannedBlocks()
	}
	var out []int
	for _, v := range m.Get("looks").List() {
		n := v.Integer(1, maxBlocks, 0)
		if v.Missing() || len(out) > 0 && n <= out[len(out)-1] {
			r.Problem(v.Line, "looks: they must rise, such as [8, 12, 20, 32]")
			return study.PlannedBlocks()
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		m.Problem("looks", "there is none; leave the key out for %v", study.PlannedBlocks())
		return study.PlannedBlocks()
	}
	if s := study.Smallest(0.01, out[len(out)-1], alpha); s > 1e6 {
		m.Problem("looks", "%d blocks can show nothing at an error rate of %v: a sign-flip test needs 6 at least at 0.05", out[len(out)-1], alpha)
	}
	return out
}

// maxBlocks bounds one comparison.
const maxBlocks = 128

func (r *reader) choice(m conf.Table, key string, into *string, of ...string) {
	s := m.Text(key)
	switch {
	case s == "":
	case slices.Contains(of, s):
		*into = s
	default:
		m.Problem(key, "%q: want one of %s", s, strings.Join(of, ", "))
	}
}
