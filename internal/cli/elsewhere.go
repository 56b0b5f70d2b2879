package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
)

// linuxOnly is a command that works on Linux alone: what it would need, and where to start it
// instead. But is the flags with which it works all the same, since it looks at nothing here, or as
// SYSTEM:FLAG on a system of which linerate reads what it needs.
type linuxOnly struct {
	command, needs, instead string
	but                     []string
}

// onLinux lists these commands; a test holds that every other one was tried elsewhere or needs
// nothing of the host.
func onLinux() []linuxOnly {
	const lab = "hosts of a lab are namespaces of the Linux kernel"
	const there = "start it on a Linux host"
	return []linuxOnly{
		{"demo", "its two hosts are namespaces of the Linux kernel", there + ", where it needs no second machine", nil},
		{"explain", "it watches what the kernel knows of each TCP connection, its mounts and its disks, which linerate reads on Linux alone, and of connections on Windows and macOS (explain --attach ADDRESS:PORT)",
			"if the other end of the transfer runs Linux, run linerate explain --attach there with this host's address; what this host is set to, linerate check shows here; hosts of a site can be explained from here: linerate explain site:HOST site:HOST", []string{"windows:attach", "darwin:attach"}},
		{"watch", "it shows what the kernel counts of each connection, core and card, which linerate reads on Linux alone",
			"start it on a Linux host at the other end: linerate watch --attach ADDRESS:PORT; hosts of a site can be watched from here: linerate watch site:HOST site:HOST", []string{"replay", "site"}},
		{"serve", "it shows what the kernel counts of each connection, core and card, which linerate reads on Linux alone",
			"start it on a Linux host: linerate serve --attach ADDRESS:PORT; hosts of a site can be served from here: linerate serve site:HOST site:HOST", []string{"nats", "site", "hosts"}},
		{"fix", "it measures, judges and changes hosts by what their kernel counts, which linerate reads on Linux alone",
			"start it on a Linux host: linerate fix SENDER RECEIVER; this host's settings are changed with linerate tune", nil},
		{"copy", "what keeps a copy inside its tree is built for Linux alone", "start it on a Linux host that has both sides mounted: linerate copy SRC DST", nil},
		{"study run", "its runs are judged by what the kernels of its hosts count, which linerate reads on Linux alone", "start it on a Linux host: linerate study run FILE; what it found can be shown here: linerate study show RUN", nil},
		{"study resume", "its runs are judged by what the kernels of its hosts count, which linerate reads on Linux alone", "start it on the Linux host where the study began", nil},
		{"profile save", "it reads the settings of a profile, which are of Linux", "start it on a Linux host: linerate profile save NAME HOST", nil},
		{"lab up", lab, there, nil},
		{"lab down", lab, there, nil},
		{"lab reboot", lab, there, nil},
		{"lab exec", lab, there, nil},
		{"lab status", lab, there, nil},
		{"lab fault add", lab, there, nil},
		{"lab fault remove", lab, there, nil},
		{"lab fault list", lab, there, nil},
	}
}

// refuseElsewhere has each command that works on Linux alone say so on another system before it
// does anything: one sentence of what is missing here, and one of where it is not.
func refuseElsewhere(env *environment, root *cobra.Command) {
	for _, only := range onLinux() {
		cmd, _, err := root.Find(strings.Fields(only.command))
		if err != nil {
			continue // a test holds that the list has commands of the tree only
		}
		cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
			goos := env.Local.OS()
			if goos == "linux" || only.works(cmd, goos, args) {
				return nil
			}
			return failure.Of(failure.Failed, "linerate %s does not work on %s: %s. %s", only.command, systemName(goos), only.needs, capital(only.instead))
		}
	}
}

// works tells whether what was typed looks at nothing here.
func (o linuxOnly) works(cmd *cobra.Command, goos string, args []string) bool {
	for _, name := range o.but {
		if system, flag, of := strings.Cut(name, ":"); of && system == goos {
			name = flag
		}
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	for _, a := range args {
		if !strings.HasPrefix(a, "site:") {
			return false
		}
	}
	return len(args) > 0
}

// systemName is a system as its users call it.
func systemName(goos string) string {
	return cmp.Or(map[string]string{"windows": "Windows", "darwin": "macOS", "freebsd": "FreeBSD", "linux": "Linux"}[goos], goos)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
