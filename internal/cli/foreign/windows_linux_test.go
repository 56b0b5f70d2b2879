package foreign

import (
	"strings"
	"testing"

	"linerate/internal/systems/fake/winhost"
)

// windowsHost is a Windows host behind a real sshd, whose default shell is cmd.exe.
func windowsHost(t *testing.T, how string) sshHost {
	t.Helper()
	return hostBehindSSHD(t, winhost.Install, "ForceCommand BIN/cmd\n", ":", winhost.How+"="+how, winhost.State+"="+t.TempDir())
}

// A host whose login shell knows no sh is asked whether it runs Windows, and read by PowerShell.
func TestCheckReadsAWindowsHostOverSSH(t *testing.T) {
	t.Parallel()
	h := windowsHost(t, "")
	code, out, errs := h.run(t, "check", "winfiler", "--line-rate", "10Gbit", "--rtt", "1ms")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	text := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"Windows 10.0.20348, 16 CPUs", "SAN1 10 Gbit/s MTU 1500", "never on a real Windows host"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	for _, alien := range []string{"ethtool", "sysctl -w", "/proc"} {
		if strings.Contains(text, alien) {
			t.Errorf("%q is no advice for Windows: %s", alien, out)
		}
	}
}

// What else may stand in the way is the same on the host itself, and is tried there.
func TestAWindowsHostThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"nothing":  "does not answer as sh or PowerShell does",
		"cut:3000": "cut off",
	} {
		t.Run(how, func(t *testing.T) {
			h := windowsHost(t, how)
			_, out, errs := h.run(t, "check", "winfiler")
			if text := strings.Join(strings.Fields(out+errs), " "); !strings.Contains(text, want) {
				t.Errorf("no %q in: %s", want, text)
			}
		})
	}
}

// A Windows host is changed by a script in PowerShell, over a real ssh, and is as it was after
// undo.
func TestTuneChangesAWindowsHostOverSSH(t *testing.T) {
	t.Parallel()
	h := windowsHost(t, "")
	run := func(want int, args ...string) string { t.Helper(); return h.ran(t, want, args...) }
	has := func(text string, all ...string) { t.Helper(); hasAll(t, text, all...) }
	set := []string{"--set", "windows.adapter.jumbo@SAN1=9014", "--set", "windows.adapter.receive_buffers@SAN 2 (Büro)=4096", "--set", "windows.tcp.delayed_ack@SAN1=1", "--set", "windows.tcp.autotuning@InternetCustom=restricted"}
	with := func(words ...string) []string { return append(words, set...) }
	has(run(0, with("tune", "script", "winfiler")...), "-File change.ps1 apply", "Write-Keyword '{11111111-2222-3333-4444-00000000000A}' '*JumboPacket'", "From = '1514'")
	has(run(0, with("tune", "apply", "winfiler", "--confirm-within", "2m")...), "1514 → 9014", "absent → 1", "normal → restricted", "SAN1", "applied: yes", "undone by itself in 2 minutes", `powershell -ExecutionPolicy Bypass -File "C:\ProgramData\linerate\plans\tune-`, `\change.ps1" undo`, "tune confirm winfiler")
	has(run(0, "tune", "confirm", "winfiler"), "4 of its changes are in force")
	has(run(0, "tune", "history", "winfiler"), "9014 (original 1514, wanted 9014): changed by this plan")
	has(run(0, "check", "winfiler"), "SAN1 10 Gbit/s MTU 9000")
	has(run(0, "tune", "undo", "winfiler"), "windows.adapter.jumbo@SAN1: 9014 -> 1514 again", "windows.tcp.delayed_ack@SAN1: 1 -> absent again", "windows.adapter.receive_buffers@guid:")
	for _, command := range []string{"plan", "script", "apply"} { // the adapter says so before there is a script
		has(run(2, "tune", command, "winfiler", "--set", "windows.adapter.jumbo@SAN1=9000"), "--set windows.adapter.jumbo@SAN1: the adapter takes only 1514, 4088, 9014")
	}
	server := []string{"winfiler", "--set", "windows.binding.protocols@SAN1/ms_server=off", "--set", "windows.binding.protocols@SAN 2 (Büro)/ms_tcpip6=off"}
	has(run(0, append([]string{"tune", "plan"}, server...)...), "windows.binding.protocols@SAN1/ms_server on → off", "TRADES who reaches whom over the adapter", "there is no SMB over the adapter")
	has(run(0, append([]string{"tune", "apply"}, server...)...), "applied: yes")
	has(run(0, "guide", "audit", "winfiler"), "stale windows.binding.protocols = without ms_server")
	has(run(0, "tune", "undo", "winfiler"), "windows.binding.protocols@SAN1/ms_server: off -> on again", "windows.binding.protocols@guid:")
	has(run(2, "tune", "plan", "winfiler", "--set", "windows.binding.protocols@SAN1/ms_tcpip=off"), "name an adapter and one of its protocols")
	has(run(2, "tune", "plan", "winfiler", "--set", "windows.binding.protocols@SAN9/ms_server=off"), "there is no interface SAN9")
	_, out, errs := h.run(t, "tune", "plan", "winfiler", "--set", "windows.tcp.chimney=enabled")
	has(strings.Join(strings.Fields(out+errs), " "), "no longer has it")
}

