package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/tune/setter"
	"linerate/internal/unit"
)

// Set is a value that the user typed: it overrides the profile, and may lower the running value
// or trade safety away. Device is an interface's name or id; empty: the profile's own targets.
type Set struct{ Setting, Device, Value string }

// Ask is a value that has to be read before a plan can be made.
type Ask struct {
	Place
	Like string // the parts of it that matter; empty: all of it
}

// Reading is the value read; Missing says why there is none, and NotSet why linerate does not set it there at all.
type Reading struct{ Value, Missing, NotSet string }

// Row is one setting with everything that a panel or a plan shows of it.
type Row struct {
	Place
	Device  string // name of the device now
	Now     string // what runs; empty: not known
	Default string // of this kernel; empty: not known
	To      string // what is recommended or typed; empty: nothing is
	Change  bool   // To is to be written
	Typed   bool   // by --set
	Why     string // of the change, or why there is none
	Source  string
	Risk    string
	Needs   string // as model.Change has it
	Trades  string // what it costs beside performance: data safety, security
	Cuts    bool   // can cut somebody off who works over the network
}

// item is a line at a device, or a typed value.
type item struct {
	line  Line
	typed bool
	at    []target
	err   error // why there is no device
}

// Asks lists the values to be read for a plan.
func Asks(p Profile, sets []Set, s Subject) []Ask {
	var out []Ask
	seen := map[Ask]bool{}
	for _, it := range items(p, sets, s) {
		for _, at := range it.at {
			a := Ask{Place{Setting: it.line.Setting, Target: at.id}, it.line.rule.like()}
			if !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}

// items are the lines of the profile that no typed value overrides, then the typed values.
func items(p Profile, sets []Set, s Subject) []item {
	var out []item
	for _, l := range p.Lines {
		if !s.has(l.Setting) || slices.ContainsFunc(sets, func(x Set) bool { return x.Setting == l.Setting && x.Device == "" }) {
			continue
		}
		at, err := s.targets(l.Setting, "")
		out = append(out, item{line: l, at: at, err: err})
	}
	for _, x := range sets {
		it := item{typed: true, line: Line{Setting: x.Setting, Value: x.Value, Reason: "typed", Source: "you"}}
		it.line.rule, it.err = parseTemplate(x.Value)
		switch {
		case it.err != nil:
		case !s.has(x.Setting):
			it.err = fmt.Errorf("this host runs %s, which has no such setting", s.system())
		default:
			it.at, it.err = s.targets(x.Setting, x.Device)
		}
		out = append(out, it)
	}
	return out
}

// Make evaluates a profile and typed values for one host and path, given the running values. Rows
// are in the order of the profile, typed values last.
func Make(p Profile, sets []Set, s Subject, now map[Ask]Reading) []Row {
	return makeRows(readCatalogue().settings, p, sets, s, now)
}

func makeRows(known Settings, p Profile, sets []Set, s Subject, now map[Ask]Reading) []Row {
	m := maker{subject: s, now: now, known: known, found: rules.Check(s.Facts, rules.Context{LineRate: s.Path.Rate, RTT: s.Path.RTT})}
	var out []Row
	for _, it := range items(p, sets, s) {
		if it.err != nil {
			out = append(out, m.without(it))
		}
		for _, at := range it.at {
			row := m.row(it, at)
			if !it.typed && slices.ContainsFunc(out, func(r Row) bool { return r.Place == row.Place && r.Change }) {
				continue // an earlier line of the same setting counts
			}
			out = append(out, row)
		}
	}
	return typedLast(out)
}

// typedLast drops rows of the profile for a device whose setting was typed.
func typedLast(rows []Row) []Row {
	typed := map[Place]bool{}
	for _, r := range rows {
		typed[r.Place] = typed[r.Place] || r.Typed
	}
	return slices.DeleteFunc(rows, func(r Row) bool { return typed[r.Place] && !r.Typed })
}

type maker struct {
	subject Subject
	now     map[Ask]Reading
	known   Settings
	found   []model.Finding
}

// start is a row with everything that does not depend on the value.
func (m maker) start(it item, at target) (Row, guide.Setting) {
	known, _ := m.known.Find(it.line.Setting)
	r := Row{Place: Place{Setting: it.line.Setting, Target: at.id}, Device: at.name, Typed: it.typed, Source: it.line.Source, Cuts: setter.NatureOf(it.line.Setting).Cuts}
	if d, ok := known.DefaultOn(m.subject.release()); ok {
		r.Default = d.Value
	}
	return r, known
}

// without is the row of a line that has no device.
func (m maker) without(it item) Row {
	r, _ := m.start(it, target{})
	r.Why = it.err.Error()
	return r
}

func (m maker) row(it item, at target) Row {
	r, known := m.start(it, at)
	if known.ID == "" {
		r.Why = "the guide does not know it, so its risk is not known"
		return r
	}
	reading := m.now[Ask{r.Place, it.line.rule.like()}]
	r.Now = reading.Value
	var used []string
	env := values{m.subject, known, &used}
	if why := m.applies(it.line, at, env); why != "" {
		r.Why = why
		return r
	}
	if reading.NotSet != "" {
		r.Why = reading.NotSet
		return r
	}
	if reading.Value == "" {
		r.Why = "its value could not be read: " + reading.Missing
		return r
	}
	numbers, err := m.evaluate(it, known, env, &r)
	if err != nil {
		r.To, r.Why = "", err.Error()
		return r
	}
	r.Risk, r.Needs = risk(it.line, known), needs(it.line, known)
	m.conclude(it, known, numbers, compact(used), &r)
	return r
}

// applies checks the conditions of a line; an empty text: they hold.
func (m maker) applies(l Line, at target, env values) string {
	ok, err := l.when.check(env)
	switch {
	case err != nil:
		return err.Error()
	case !ok:
		return fmt.Sprintf("only where %s; here: %s", l.When, strings.Join(*env.used, ", "))
	}
	*env.used = nil
	if l.Finding == "" {
		return ""
	}
	for _, f := range m.found {
		if f.Rule == l.Finding && (at.name == "" || at.isIn(f.Observed)) {
			return ""
		}
	}
	return "not needed: nothing here has the finding " + l.Finding
}

// isIn tells whether a rule's observation is about the device: findings begin with a device's
// name.
func (t target) isIn(observed string) bool {
	for _, name := range append([]string{t.name}, t.also...) {
		rest, ok := strings.CutPrefix(observed, name)
		if ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, " (")) {
			return true
		}
	}
	return false
}

