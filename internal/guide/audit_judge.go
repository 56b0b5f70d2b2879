package guide

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// match is how a name on a host relates to a setting.
type match int

const (
	matchNone    match = iota
	matchExact         // the setting's native name, or another name for it
	matchNoName        // a wrong name: people mistake it for the setting's
	matchOtherOS       // a name of another operating system
)

// book is the guide's data, parsed once per audit.
type book struct {
	settings []Setting
	guides   []Guide
	byID     map[string]int
	byName   map[string][]int // by native name and by other names
	wrong    map[string]int   // by wrong names
}

func openBook() *book {
	b := &book{settings: All(), guides: Guides(), byID: map[string]int{}, byName: map[string][]int{}, wrong: map[string]int{}}
	for i, s := range b.settings {
		b.byID[s.ID] = i
		for _, n := range append([]string{s.Native()}, s.Names...) {
			b.byName[strings.ToLower(n)] = append(b.byName[strings.ToLower(n)], i)
		}
		for _, n := range s.WrongNames {
			b.wrong[n] = i
		}
	}
	// If settings share a name, those that a guide advises on come first: the line probably
	// follows that guide.
	advised := map[string]bool{}
	for _, g := range b.guides {
		for _, a := range g.Advice {
			advised[a.Setting] = true
		}
	}
	for _, list := range b.byName {
		slices.SortStableFunc(list, func(x, y int) int {
			return order(advised[b.settings[y].ID]) - order(advised[b.settings[x].ID])
		})
	}
	return b
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

// resolve finds the setting for an id that a parser guessed. Systems "any", "switch" and "array"
// match every host.
func (b *book) resolve(os, id string) (*Setting, match) {
	if i, ok := b.byID[id]; ok {
		return b.settle(os, i)
	}
	parts := strings.SplitN(id, ".", 3)
	if len(parts) < 3 {
		return nil, matchNone
	}
	name := parts[2]
	if i, ok := b.wrong[name]; ok {
		return &b.settings[i], matchNoName
	}
	for _, general := range General(id) {
		if i, ok := b.byID[general]; ok {
			return b.settle(os, i)
		}
	}
	// By another name; settings of the same system come first.
	found := b.byName[strings.ToLower(name)]
	for _, i := range found {
		if s := b.settings[i]; s.OS() == os && sameMechanism(s.ID, id) {
			return b.settle(os, i)
		}
	}
	for _, i := range found {
		if sameMechanism(b.settings[i].ID, id) {
			return b.settle(os, i)
		}
	}
	return nil, matchNone
}

func (b *book) settle(os string, i int) (*Setting, match) {
	s := &b.settings[i]
	switch s.OS() {
	case os, "any", "switch", "array":
		return s, matchExact
	}
	return s, matchOtherOS
}

// General are the ids under which the guide may list a setting of one interface
// (linux.sysctl.net.ipv4.conf.eth0.arp_filter): with any interface, then with "all". Other
// settings have none.
func General(id string) []string {
	leaf, ok := perInterface(strings.TrimPrefix(id, "linux.sysctl."))
	if !ok {
		return nil
	}
	return []string{"linux.sysctl.net.ipv4.conf.IF." + leaf, "linux.sysctl.net.ipv4.conf.all." + leaf}
}

// perInterface returns LEAF of net.ipv4.conf.IF.LEAF.
func perInterface(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "net.ipv4.conf.")
	if !ok {
		return "", false
	}
	i := strings.LastIndexByte(rest, '.')
	return rest[i+1:], i > 0
}

// named is the mechanism in the id of a setting of which a host shows only the name, such as a
// registry value.
const named = "named"

// sameMechanism compares the second parts of two ids.
func sameMechanism(a, b string) bool {
	x, y := strings.SplitN(a, ".", 3), strings.SplitN(b, ".", 3)
	return len(x) == 3 && len(y) == 3 && (x[1] == y[1] || x[1] == named || y[1] == named)
}

// opinion is a status with its reason and source.
type opinion struct {
	status Status
	why    string
	source string
}

