package cli

import (
	"strings"
	"testing"

	"linerate/internal/systems/fake/winhost"
)

// windowsHost is a Windows host behind a real sshd, whose default shell is cmd.exe.
func windowsHost(t *testing.T, how string) {
	t.Helper()
	hostBehindSSHD(t, winhost.Install, "ForceCommand BIN/cmd\n", ":", winhost.How+"="+how, winhost.State+"="+t.TempDir())
}

// A host whose login shell knows no sh is asked whether it runs Windows, and read by PowerShell.
func TestCheckReadsAWindowsHostOverSSH(t *testing.T) {
	windowsHost(t, "")
	code, out, errs := runHere("check", "winfiler", "--line-rate", "10Gbit", "--rtt", "1ms")
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

func TestAWindowsHostThatCannotBeReadSaysWhy(t *testing.T) {
	for how, want := range map[string]string{
		"version:2.0":                   "version 2.0, and 5.1 is needed",
		"language:ConstrainedLanguage":  "language mode is ConstrainedLanguage",
		"nothing":                       "can you log in with",
		"cut:3000":                      "cut off",
		"empty:get-netadapter":          "gave nothing and reported success",
		"denied:get-netadapter,noadmin": "log in as an administrator",
	} {
		t.Run(how, func(t *testing.T) {
			windowsHost(t, how)
			_, out, errs := runHere("check", "winfiler")
			if text := strings.Join(strings.Fields(out+errs), " "); !strings.Contains(text, want) {
				t.Errorf("no %q in: %s", want, text)
			}
		})
	}
}
