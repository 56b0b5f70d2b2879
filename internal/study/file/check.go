package file

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/tune/profile"
	"linerate/internal/tune/setter"
)

// Ask is a value to read on a host before a study begins. Like names the parts of the value
// that matter.
type Ask struct {
	Host, Setting, Target string
	Like                  string
}

// Checker judges a study file by the facts of its hosts. A host that could not be
// reached is missing in Facts, and is not judged. Now holds what was read for Asks;
// what is missing there was not read.
type Checker struct {
	File  model.StudyFile
	Facts map[string]*model.Facts // by the file's name of the host
	Now   map[Ask]string
	// Unread are the Asks that could not be read, and why.
	Unread map[Ask]string
	Lines  Lines // lines of the file's parts; empty: not known

	catalogue *catalogue
}

// NewChecker begins a check.
func NewChecker(f model.StudyFile, facts map[string]*model.Facts) *Checker {
	return &Checker{File: f, Facts: facts, Now: map[Ask]string{}, Unread: map[Ask]string{}, catalogue: readCatalogue()}
}

// Path is the path from a host to another host of the study: to the study's data address
// (via), or over the network that both are on. If there are several, it refuses to guess.
func (c *Checker) Path(host string) (profile.Path, error) {
	f := c.Facts[host]
	if via, err := netip.ParseAddr(c.File.Via); err == nil && f != nil {
		return profile.PathTo(f, via, c.File.Via, nil), nil
	}
	found := c.ways(host)
	if len(found) == 0 && f != nil {
		return profile.PathOf(f), nil
	}
	if len(found) != 1 {
		return profile.Path{}, fmt.Errorf("%s reaches the others over %d networks: name the device, SETTING@DEVICE, or give the study's via: ADDRESS", host, len(found))
	}
	return found[0].path, nil
}

// way is a network of a host over which it reaches another host of the study.
type way struct {
	path  profile.Path
	route model.Route
}

func (c *Checker) ways(host string) []way {
	var found []way
	f := c.Facts[host]
	for _, name := range slices.Sorted(maps.Keys(c.Facts)) {
		peer := c.Facts[name]
		if name == host || peer == nil || f == nil || !c.together(host, name) {
			continue
		}
		for _, n := range peer.NICs {
			for _, a := range n.Addrs {
				w, ok := over(f, a.Addr(), name, peer)
				if ok && !slices.ContainsFunc(found, func(x way) bool { return x.path.Dev == w.path.Dev }) {
					found = append(found, w)
				}
			}
		}
	}
	return found
}

// over is the way to an address that is on a network of the host's own.
func over(f *model.Facts, to netip.Addr, name string, peer *model.Facts) (way, bool) {
	if to.IsLoopback() || to.IsLinkLocalUnicast() {
		return way{}, false
	}
	r, ok := f.RouteTo(to)
	if !ok || r.Dev == "lo" || r.Gateway.IsValid() && !r.Gateway.IsUnspecified() {
		return way{}, false
	}
	return way{profile.PathTo(f, to, name, peer), r}, true
}

// route is the target of a setting of the route to the others: that to via, or
// that of the one network that they are on.
func (c *Checker) route(host string) (string, error) {
	f := c.Facts[host]
	r, ok := model.Route{}, false
	if via, err := netip.ParseAddr(c.File.Via); err == nil {
		r, ok = f.RouteTo(via)
	} else if found := c.ways(host); len(found) == 1 {
		r, ok = found[0].route, true
	}
	if !ok {
		return "", fmt.Errorf("which route leads from %s to the others is not known: name it, SETTING@route:10.0.0.0/24", host)
	}
	return profile.RouteTarget(f, r), nil
}

// together reports whether two hosts are the two ends of a workload.
func (c *Checker) together(a, b string) bool {
	return slices.ContainsFunc(c.File.Workloads, func(w model.StudyWorkload) bool {
		return slices.Contains(w.Senders, a) && slices.Contains(w.Receivers, b) || slices.Contains(w.Senders, b) && slices.Contains(w.Receivers, a)
	})
}

