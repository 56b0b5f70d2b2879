package explain

import (
	"strings"

	"linerate/internal/kernel"
)

// Mounts lists where network file systems are mounted here, to offer them; what cannot be
// read is empty.
func Mounts() []string { return mountsBelow("/") }

// mountsBelow are the mounts of the machine whose files lie below root.
func mountsBelow(root kernel.Root) []string {
	b, err := root.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	all, err := kernel.ParseMountinfo(b)
	if err != nil {
		return nil
	}
	var out []string
	for _, m := range all {
		if strings.HasPrefix(m.Type, "nfs") && m.Type != "nfsd" || m.Type == "cifs" || m.Type == "smb3" {
			out = append(out, m.Point)
		}
	}
	return out
}
