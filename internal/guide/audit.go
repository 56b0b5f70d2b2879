package guide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/model"
)

// Item is one value that a host's files set, and the guide's judgement of it.
type Item struct {
	Setting string `json:"setting"` // id; also of settings without an entry
	Name    string `json:"name"`    // as the file spells it
	Value   string `json:"value"`
	Device  string `json:"device,omitempty"`
	SetBy   string `json:"set_by"` // file:line, and the package that owns the file
	Status  Status `json:"status"`
	Why     string `json:"why"`
	Source  string `json:"source"` // source of the judgement
	// RemovalRestores is the value that takes effect when the line is removed.
	RemovalRestores string `json:"removal_restores"`
	// InForce: no later line sets it again.
	InForce bool `json:"in_force"`
	// Current is the running value, if it was read. Holds says whether it equals the line's
	// value: "yes" or "no"; empty: not compared. Unverified names the part of the guide's
	// entry that was not checked against a source.
	Current    string `json:"current,omitempty"`
	Holds      string `json:"holds,omitempty"`
	Unverified string `json:"unverified,omitempty"`
}

// Report is the audit of one host.
type Report struct {
	V      int    `json:"v"`
	OS     string `json:"os"`
	Kernel string `json:"kernel"` // empty: not known, so defaults by version are not compared
	Items  []Item `json:"items"`
	// Owners says why a file may belong to a package although none is named.
	Owners string            `json:"owners,omitempty"`
	Unread map[string]string `json:"unread,omitempty"`
}

// assignment is one value in one line of a file, before it is judged.
type assignment struct {
	id     string // guess at the setting's id, from mechanism and name
	name   string
	value  string
	device string
	line   int
	by     string // who wrote it, if the file says so
	inert  bool   // the line exists, but nothing executes it
}

// placed is an assignment with its file and its position in the order in which a booting host
// applies values; the last one wins.
type placed struct {
	assignment
	file  string
	stage stage
}

// stage is a step of a host's boot. Within a stage, files apply in their order.
type stage int

const (
	stageBoot    stage = iota // kernel arguments, module options
	stageDevice               // .link files and udev rules, when a device appears
	stageSysctl               // sysctl files
	stageTuned                // TuneD's profile
	stageSysctl2              // /etc and /run again, which TuneD reapplies
	stageMount                // mounts and servers
	stageScript               // scripts and units, at the end of the boot
)

// Audit judges what the files set. Items are in the order in which a boot applies them.
func Audit(h model.HostFiles) Report { return openBook().audit(h) }

func (b *book) audit(h model.HostFiles) Report {
	all := collect(h)
	last, before := b.neighbours(h.OS, all)
	release, _ := ParseRelease(h.Kernel) // empty: not known
	out := Report{V: 1, OS: h.OS, Kernel: h.Kernel, Items: []Item{}, Owners: h.NoOwners, Unread: h.Unread}
	for i, p := range all {
		s, m := b.resolve(h.OS, p.id)
		it := Item{
			Setting: p.id, Name: p.name, Value: p.value, Device: p.device,
			SetBy: setBy(h, p), InForce: true,
		}
		if s != nil {
			it.Setting, it.Unverified = s.ID, s.Unverified
		}
		v := b.judge(s, m, p, h, release)
		it.Status, it.Why, it.Source = v.status, v.why, v.source
		if p.inert {
			it.InForce, it.RemovalRestores = false, "nothing: the line is not executed"
		} else if by := all[last[i]]; last[i] != i {
			it.InForce = false
			it.RemovalRestores = fmt.Sprintf("nothing: %s:%d sets it to %s afterwards", by.file, by.line, by.value)
		} else {
			it.RemovalRestores = restores(s, m, release, all, before[i])
			if m != matchNoName && m != matchOtherOS {
				it.Current, it.Holds = inForce(h, p)
			}
		}
		out.Items = append(out.Items, it)
	}
	return out
}

// collect reads every file that holds settings, in the order of a boot.
func collect(h model.HostFiles) []placed {
	var all []placed
	for _, read := range []func(model.HostFiles) []placed{
		bootLines, moduleLines, linkLines, netplanLines, udevLines, sysctlLines, tunedLines, mountLines, scriptLines, illumosLines,
	} {
		all = append(all, read(h)...)
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.stage, b.stage) })
	return all
}

// neighbours finds, for every line, the last line that sets the same thing, and the nearest
// earlier one; -1: none.
func (b *book) neighbours(os string, all []placed) (last, before []int) {
	last, before = make([]int, len(all)), make([]int, len(all))
	seen := map[string][]int{}
	for i, p := range all {
		before[i] = -1
		if p.inert {
			continue
		}
		key := thing(b, os, p)
		if list := seen[key]; len(list) > 0 {
			before[i] = list[len(list)-1]
		}
		seen[key] = append(seen[key], i)
	}
	for _, list := range seen {
		for _, i := range list {
			last[i] = list[len(list)-1]
		}
	}
	return last, before
}

// thing identifies what a line sets: a setting, under one of its names, on one device.
func thing(b *book, os string, p placed) string {
	id := p.id
	if s, _ := b.resolve(os, p.id); s != nil {
		id = s.ID
	}
	device := oneDevice(p.device)
	if device == "?" {
		device = p.device
	}
	return id + "\x00" + strings.ToLower(p.name) + "\x00" + device
}

// setBy says which line sets it and which package owns the file.
func setBy(h model.HostFiles, p placed) string {
	at := fmt.Sprintf("%s:%d", p.file, p.line)
	if to, ok := h.Links[p.file]; ok {
		at += " → " + to
	}
	if owner := h.Owners[p.file]; owner != "" {
		at += ", package " + owner
	}
	if p.by != "" {
		at += ", " + p.by
	}
	return at
}

// inFiles returns the paths of h in a folder with an ending, sorted by path.
func inFiles(h model.HostFiles, folder, ending string) []string {
	var out []string
	for path := range h.Files {
		if rest, ok := strings.CutPrefix(path, folder+"/"); ok && !strings.Contains(rest, "/") && strings.HasSuffix(rest, ending) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// place assigns the assignments of one file to a stage.
func place(file string, at stage, list []assignment) []placed {
	out := make([]placed, 0, len(list))
	for _, a := range list {
		out = append(out, placed{a, file, at})
	}
	return out
}

// byName drops each file that is hidden by a file of the same name in a folder of higher rank,
// and orders the rest by name. folders are in order of rank, highest first.
func byName(h model.HostFiles, ending string, folders ...string) []string {
	first := map[string]string{}
	for _, folder := range folders {
		for _, path := range inFiles(h, folder, ending) {
			if _, ok := first[base(path)]; !ok {
				first[base(path)] = path
			}
		}
	}
	out := make([]string, 0, len(first))
	for _, path := range first {
		out = append(out, path)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(base(a), base(b)) })
	return out
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
