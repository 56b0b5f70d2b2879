// Package onefs reads a node of Isilon OneFS, which is made of FreeBSD: its sysctls and interfaces.
// No binary ever goes there. It is pure: the script that it sends is fixed, and it judges texts. It
// refuses to guess: a line that it does not understand is told.
package onefs

import (
	_ "embed" // the script

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
	return "names are from a paper, commands were tried against an imitation only, never on a real cluster, and only this node is read"
}

// Facts implements systems.System.
func (System) Facts(frames frame.Frames) *model.Facts {
	r := bsd.Start("onefs", frames)
	r.Host(r.Sysctls("host"), "hw.physmem")
	r.F.BootID = "kern.boottime " + r.One("boottime")
	r.Settings(r.Sysctls("values"), bsd.Asked(script))
	r.Links()
	return r.F
}