// judge returns the guide's opinion on one line.
func (b *book) judge(s *Setting, m match, p placed, h model.HostFiles, r Release) opinion {
	if s == nil {
		return unknown(p, h)
	}
	o := opinion{source: b.source(s, p.value)}
	switch m {
	case matchNoName:
		o.status, o.why = WrongName, fmt.Sprintf("This system has no setting of that name; the right one is %s. %s", strings.Join(s.Names, " or "), s.Does)
		return o
	case matchOtherOS:
		o.status, o.why = WrongSide, "A setting of "+b.systems(s)+", which "+SystemName(h.OS)+" does not have."
		if s.Instead != "" {
			o.why += " Here the setting for this is " + s.Instead + "."
		}
		return o
	}
	if strings.ContainsAny(p.value, "$%`") {
		o.status, o.why = NotKnown, "The value is computed when the line is executed, so it is not judged."
		return o
	}
	o.status, o.why = s.opinionOn(p.value, r)
	if s.ID == "linux.irq.affinity" && p.name == "smp_affinity" {
		o.status, o.why = Stale, "The file holds a hexadecimal mask: "+p.value+" is CPU "+maskCPUs(p.value)+". Interrupt numbers change from boot to boot, so the line may move the interrupt of another device."
	}
	if a, ok := b.refuted(s, p.value, r); ok && o.status == Valid {
		o.status, o.why = a.Status, a.Why
	}
	return o
}

// refuted finds an advice that gives exactly this value and that the guide judges wrong.
func (b *book) refuted(s *Setting, value string, r Release) (Advice, bool) {
	for _, g := range b.guides {
		for _, a := range g.Advice {
			in, err := ParseRange(a.Kernels)
			if a.Setting == s.ID && a.Status != Valid && err == nil && in.Has(r) && sameValue(a.Value, value) {
				return a, true
			}
		}
	}
	return Advice{}, false
}

// maskCPUs lists the CPUs of a mask in the format of /proc/irq: hexadecimal, in groups of eight
// digits, the last group the lowest CPUs.
func maskCPUs(mask string) string {
	var out []string
	digits := strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(mask), "0x"), ",", "")
	for i := range len(digits) {
		d := strings.IndexByte("0123456789abcdef", digits[len(digits)-1-i])
		if d < 0 {
			return "none: it is not a CPU mask"
		}
		for bit := range 4 {
			if d>>bit&1 == 1 {
				out = append(out, strconv.Itoa(4*i+bit))
			}
		}
	}
	return strings.Join(out, ", ")
}

// systems names the systems that have a setting with this native name.
func (b *book) systems(s *Setting) string {
	var out []string
	for _, i := range b.byName[strings.ToLower(s.Native())] {
		if name := SystemName(b.settings[i].OS()); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, " and ")
}

// unknown handles names without an entry in the guide. They are not judged, except for a TCP
// sysctl that this kernel does not have.
func unknown(p placed, h model.HostFiles) opinion {
	name, ok := strings.CutPrefix(p.id, "linux.sysctl.net.ipv4.")
	if ok && strings.HasPrefix(name, "tcp_") && h.TCPNames != nil && !slices.Contains(h.TCPNames, name) {
		return opinion{WrongName, "This kernel has no such sysctl: the line fails at every boot.", "/proc/sys/net/ipv4"}
	}
	return opinion{NotKnown, "The guide has no entry for it, so it is not judged.", ""}
}

// judgement is the entry's own on a value.
func (s *Setting) judgement(value string, r Release) (Judgement, bool) {
	for _, j := range s.Judge {
		c, err1 := ParseCondition(j.When)
		g, err2 := ParseRange(j.Kernel)
		if err1 == nil && err2 == nil && c.Holds(value) && g.Has(r) {
			return j, true
		}
	}
	return Judgement{}, false
}

// opinionOn judges a value of the setting on its own system.
func (s *Setting) opinionOn(value string, r Release) (Status, string) {
	if j, ok := s.judgement(value, r); ok {
		return j.Status, j.Why
	}
	d, ok := s.DefaultOn(r)
	if !ok {
		return Valid, "Not compared with the kernel's default, which depends on the kernel release; that is not known. " + s.ChangeWhen
	}
	if sameValue(value, d.Value) {
		return NoOp, "The kernel's own default."
	}
	if st, why := s.lowered(numbers(value), numbers(d.Value), d); st != "" {
		return st, why
	}
	if strings.HasPrefix(s.Value, "Leave") {
		return Stale, "Better left at its default. " + s.ChangeWhen
	}
	return Valid, strings.TrimSpace("Worth it when: " + s.ChangeWhen + " " + s.carries(value))
}

