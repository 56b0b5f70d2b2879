// Package systems reads hosts that are not Linux: a fixed script goes to their shell, by ssh or on
// the very host, and what its commands print becomes the facts that rules know. Nothing is copied
// there and no value is ever put into a script. Each system is a folder: its script and its
// parser. The package refuses to change anything: room
// tune/script does that.
package systems

import (
	"fmt"
	"time"

	"linerate/internal/model"
	"linerate/internal/systems/frame"
	"linerate/internal/systems/freebsd"
	"linerate/internal/systems/illumos"
	"linerate/internal/systems/macos"
	"linerate/internal/systems/onefs"
	"linerate/internal/systems/windows"
)

// System is a kind of host.
type System interface {
	// Name is the word for it in facts and in ids of settings.
	Name() string
	// Script reads, and changes nothing; it runs in sh, of Windows in PowerShell, and answers in
	// frames.
	Script() string
	// Facts is what the frames say. It does not fail: what was not understood stands under
	// CouldNotSee.
	Facts(f frame.Frames) *model.Facts
	// Tried is how far this was tried, in one sentence.
	Tried() string
}

// All are the systems. To add one: copy illumos to a folder of that name, and add a line here.
func All() []System {
	return []System{illumos.System{}, freebsd.System{}, macos.System{}, onefs.System{}, windows.System{}}
}

// Find finds a system by its name, or by Go's word for it.
func Find(name string) (System, bool) {
	if name == "darwin" {
		name = "macos"
	}
	for _, s := range All() {
		if s.Name() == name {
			return s, true
		}
	}
	return nil, false
}

// Read makes facts of what the script of a system printed.
func Read(s System, answer []byte, host string, taken time.Time) (*model.Facts, error) {
	frames, err := frame.Parse(answer)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.Name(), err)
	}
	f := s.Facts(frames)
	f.V, f.Host, f.OS, f.Taken = model.FactsVersion, host, s.Name(), taken
	f.CouldNotSee = append([]model.Blind{{
		What:      "whether all of this was read right",
		WouldShow: "that linerate knows this system as it is",
		How:       s.Tried() + "; docs/systems.md tells how to send a recording",
	}}, f.CouldNotSee...)
	return f, nil
}
