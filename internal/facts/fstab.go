package facts

import (
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// readFstab reads how many connections network mounts request, by mount point. The kernel shows
// only the result: an nconnect that the second mount of a server requested is ignored without a
// trace. A missing or unreadable fstab requests nothing.
func readFstab(src kernel.Files) map[string]model.Fact[int] {
	b, err := src.ReadFile("/etc/fstab")
	if err != nil {
		return nil
	}
	return parseFstab(string(b))
}

// parseFstab reads fstab(5): nconnect of nfs(5), max_channels of mount.cifs(8). multichannel by
// itself requests two (fs/smb/client/fs_context.c).
func parseFstab(s string) map[string]model.Fact[int] {
	out := map[string]model.Fact[int]{}
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(f[0], "#") {
			continue
		}
		n := 0
		for o := range strings.SplitSeq(f[3], ",") {
			name, value, _ := strings.Cut(o, "=")
			count, err := strconv.ParseUint(value, 10, 16)
			switch {
			case name == "nconnect" && strings.HasPrefix(f[2], "nfs") && err == nil:
				n = int(count)
			case name == "max_channels" && (f[2] == "cifs" || f[2] == "smb3") && err == nil:
				n = int(count)
			case name == "multichannel" && (f[2] == "cifs" || f[2] == "smb3") && n == 0:
				n = 2
			}
		}
		if n > 0 {
			out[kernel.Unescape(f[1])] = model.Known(n)
		}
	}
	return out
}