// lowered compares the numbers of a value with those of the default. The last is the limit; the
// others are initial sizes.
func (s *Setting) lowered(have, def []int64, d Default) (Status, string) {
	if !s.NeverLower || len(have) == 0 || len(have) != len(def) {
		return "", ""
	}
	last := len(have) - 1
	smaller := false
	for i := range have[:last] {
		smaller = smaller || have[i] < def[i]
	}
	switch {
	case have[last] < def[last]:
		return Harmful, fmt.Sprintf("Below the kernel's own default (%s, %s): the kernel would allow more without this line.", d.Value, d.Kernel)
	case have[last] == def[last] && !smaller:
		return NoOp, fmt.Sprintf("The limit is the kernel's own default (%s).", d.Value)
	case smaller && have[last] == def[last]:
		return Harmful, fmt.Sprintf("The limit equals the kernel's own; another number is below its default (%s).", d.Value)
	case smaller:
		return Stale, fmt.Sprintf("Raises the limit, but puts another number below the kernel's default (%s).%s", d.Value, s.carries(fmt.Sprint(have[last])))
	}
	return "", ""
}

// carries says which rate a buffer allows at two round trips. About half of a receive buffer
// is window (scaling_ratio in net/ipv4/tcp_input.c starts there), and about three quarters of
// a send buffer are payload; the rules of the two entries use the same shares.
func (s *Setting) carries(value string) string {
	share := map[string]float64{"linux.sysctl.net.ipv4.tcp_rmem": 0.5, "linux.sysctl.net.ipv4.tcp_wmem": 0.75}[s.ID]
	n := numbers(value)
	if share == 0 || len(n) == 0 {
		return ""
	}
	const ms = 1e-3
	bits := float64(n[len(n)-1]) * share * 8
	return fmt.Sprintf(" One connection gets up to %s at 1 ms, %s at 16 ms.", unit.BitRate(bits/ms), unit.BitRate(bits/(16*ms)))
}

// source names the guides that give exactly this value, else the entry's own source.
func (b *book) source(s *Setting, value string) string {
	var from []string
	for _, g := range b.guides {
		for _, a := range g.Advice {
			if a.Setting == s.ID && sameValue(a.Value, value) && !slices.Contains(from, g.Key+" ("+g.Date+")") {
				from = append(from, g.Key+" ("+g.Date+")")
			}
		}
	}
	if len(from) > 0 {
		return "value of " + strings.Join(from, ", ") + "; judged by " + strings.Join(s.Sources, "; ")
	}
	return strings.Join(s.Sources, "; ")
}

// restores says which value takes effect when a line in force is removed.
func restores(s *Setting, m match, r Release, all []placed, earlier int) string {
	if earlier >= 0 && (s == nil || m == matchExact) {
		return fmt.Sprintf("%s, from %s:%d", all[earlier].value, all[earlier].file, all[earlier].line)
	}
	switch {
	case s == nil:
		return "not known"
	case m != matchExact:
		return "nothing: it has no effect here"
	}
	d, ok := s.DefaultOn(r)
	if !ok {
		return "the kernel's default, which depends on its release: " + defaults(s)
	}
	out := d.Value
	if s.OS() == "linux" && d.Kernel != "any" {
		out += " (the default of " + d.Kernel + ")"
	} else {
		out += " (the default)"
	}
	if d.Note != "" {
		out += "; " + d.Note
	}
	return out
}

func defaults(s *Setting) string {
	var out []string
	for _, d := range s.Defaults {
		out = append(out, d.Kernel+" "+d.Value)
	}
	return strings.Join(out, "; ")
}

// SystemName is the usual spelling of the system that an id begins with.
func SystemName(os string) string {
	if name, ok := map[string]string{
		"linux": "Linux", "macos": "macOS", "freebsd": "FreeBSD", "windows": "Windows", "onefs": "OneFS",
	}[os]; ok {
		return name
	}
	return os
}
