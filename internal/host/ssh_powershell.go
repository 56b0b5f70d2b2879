package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"linerate/internal/failure"
)

// Shell is what executes a script on a host.
type Shell string

// The shells that scripts are written for.
const (
	Sh         Shell = "sh"
	SudoSh     Shell = "sh by sudo" // as root, where sudo asks for no password; else as Sh
	PowerShell Shell = "powershell"
)

// ErrRefused is that of a PowerShell that is too old or too restricted for a script.
var ErrRefused = errors.New("the host's PowerShell does not run the script")

// bootstrap has PowerShell execute the script that it gets on its standard input. PowerShell 2
// lacks JSON; the constrained language mode forbids what a script needs, and says so in words of
// the system's language. It works in both of them.
const bootstrap = `if ($PSVersionTable.PSVersion.Major -lt 5) { '` + refused + `version ' + [string]$PSVersionTable.PSVersion } ` +
	`elseif ([string]$ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage') { '` + refused + `language ' + [string]$ExecutionContext.SessionState.LanguageMode } ` +
	`else { Invoke-Expression (@($input) -join "` + "`n" + `") }`

const (
	refused   = "linerate-refused "
	isWindows = "linerate-windows"
)

// powershellArguments are those for the bootstrap. Base64 has no character that means anything to
// cmd.exe, to PowerShell or to a Unix shell, whichever of them is sshd's default. The script
// itself does not fit on a command line of cmd.exe (8191 characters).
func powershellArguments() []string {
	var b []byte
	for _, u := range utf16.Encode([]rune(bootstrap)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return []string{"-NoProfile", "-NonInteractive", "-OutputFormat", "Text", "-EncodedCommand", base64.StdEncoding.EncodeToString(b)}
}

// powershellCommand is the command line with them.
func powershellCommand() string { return "powershell " + strings.Join(powershellArguments(), " ") }

// windows asks a host that would not execute a script for sh whether it runs Windows; cause is how
// it refused. A host that was not reached is not asked again.
func (s Ssh) windows(ctx context.Context, n Name, cause error) bool {
	var exit interface{ ExitCode() int }
	if !errors.As(cause, &exit) || exit.ExitCode() == sshFailed || ctx.Err() != nil {
		return false
	}
	out, err := s.Ask(ctx, n, PowerShell, `[Console]::Out.Write("`+"`n"+isWindows+"`n"+`")`, maxTalk)
	return errors.Is(err, ErrRefused) || err == nil && bytes.Contains(out, []byte("\n"+isWindows+"\n"))
}

// sshFailed is the exit code of ssh itself.
const sshFailed = 255

// foreignWindows is that a host runs Windows.
func foreignWindows() error {
	err := errors.New("it runs Windows, to which linerate sends no agent")
	return &Foreign{GOOS: "windows", Err: failure.Advise(err, failure.ScriptsOrThere)}
}

// powershellError is what became of a script for PowerShell: err is what its process ended with.
func powershellError(err error, out []byte, said string) error {
	if why := refusal(out); why != nil {
		return why
	}
	if why := forbidden(out, said); err != nil && why != nil {
		return why
	}
	return err
}

// forbidden is the error of a PowerShell that printed nothing but that an execution policy forbids
// it to run scripts; nil: it did not say so. The text is translated and wrapped at some width: only
// the name of the help topic, the number of the link and the type are the same everywhere.
func forbidden(out []byte, said string) error {
	said = strings.Join(strings.Fields(said), "")
	named := func(mark string) bool { return strings.Contains(said, mark) }
	if len(bytes.TrimSpace(out)) > 0 || !named("about_Execution_Policies") && !named("LinkID=135170") && !named("PSSecurityException") {
		return nil
	}
	return fmt.Errorf("%w: it says that an execution policy forbids scripts: Get-ExecutionPolicy -List shows there which scope says so; MachinePolicy and UserPolicy are group policies, the others an administrator changes with Set-ExecutionPolicy; nothing was done", ErrRefused)
}

// refusal is why PowerShell did not execute the script; nil: it did.
func refusal(out []byte) error {
	for line := range strings.Lines(string(out[:min(len(out), maxTalk)])) {
		why, ok := strings.CutPrefix(strings.TrimSpace(line), refused)
		if !ok {
			continue
		}
		what, is, _ := strings.Cut(printable(why), " ")
		if what == "version" {
			return fmt.Errorf("%w: it is version %s, and 5.1 is needed (Windows Management Framework 5.1)", ErrRefused, is)
		}
		return fmt.Errorf("%w: its language mode is %s (AppLocker, WDAC or Device Guard): log in as a user for whom it is FullLanguage; linerate on that host asks the same PowerShell, and is refused as well", ErrRefused, is)
	}
	return nil
}