// evaluate fills in the value. A value that the guide says must not fall is treated as an amount,
// unless it was typed.
func (m maker) evaluate(it item, known guide.Setting, env values, r *Row) ([]number, error) {
	var limits []string // what the cap is made of matters only where it binds
	e := evaluation{
		env: env, now: r.Now, near: m.subject.near(), cap: it.line.cap, capEnv: values{m.subject, known, &limits},
		amount: it.line.amount() || known.NeverLower && !it.typed,
	}
	e.largest = known.Largest()
	if known.TimesBDP > 0 && m.defaultFits(r.Default) {
		e.floor = r.Default // somebody lowered it: what the kernel would have is no worse
	}
	if r.Now == "default" && hasPrefix(r.Setting, mountOptions) {
		e.now = "1" // the mount table does not show it: one connection, one channel
	}
	to, numbers, err := it.line.rule.evaluate(e)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(numbers, func(n number) bool { return n.capped }) {
		*env.used = append(*env.used, limits...)
	}
	if e.amount && len(numbers) > 0 && !slices.ContainsFunc(numbers, func(n number) bool { return n.compared }) {
		return nil, fmt.Errorf("runs as %q, which cannot be compared with %q: nothing is lowered unasked", r.Now, to)
	}
	r.To = inOrder(to)
	return numbers, nil
}

// defaultFits tells whether the kernel would have that default on this host: its buffers are at
// most 1/128 of memory (net/ipv4/tcp.c, tcp_init).
func (m maker) defaultFits(value string) bool {
	words := strings.Fields(value)
	if len(words) == 0 {
		return false
	}
	n, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	memory, ok := m.subject.Facts.Memory.Get()
	return err == nil && ok && n <= int64(memory)/128
}

