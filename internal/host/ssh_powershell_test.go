package host

import (
	"errors"
	"strings"
	"testing"
)

// The command line is one word for each shell that an sshd on Windows may start, and shorter than
// cmd.exe takes.
func TestPowerShellIsCalledByWordsThatNoShellChanges(t *testing.T) {
	line := powershellCommand()
	if len(line) > 8191 {
		t.Errorf("%d characters", len(line))
	}
	if at := strings.IndexFunc(line, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" -+/=", r))
	}); at >= 0 {
		t.Errorf("%q means something to a shell", line[at])
	}
}

func TestARefusalOfPowerShellIsToldInWords(t *testing.T) {
	for out, want := range map[string]string{
		"Willkommen\r\nlinerate-refused version 2.0\r\n":    "it is version 2.0",
		"linerate-refused language ConstrainedLanguage\r\n": "ConstrainedLanguage (AppLocker",
		"linerate-refused language \x1b[31mConstrained\r\n": "its language mode is  [31mConstrained (",
		"": "",
	} {
		err := refusal([]byte(out))
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", out, err, want)
		}
	}
}

func TestAnShOnWindowsIsWindows(t *testing.T) {
	for _, unix := range []string{"MINGW64_NT-10.0-20348", "MSYS_NT-10.0", "CYGWIN_NT-10.0"} {
		_, err := parseProbe(unix + "\nx86_64\n197609\nplain\n/tmp/linerate.abcdefghij\n")
		var other *Foreign
		if !errors.As(err, &other) || other.GOOS != "windows" {
			t.Errorf("%s: %v", unix, err)
		}
	}
}

// An execution policy is named where PowerShell says nothing else, in any language and width.
func TestAnExecutionPolicyIsNamed(t *testing.T) {
	failed := errors.New("exit status 1")
	for _, c := range []struct {
		name, out, said string
		err             error
		want            bool
	}{
		{"in English", "", "File x.ps1 cannot be loaded because running scripts is disabled, see about_Execution_Policies at https:/go.microsoft.com/fwlink/?LinkID=135170.\r\n    + FullyQualifiedErrorId : UnauthorizedAccess\r\n", failed, true},
		{"in German, wrapped", "\r\n", "kann nicht geladen werden, da die Ausf\x81hrung von Skripts deaktiviert ist (about_Execution_Po\r\nlicies)\r\n    + FullyQualifiedErrorId : UnauthorizedAccess\r\n", failed, true},
		{"only the type", "", "    + CategoryInfo : Sicherheitsfehler: (:) [], PSSecurityException", failed, true},
		{"of a profile, and the script ran", "linerate-frames 1\n", "about_Execution_Policies", failed, false},
		{"of a profile, without an error", "", "about_Execution_Policies", nil, false},
		{"another failure", "", "    + FullyQualifiedErrorId : System.UnauthorizedAccessException", failed, false},
	} {
		err := powershellError(c.err, []byte(c.out), c.said)
		if got := errors.Is(err, ErrRefused); got != c.want || !got && !errors.Is(err, c.err) || got && !strings.Contains(err.Error(), "Get-ExecutionPolicy -List") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