// Places are where a setting of the file is set: one device, or several where it
// is a bond's ports.
func (c *Checker) Places(s model.StudySetting) ([]profile.Place, error) {
	f := c.Facts[s.Host]
	if f == nil {
		return nil, fmt.Errorf("place %s: %s was not looked at", s.Setting, s.Host)
	}
	if strings.HasPrefix(s.Setting, "linux.route.") && s.Target == "" {
		target, err := c.route(s.Host)
		if err != nil {
			return nil, fmt.Errorf("place %s: %w", s.Setting, err)
		}
		return []profile.Place{{Setting: s.Setting, Target: target}}, nil
	}
	path := profile.Path{}
	if setter.NatureOf(s.Setting).Scope == "device" && s.Target == "" {
		var err error
		if path, err = c.Path(s.Host); err != nil {
			return nil, fmt.Errorf("place %s: %w", s.Setting, err)
		}
	}
	at, err := profile.Subject{Facts: f, Path: path}.Resolve(s.Setting, s.Target)
	if err != nil {
		return nil, fmt.Errorf("place %s on %s: %w", s.Setting, s.Host, err)
	}
	return at, nil
}

// Asks are the values to be read before a check.
func (c *Checker) Asks() []Ask {
	var out []Ask
	for _, s := range c.settings() {
		at, err := c.Places(s)
		if err != nil {
			continue // Problems says so
		}
		for _, p := range at {
			if a := (Ask{s.Host, p.Setting, p.Target, s.Value}); !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

func (c *Checker) settings() []model.StudySetting {
	var out []model.StudySetting
	for _, l := range c.File.Baseline {
		out = append(out, l.Set...)
	}
	for _, x := range c.File.Factors {
		for _, l := range x.Levels {
			out = append(out, l.Set...)
		}
	}
	return out
}

// Problems lists what would go wrong on the hosts of Facts, and what the user has to know
// about them.
func (c *Checker) Problems() []model.StudyPlanProblem {
	out := []model.StudyPlanProblem{}
	seen := map[model.StudyPlanProblem]bool{}
	add := func(p model.StudyPlanProblem) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	for _, w := range c.File.Workloads {
		c.workload("workload "+w.Name, w, func(p model.StudyPlanProblem) {
			p.Line = c.Lines.Workloads[w.Name]
			add(p)
		})
	}
	for _, l := range c.File.Baseline {
		at := c.Lines.at(StepFactor, l.Name, add)
		c.level(StepFactor, l, at)
		c.changed(StepFactor, l, at)
	}
	for _, x := range c.File.Factors {
		for _, l := range x.Levels {
			at := c.Lines.at(x.Name, l.Name, add)
			c.level(x.Name, l, at)
			c.changed(x.Name, l, at)
			c.nothingToCompare(x.Name, l, at)
		}
	}
	return out
}

// changed checks every workload as a level changes it.
func (c *Checker) changed(factor string, l model.StudyLevel, add func(model.StudyPlanProblem)) {
	for _, w := range c.File.Workloads {
		if len(l.Workload) == 0 || !Applies(w, l.Workload) {
			continue
		}
		if to, err := Change(w, l.Workload); err == nil && to.Congestion != w.Congestion {
			c.workload(factor+" "+l.Name, to, add)
		}
	}
}

// workload checks whether the senders support what a workload needs.
func (c *Checker) workload(name string, w model.StudyWorkload, add func(model.StudyPlanProblem)) {
	if w.Congestion == "" {
		return
	}
	for _, host := range w.Senders {
		if why := noCongestion(c.Facts[host], w.Congestion); why != "" {
			add(fatal(fmt.Sprintf("%s: congestion on %s: %s", name, host, why), "load that module there, or take another congestion control"))
		}
	}
}

// noCongestion says that a host lacks this congestion control; empty: it has it, or that is
// not known.
func noCongestion(f *model.Facts, name string) string {
	if f == nil {
		return ""
	}
	have, ok := f.Settings["linux.sysctl.net.ipv4.tcp_available_congestion_control"].Get()
	if !ok || slices.Contains(strings.Fields(have), name) {
		return ""
	}
	return fmt.Sprintf("there is no %s; the kernel has %s (modprobe tcp_%s may bring it)", name, have, name)
}

func fatal(what, next string) model.StudyPlanProblem {
	return model.StudyPlanProblem{Fatal: true, What: what, Next: next}
}

// level checks whether a level can be set on each of its hosts.
func (c *Checker) level(factor string, l model.StudyLevel, add func(model.StudyPlanProblem)) {
	name := factor + " " + l.Name
	for _, s := range l.Set {
		if known, ok := c.catalogue.known.Find(s.Setting); ok && known.Trades != "" {
			add(model.StudyPlanProblem{What: fmt.Sprintf("%s: %s trades %s; the study sets it because the file names it", name, s.Setting, known.Trades),
				Next: "take it out unless that is what you want to know, on data that you can lose"})
		}
		f := c.Facts[s.Host]
		switch {
		case f == nil:
			continue
		case f.OS != "linux" && strings.HasPrefix(s.Setting, "linux."):
			add(fatal(fmt.Sprintf("%s: %s runs %s, which has no %s", name, s.Host, f.OS, s.Setting), "take that host out of the level"))
			continue
		case f.UID != 0:
			add(fatal(fmt.Sprintf("%s: nothing can be set on %s without root", name, s.Host), "let the login become root (sudo -n), or reach it as root@"+s.Host))
			continue
		}
		at, err := c.Places(s)
		if err != nil {
			add(fatal(fmt.Sprintf("%s: %v", name, err), "name the device, SETTING@DEVICE, or take that host out of the level"))
			continue
		}
		if why := c.lacks(f, s); why != "" {
			add(fatal(fmt.Sprintf("%s: %s on %s: %s", name, s.Setting, s.Host, why), "take it out of the level, or choose a device that can"))
			continue
		}
		for _, p := range at {
			if why, ok := c.Unread[Ask{s.Host, p.Setting, p.Target, s.Value}]; ok {
				add(fatal(fmt.Sprintf("%s: %s on %s cannot be read, and so not be put back: %s", name, s.Setting, s.Host, why), "take that host out of the level"))
			}
		}
	}
	if l.Verify != nil && c.Facts[l.Verify.Host] != nil {
		c.verified(name, *l.Verify, add)
	}
}

// verified checks that an operator's change can be seen, and is not made yet.
func (c *Checker) verified(name string, v model.StudyVerify, add func(model.StudyPlanProblem)) {
	is, now, err := Holds(c.Facts[v.Host], v)
	switch {
	case err != nil:
		add(fatal(fmt.Sprintf("%s: the change could not be verified on %s: %v", name, v.Host, err), "choose another fact; docs/study.md lists them"))
	case is:
		add(fatal(fmt.Sprintf("%s: %s of %s reads %s already: there is nothing to compare", name, v.Fact, v.Host, now), "put the host into the state of the baseline first, or correct the level"))
	}
}

// lacks says why a host or device does not have a setting; empty: it may have it.
func (c *Checker) lacks(f *model.Facts, s model.StudySetting) string {
	if v, ok := f.Settings[s.Setting]; ok && v.State != model.Present {
		return because(string(v.State), v.Why)
	}
	if s.Setting == "linux.sysctl.net.ipv4.tcp_congestion_control" {
		if why := noCongestion(f, s.Value); why != "" {
			return why
		}
	}
	at, err := c.Places(s)
	if err != nil {
		return ""
	}
	for _, n := range f.NICs {
		if slices.ContainsFunc(at, func(p profile.Place) bool { return p.Target == n.Device }) {
			if why := nicLacks(n, s); why != "" {
				return n.Name + ": " + why
			}
		}
	}
	return ""
}

func because(state, why string) string {
	state = cmp.Or(state, "absent")
	if why == "" {
		return state
	}
	return state + ": " + why
}

func nicLacks(n model.NIC, s model.StudySetting) string {
	switch s.Setting {
	case "linux.ethtool.features":
		have, ok := n.Features.Get()
		if !ok {
			return because(string(n.Features.State), n.Features.Why)
		}
		for _, name := range parts(s.Value) {
			if _, ok := have[name]; !ok {
				return "it has no feature " + name
			}
		}
	case "linux.ethtool.ring":
		return unsupported(n.Ring)
	case "linux.ethtool.channels":
		return unsupported(n.Channels)
	case "linux.ethtool.coalesce":
		return unsupported(n.Coalesce)
	case "linux.ethtool.pause":
		return unsupported(n.Pause)
	}
	return ""
}

func unsupported[T any](f model.Fact[T]) string {
	if f.State == model.Unsupported || f.State == model.Denied {
		return because(string(f.State), f.Why)
	}
	return ""
}

// nothingToCompare finds levels that are in force already, because of the value read or
// because the last step of the baseline sets it.
func (c *Checker) nothingToCompare(factor string, l model.StudyLevel, add func(model.StudyPlanProblem)) {
	if len(l.Set) > 0 {
		for _, s := range l.Set {
			if !c.alreadySo(s) {
				return
			}
		}
		add(fatal(fmt.Sprintf("%s %s: every value of it is in force already: there is nothing to compare", factor, l.Name), "take the level out, or give it another value"))
	}
	if len(l.Workload) == 0 {
		return
	}
	for _, w := range c.File.Workloads {
		if w.Name != c.File.Primary {
			continue
		}
		if changed, err := Change(w, l.Workload); err == nil && equalWork(changed, w) {
			add(fatal(fmt.Sprintf("%s %s: workload %s is like that already: there is nothing to compare", factor, l.Name, w.Name), "take the level out, or give it another value"))
		}
	}
}

func equalWork(a, b model.StudyWorkload) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// alreadySo reports whether the baseline has the level's value of a setting.
func (c *Checker) alreadySo(s model.StudySetting) bool {
	for i := len(c.File.Baseline) - 1; i >= 0; i-- {
		for _, b := range c.File.Baseline[i].Set {
			if Same(b, s) {
				return b.Value == s.Value
			}
		}
	}
	at, err := c.Places(s)
	if err != nil || len(at) == 0 {
		return false
	}
	for _, p := range at {
		if now, ok := c.Now[Ask{s.Host, p.Setting, p.Target, s.Value}]; !ok || now != s.Value {
			return false
		}
	}
	return true
}

// Changes are all settings that the study changes, with what they are now where
// that was read.
func (c *Checker) Changes() []model.StudyPlanChange {
	out := []model.StudyPlanChange{}
	add := func(factor string, l model.StudyLevel) {
		for _, s := range l.Set {
			n := setter.NatureOf(s.Setting)
			x := model.StudyPlanChange{Host: s.Host, Setting: s.Setting, Target: s.Target, To: s.Value, Factor: factor, Level: l.Name, Needs: n.Needs, Cuts: n.Cuts}
			if known, ok := c.catalogue.known.Find(s.Setting); ok {
				x.Trades = known.Trades
			}
			if at, err := c.Places(s); err == nil && len(at) > 0 {
				x.Now = c.Now[Ask{s.Host, at[0].Setting, at[0].Target, s.Value}]
				x.Target = c.nameOf(s.Host, at[0].Target)
			}
			out = append(out, x)
		}
	}
	for _, l := range c.File.Baseline {
		add(StepFactor, l)
	}
	for _, x := range c.File.Factors {
		for _, l := range x.Levels {
			add(x.Name, l)
		}
	}
	return out
}

// nameOf is the current name of an interface.
func (c *Checker) nameOf(host, target string) string {
	for _, n := range c.Facts[host].NICs {
		if n.Device == target && target != "" {
			return n.Name
		}
	}
	return target
}

// Default is the default of a setting for a host's kernel, as the guide has it;
// empty: not known.
func Default(f *model.Facts, setting string) string {
	s, ok := guide.Find(setting)
	if !ok || f == nil {
		return ""
	}
	release, err := guide.ParseRelease(f.Kernel)
	if err != nil {
		return ""
	}
	d, _ := s.DefaultOn(release)
	return d.Value
}