// inOrder sorts the words of a value that has parts; others stay.
func inOrder(value string) string {
	words := strings.Fields(value)
	for _, w := range words {
		if !strings.Contains(w, "=") {
			return strings.Join(words, " ")
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func risk(l Line, known guide.Setting) string {
	parts := []string{known.Risk.Level}
	for _, why := range []string{known.Risk.Why, l.Risk} {
		if why != "" {
			parts = append(parts, why)
		}
	}
	// Of Linux, the setters know what their writes do.
	if _, also, _ := strings.Cut(known.ActsOn, "; "); also != "" && also != l.Risk && !strings.HasPrefix(l.Setting, "linux.") {
		parts = append(parts, also)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts[0] + ": " + strings.Join(parts[1:], "; ")
}

// needs is what must happen besides the write before the value takes effect, as in model.Change:
// from the line, else from the mechanism, else from the guide.
func needs(l Line, known guide.Setting) string {
	if l.Needs != "" {
		return l.Needs
	}
	if n := setter.NatureOf(l.Setting).Needs; n != "" {
		return n
	}
	acts, _, _ := strings.Cut(known.ActsOn, "; ")
	if strings.HasPrefix(acts, "at once") || strings.HasPrefix(acts, "all connections at once") {
		return ""
	}
	return acts
}

// conclude decides whether the row is a change, and says why.
func (m maker) conclude(it item, known guide.Setting, numbers []number, used []string, r *Row) {
	same := r.To == inOrder(r.Now) || r.Now == unset && isDefault(r.To, r.Default)
	if same {
		r.To = r.Now
	}
	switch trades := Trades(known, r.Now, r.To); {
	case same:
		r.Why = m.enough(known, numbers, used, r)
	case trades != "" && !it.typed:
		r.Why = fmt.Sprintf("trades %s: only by name, --set %s='%s'", trades, r.Setting, r.To)
		r.To = ""
	case hasPrefix(r.Setting, mountOptions) && !setter.ByRemount(r.Setting):
		r.Why = fmt.Sprintf("%s; by a new mount only, which is not linerate's to make: unmount %s, add %s=%s to its options, mount it again",
			it.line.Reason, r.Device, r.Setting[strings.LastIndexByte(r.Setting, '.')+1:], r.To)
	default:
		r.Change, r.Trades = true, trades
		r.Why = it.line.Reason
		if how := worked(numbers, used); how != "" {
			r.Why += "; " + how
		}
		if falls, _ := compare(r.Now, r.To); it.typed && falls {
			r.Why += "; lower than what runs, as typed"
		}
	}
}

// compact drops repeated reasons.
func compact(texts []string) []string {
	var out []string
	for _, t := range texts {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// unset is how mechanisms read an option that was never written, and mountOptions the id prefix
// of options that need a new mount.
const (
	unset        = "unset"
	mountOptions = "linux.mount."
)

// isDefault tells whether a value is the first word of the guide's default, which may continue
// with a remark: "yes (no before 4.15)".
func isDefault(value, text string) bool {
	rest, ok := strings.CutPrefix(text, value)
	return ok && value != "" && (rest == "" || rest[0] == ' ' || rest[0] == ',')
}

// worked shows how the numbers were computed.
func worked(numbers []number, used []string) string {
	var parts, remarks []string
	for _, n := range numbers {
		switch {
		case n.ran:
			remarks = append(remarks, fmt.Sprintf("%d runs already", n.got))
		case n.capped:
			remarks = append(remarks, fmt.Sprintf("capped at %d", n.got))
		case n.floored:
			remarks = append(remarks, fmt.Sprintf("the kernel's default of %d is more", n.got))
		}
		if n.formula != strconv.FormatInt(n.wanted, 10) { // no constant
			parts = append(parts, fmt.Sprintf("%s = %d", n.formula, n.wanted))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, ", ")
	if len(numbers) == 1 && len(used) == 1 && strings.HasSuffix(used[0], fmt.Sprintf(" = %d B", numbers[0].wanted)) {
		text = used[0] // it says all of that
	} else if len(used) > 0 {
		text += " with " + strings.Join(used, ", ")
	}
	return strings.Join(append([]string{text}, remarks...), "; ")
}

// enough says why the running value stays.
func (m maker) enough(known guide.Setting, numbers []number, used []string, r *Row) string {
	whose := "already so"
	if strings.EqualFold(r.Now, r.Default) {
		whose = "already so by this kernel's default"
	}
	if len(numbers) == 0 || !numbers[len(numbers)-1].ran {
		return whose
	}
	n := numbers[len(numbers)-1]
	have := fmt.Sprint(n.got)
	if known.TimesBDP > 0 {
		have = unit.Bytes(n.got).String()
	}
	whose = "already " + have
	if strings.EqualFold(r.Now, r.Default) {
		whose = "default already " + have
	}
	if n.capped && n.wanted > n.got {
		return fmt.Sprintf("%s; the rule asks for %d, more than its cap: several connections (--streams) need less each; %s", whose, n.wanted, strings.Join(used, ", "))
	}
	if reach := m.reach(known, n); reach != "" {
		return whose + ", enough for " + reach
	}
	if how := worked(numbers, used); how != "" {
		return whose + ", and the rule asks for no more: " + how
	}
	return fmt.Sprintf("%s, and the rule asks for %d", whose, n.wanted)
}

// reach is the rate for which a running window suffices on the path.
func (m maker) reach(known guide.Setting, n number) string {
	p := m.subject.Path
	if known.TimesBDP == 0 || p.RTT <= 0 {
		return ""
	}
	rate := unit.BitRate(float64(n.got) / known.TimesBDP * 8 / p.RTT.Seconds())
	return fmt.Sprintf("%s at %s on one connection", rate, Duration(p.RTT))
}

// Trades is what a change costs besides performance; empty: nothing. If the guide names a value
// ("…, when set to 0") or a direction ("…, when lowered"), only that counts.
func Trades(known guide.Setting, from, to string) string {
	what, value, ok := strings.Cut(known.Trades, ", when set to ")
	if ok && value != to {
		return ""
	}
	if what, ok := strings.CutSuffix(what, ", when lowered"); ok {
		if Lowers(from, to) {
			return what
		}
		return ""
	}
	return what
}