// A shell whose own profile the execution policy refuses says so on each start, and runs the script all
// the same: that is no refusal of linerate's.
func TestAWindowsHostWhoseProfileIsRefusedIsReadAndChanged(t *testing.T) {
	t.Parallel()
	h := windowsHost(t, "profile")
	hasAll(t, h.ran(t, 0, "check", "winfiler"), "Windows 10.0.20348", "SAN1 10 Gbit/s MTU 1500")
	set := []string{"--set", "windows.adapter.jumbo@SAN1=9014"}
	hasAll(t, h.ran(t, 0, append([]string{"tune", "apply", "winfiler"}, set...)...), "1514 → 9014", "applied: yes")
	hasAll(t, h.ran(t, 0, "tune", "undo", "winfiler"), "9014 -> 1514 again")
	h = windowsHost(t, "profile,version:2.0")
	_, out, errs := h.run(t, "check", "winfiler")
	hasAll(t, strings.Join(strings.Fields(out+errs), " "), "version 2.0, and 5.1 is needed")
}

func TestAWindowsHostThatCannotBeChangedSaysWhy(t *testing.T) {
	t.Parallel()
	set := []string{"--set", "windows.smb.multichannel@client=false", "--confirm-within", "2m"}
	code, out, errs := windowsHost(t, "noadmin").run(t, append([]string{"tune", "apply", "winfiler"}, set...)...)
	if text := strings.Join(strings.Fields(out+errs), " "); code == 0 || !strings.Contains(text, "it takes an administrator") {
		t.Errorf("%d: %s", code, text)
	}
	for how, want := range map[string]string{
		"missing:register-scheduledtask":  "nothing would undo the plan by itself",
		"fail:set-smbclientconfiguration": "could not be set to false",
	} {
		t.Run(how, func(t *testing.T) {
			code, out, errs := runOn(windowsHere(t, how), append([]string{"tune", "apply"}, set...)...)
			if text := strings.Join(strings.Fields(out+errs), " "); code == 0 || !strings.Contains(text, want) {
				t.Errorf("%d: no %q in: %s", code, want, text)
			}
		})
	}
}

// Two cards of one host take other values, and one lacks a setting: each is planned by itself.
func TestTuneOfAWindowsHostKeepsItsCardsApart(t *testing.T) {
	t.Parallel()
	here := windowsHere(t, "unlike")
	const two = "@SAN 2 (Büro)="
	hasAll(t, said(t, here, 0, "tune", "apply", "--set", "windows.adapter.jumbo@SAN1=9014", "--set", "windows.adapter.jumbo"+two+"16128"), "1514 → 9014", "1514 → 16128", "applied: yes")
	hasAll(t, said(t, here, 0, "tune", "undo"), "9014 -> 1514 again", "16128 -> 1514 again")
	hasAll(t, said(t, here, 2, "tune", "apply", "--set", "windows.adapter.jumbo@SAN1=16128"), "the adapter takes only 1514, 9014")
	code, out, errs := runOn(here, "tune", "apply", "--set", "windows.adapter.receive_buffers@SAN1=4096", "--set", "windows.adapter.receive_buffers"+two+"4096")
	hasAll(t, strings.Join(strings.Fields(out+errs), " "), "the adapter SAN 2 (Büro) has no *ReceiveBuffers (Get-NetAdapterAdvancedProperty -AllProperties lists what it has)")
	if code == 0 || strings.Contains(out, "applied") {
		t.Errorf("%d: %s", code, out)
	}
	hasAll(t, said(t, here, 0, "tune", "plan", "--set", "windows.adapter.receive_buffers@SAN1=4096"), "512 → 4096")
}

// A profile has lines for Windows, for the adapter that is named; OneFS has none, and is told so.
func TestAProfileOnWindows(t *testing.T) {
	t.Parallel()
	h := windowsHost(t, "")
	profile := []string{"--profile", "iscsi-initiator", "--dev", "SAN1"}
	plan := append([]string{"tune", "plan", "winfiler"}, profile...)
	hasAll(t, h.ran(t, 0, plan...), "No changes: what runs is", "as recommended already: windows.adapter.rss@SAN1, windows.adapter.lso@SAN1", "windows.tcp.chimney = enabled")
	hasAll(t, h.ran(t, 0, "tune", "plan", "winfiler", "--profile", "iscsi-initiator"), "No changes: 0 of 2 settings are as recommended", "which interface carries the data is not known: name the interface with --dev", "round trip not known (--rtt states it)")
	hasAll(t, h.ran(t, 0, "tune", "apply", "winfiler", "--set", "windows.adapter.rss@SAN1=off"), "1 → 0", "applied: yes")
	off := h.ran(t, 0, plan...)
	hasAll(t, off, "1 change", "windows.adapter.rss@SAN1 0 → 1", "DELL 4.2.2", "windows.adapter.lso = on")
	if strings.Contains(off, "windows.adapter.rss = on") || strings.Contains(off, "linux.") {
		t.Errorf("advice against what is planned, or of another system: %s", off)
	}
	hasAll(t, h.ran(t, 0, append([]string{"tune", "winfiler"}, profile...)...), "* windows.adapter.rss@SAN1", "1 change is recommended")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "script", "winfiler"}, profile...)...), "'*RSS'", "From = '0'")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "apply", "winfiler"}, profile...)...), "0 → 1", "applied: yes")
	hasAll(t, h.ran(t, 0, "tune", "undo", "winfiler"), "1 -> 0 again", "0 -> 1 again")
	nas := foreignHostOf(t, "onefs", "", "", ":")
	hasAll(t, nas.ran(t, 0, "tune", "plan", "isilon", "--profile", "nfs-server"), "has nothing for this host's system, so nothing was judged")
	hasAll(t, nas.ran(t, 0, "tune", "isilon", "--profile", "nfs-server"), "Nothing is recommended: the profile nfs-server has nothing for this host's system")
}
