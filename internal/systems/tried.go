package systems

import "linerate/internal/model"

// How far an ability was tried, as people read it.
const (
	built   = "built"
	wine    = "tested under wine"
	imitate = "tested against the fake"
	onLinux = "shared parts tested on Linux"
	never   = "never run on a real host"
	absent  = "not built"
)

// What linerate does with a system.
const (
	checks = "check"
	tunes  = "tune, from elsewhere"
	there  = "check, tune there"
	shows  = "explain --attach there"
	tcp    = "load tcp there"
	disks  = "load block, file there"
)

// everyShell are those that have run the scripts of the Unixes.
const everyShell = "under sh, dash, bash, busybox and ksh, and behind a real sshd"

// undoSuite is what has tried their changes.
const undoSuite = "behind a real sshd, and by the undo suite"

// cutDown is what has tried explain --attach.
const cutDown = "and with recordings of Linux, cut down to what the system shows"

// Abilities are what linerate does with a system, and how far each was tried; none of Linux. It is
// the one source of what check prints of it, and of the table in docs/systems.md.
func Abilities(system string) []model.Ability {
	able := func(name, detail string, tried ...string) model.Ability {
		return model.Ability{Name: name, Tried: tried, Detail: detail}
	}
	loads := func(how string) []model.Ability {
		return []model.Ability{able(tcp, "vetted", built, onLinux, never), able(disks, "vetted; "+how, built, never)}
	}
	switch system {
	case "illumos":
		return append([]model.Ability{
			able(checks, everyShell, built, imitate, never),
			able(tunes, undoSuite, built, imitate, never),
			able(there, "reading, on Linux, with the fake's commands for its `sh`", built, imitate, never),
			able(shows, "", absent),
		}, loads("no `--direct`")...)
	case "freebsd":
		return append([]model.Ability{
			able(checks, everyShell+", with csh as login shell too", built, imitate, never),
			able(tunes, undoSuite, built, imitate, never),
			able(there, "reading, and changing one sysctl, on Linux, with the fake's commands for its `sh`", built, imitate, never),
			able(shows, "", absent),
		}, loads("O_DIRECT and O_SYNC")...)
	case "macos":
		return append([]model.Ability{
			able(checks, everyShell, built, imitate, never),
			able(tunes, undoSuite, built, imitate, never),
			able(there, "reading, on Linux, with the fake's commands for its `sh`", built, imitate, never),
			able(shows, cutDown, built, imitate, never),
		}, loads("F_NOCACHE and F_FULLFSYNC")...)
	case "onefs":
		return []model.Ability{
			able(checks, everyShell+"; names from a paper", built, imitate, never),
			able("tune script", "apply only by hand; by the undo suite; names from a paper", built, imitate, never),
			able(there, "no linerate runs there", absent),
		}
	case "windows":
		const imitation = "by an imitation of PowerShell with imitated cmdlets, also behind a real sshd, and parsed by a PowerShell grammar; never run by a real PowerShell"
		return []model.Ability{
			able(checks, imitation, built, imitate, never),
			able(tunes, imitation+"; killed before and after each effect; under wine `TcpAckFrequency` and `TCPNoDelay`", built, wine, imitate, never),
			able(there, "on Linux, with the imitation in place of `powershell.exe`", built, imitate, never),
			able(shows, cutDown+"; under wine the table of connections and of processes, and what a dead process had recorded was put back", built, wine, imitate, never),
			able(tcp, "vetted; under wine over its own loopback, with several streams and both ways; shared parts on Linux; never between two hosts", built, wine, never),
			able(disks, "under wine `load block`, not `load frames --direct`", built, wine, never),
		}
	}
	return nil
}
