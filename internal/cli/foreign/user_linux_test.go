package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/systems/fake"
	"linerate/internal/systems/fake/winhost"
)

// onesOwn is a host of a system, a setting of it with the value that a plan wants and the one that it has, and what
// check says of the host.
type onesOwn struct{ system, name, setting, to, from, here string }

func users() []onesOwn {
	return []onesOwn{
		{"illumos", "omnios", "illumos.sharectl.nfs.servers", "2048", "1024", "omnios-r151054-0"},
		{"freebsd", "freenas", "freebsd.sysctl.net.inet.tcp.delayed_ack", "0", "1", "FreeBSD 14.1-RELEASE-p5"},
		{"macos", "macmini", "macos.sysctl.net.inet.tcp.delayed_ack", "0", "3", "macOS 24.1.0"},
	}
}

// userHost is a host on which the login is no root; state is what was changed there, and records the directory in
// which plans keep theirs.
func userHost(t *testing.T, system, set string) (h sshHost, state, records string) {
	t.Helper()
	state, records = t.TempDir(), t.TempDir()
	h = hostBehindSSHD(t, fake.Install, "", "mount --bind "+records+" /var/lib", fake.Set+"="+set, fake.State+"="+state, fake.OS+"="+system)
	return h, state, records
}

// A login that is not root's reads and plans; to change anything it says what that takes, and changes nothing.
// sudo is asked only whether it needs no password (-n), and is not there on all hosts.
func TestALoginThatIsNotRootReadsAndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		for _, sudo := range []string{"asks", "absent"} {
			if sudo == "absent" && u.system != "illumos" {
				continue // one that is not there is the same everywhere; illumos comes without
			}
			t.Run(u.system+"/"+sudo, func(t *testing.T) {
				h, state, records := userHost(t, u.system, "uid=501;sudo="+sudo)
				set := []string{"--set", u.setting + "=" + u.to}
				whole := u.system == "illumos" && sudo == "asks" // reading is no other where sudo is not, nor elsewhere
				if whole {
					hasAll(t, h.ran(t, 0, "check", u.name), u.here)
					hasAll(t, h.ran(t, 0, "guide", "audit", u.name), "system "+u.system)
					hasAll(t, h.ran(t, 0, append([]string{"tune", "script", u.name}, set...)...), "#!/bin/sh", "from='"+u.from+"'; to='"+u.to+"'")
				}
				hasAll(t, h.ran(t, 0, append([]string{"tune", "plan", u.name}, set...)...), u.from+" → "+u.to)
				hasAll(t, h.ran(t, 1, append([]string{"tune", "apply", u.name}, set...)...), "it takes root, and we are user 501 there: log in as root, or allow sudo -n there; or read what linerate tune script "+u.name+" writes")
				hasAll(t, h.ran(t, 0, "tune", "undo", u.name), "nothing to undo")
				// Of root's plans it sees nothing: that is not to say that there is none.
				if err := os.MkdirAll(filepath.Join(records, "linerate", "plans"), 0o700); err != nil {
					t.Fatal(err)
				}
				for _, command := range []string{"undo", "history", "confirm"} {
					if !whole && command != "undo" {
						continue
					}
					said := h.ran(t, 4, "tune", command, u.name)
					hasAll(t, said, "may have records of them that this login cannot read", "what is in force is not known", "allow sudo -n there")
				}
				userChangedNothing(t, state, filepath.Join(records, "linerate", "plans"))
			})
		}
	}
}

// userChangedNothing: no value and no record was written, and sudo was called only so that it asks for nothing.
func userChangedNothing(t *testing.T, state, records string) {
	t.Helper()
	written, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range written {
		if file.Name() != "sudo.calls" {
			t.Errorf("%s was changed", file.Name())
		}
	}
	if calls, err := os.ReadFile(filepath.Join(state, "sudo.calls")); err == nil {
		for call := range strings.Lines(string(calls)) {
			if call != "-n true\n" && call != "-n sh -c true\n" {
				t.Errorf("sudo %s", call)
			}
		}
	}
	leftNothing(t, records)
}

// Where sudo needs no password a change is root's, as on Linux, and so is its undo.
func TestALoginWhoseSudoAsksForNothingChanges(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		t.Run(u.system, func(t *testing.T) {
			h, _, _ := userHost(t, u.system, "uid=501;sudo=free")
			hasAll(t, h.ran(t, 0, "tune", "apply", u.name, "--set", u.setting+"="+u.to, "--confirm-within", "5m"), "applied: yes", "undone by itself in 5 minutes")
			hasAll(t, h.ran(t, 0, "tune", "confirm", u.name), "1 of its changes are in force")
			hasAll(t, h.ran(t, 0, "tune", "history", u.name), u.setting+": "+u.to+" (original "+u.from)
			hasAll(t, h.ran(t, 0, "tune", "undo", u.name), u.to+" -> "+u.from+" again")
			leftNothing(t, h.tmp)
		})
	}
}

// Of OneFS nothing is changed, so that sudo is not even asked.
func TestALoginOfOneFSThatIsNotRoot(t *testing.T) {
	t.Parallel()
	h, state, records := userHost(t, "onefs", "uid=501;sudo=free")
	set := []string{"--set", "onefs.sysctl.efs.bam.fnprefetch.enable_streaming=1"}
	hasAll(t, h.ran(t, 0, "check", "isilon"), "names are from a paper")
	hasAll(t, h.ran(t, 0, "guide", "audit", "isilon"), "system onefs")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "plan", "isilon"}, set...)...), "0 → 1")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "script", "isilon"}, set...)...), `sysctl efs.bam.fnprefetch.enable_streaming="$value"`)
	hasAll(t, h.ran(t, 2, append([]string{"tune", "apply", "isilon"}, set...)...), "linerate does not run them")
	userChangedNothing(t, state, records)
}

// A user of Windows who is no administrator reads and plans, and changes nothing.
func TestALoginThatIsNoAdministratorReadsAndChangesNothing(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	h := hostBehindSSHD(t, winhost.Install, "ForceCommand BIN/cmd\n", ":", winhost.How+"=noadmin", winhost.State+"="+state)
	set := []string{"--set", "windows.tcp.delayed_ack@SAN1=1"}
	hasAll(t, h.ran(t, 0, "check", "winfiler"), "Windows 10.0.20348")
	hasAll(t, h.ran(t, 0, "guide", "audit", "winfiler"), "system windows")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "plan", "winfiler"}, set...)...), "absent → 1")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "script", "winfiler"}, set...)...), "TcpAckFrequency")
	hasAll(t, h.ran(t, 1, append([]string{"tune", "apply", "winfiler"}, set...)...), "it takes an administrator, and the user of this login is none there; or read what linerate tune script winfiler writes")
	hasAll(t, h.ran(t, 0, "tune", "undo", "winfiler"), "nothing to undo")
	if err := os.MkdirAll(filepath.Join(state, "c", "programdata", "linerate"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"undo", "history", "confirm"} {
		hasAll(t, h.ran(t, 4, "tune", command, "winfiler"), "may have records of them that this login cannot read", "it takes an administrator")
	}
	if _, err := os.Stat(filepath.Join(state, "host.json")); err == nil {
		t.Error("something was changed")
	}
}
