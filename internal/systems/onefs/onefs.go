// Package onefs reads a node of Isilon OneFS, which is made of FreeBSD: its sysctls and interfaces, and
// what it tells of the cluster.
// No binary ever goes there. It is pure: the script that it sends is fixed, and it judges texts. It
// refuses to guess: a line that it does not understand is told.
package onefs

import (
	_ "embed" // the script
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/bsd"
	"linerate/internal/systems/frame"
)

//go:embed read.sh
var script string

// System is OneFS.
type System struct{}

// Name implements systems.System.
func (System) Name() string { return "onefs" }

// Script implements systems.System.
func (System) Script() string { return frame.Shell(script) }

// Tried implements systems.System.
func (System) Tried() string {
	return "names are from a paper, commands were tried against an imitation only, never on a real cluster, and what isi_sysctl_cluster prints of the other nodes is shown by no public source"
}

// Facts implements systems.System.
func (System) Facts(frames frame.Frames) *model.Facts {
	r := bsd.Start("onefs", frames)
	r.Host(r.Sysctls("host"), "hw.physmem")
	r.F.BootID = "kern.boottime " + r.One("boottime")
	here := r.Sysctls("values")
	r.Settings(here, bsd.Asked(script))
	cluster(r, here, bsd.Asked(script))
	r.Links()
	network(r)
	pattern(r)
	return r.F
}

// network are the settings of subnets and pools, by the fields of OneFS' documented API.
func network(r bsd.Reading) {
	for _, s := range listed[struct {
		ID  string `json:"id"`
		MTU *int64 `json:"mtu"`
	}](r, "subnets", "the MTU of subnets") {
		if s.ID != "" && s.MTU != nil {
			r.F.Settings["onefs.network.mtu@"+s.ID] = model.Known(strconv.FormatInt(*s.MTU, 10))
		}
	}
	for _, p := range listed[struct {
		ID   string `json:"id"`
		Mode string `json:"aggregation_mode"`
	}](r, "pools", "how a node's ports are aggregated") {
		if p.ID != "" && p.Mode != "" {
			r.F.Settings["onefs.network.aggregation@"+p.ID] = model.Known(p.Mode)
		}
	}
}

// listed is a list that was printed as JSON.
func listed[T any](r bsd.Reading, name, shows string) (out []T) {
	lines := r.Lines(name, shows)
	if len(lines) == 0 {
		return nil
	}
	if err := json.Unmarshal([]byte(strings.Join(lines, "\n")), &out); err != nil {
		r.Odd(name, lines[0])
		return nil
	}
	return out
}

// pattern is how files of the root of the file system are striped and protected; directories may differ.
func pattern(r bsd.Reading) {
	lines := r.Lines("pattern", "the access pattern and the protection of files")
	if len(lines) == 0 {
		return
	}
	head, values := strings.Fields(lines[0]), []string(nil)
	if len(lines) > 1 {
		values = strings.Fields(lines[1])
	}
	for column, setting := range map[string]string{"PERFORMANCE": "onefs.file.access_pattern@/ifs", "POLICY": "onefs.file.protection@/ifs"} {
		i := slices.Index(head, column)
		if i < 0 || len(values) != len(head) {
			r.Odd("pattern", lines[0])
			return
		}
		r.F.Settings[setting] = model.Known(values[i])
	}
}
