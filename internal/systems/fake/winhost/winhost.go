// Package winhost is a Windows host for tests: an sshd's login shell that knows no sh, a
// PowerShell (package powershell) and the cmdlets that linerate's scripts call. Each cmdlet refuses
// the parameters and values that it does not know. It is German where Windows is translated. It
// knows nothing of how linerate reads its answers, and it is an imitation from the documentation:
// passing here does not mean that a real host agrees.
package winhost

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"linerate/internal/systems/fake/powershell"
)

// Variables of its environment.
const (
	// How is a comma-separated list of what is wrong: "empty:CMDLET" gives nothing and succeeds,
	// "denied:CMDLET" lacks the right, "missing:CMDLET" is not there, "hang:CMDLET" never ends,
	// "unlike" is a new host whose adapters are of two vendors, "tampered" one with a single adapter whose
	// defaults somebody changed, "without:KEYWORD" is a driver
	// that no longer has it, "null:PROPERTY" is a template of TCP that gives none, "also:COMPONENT" is a protocol that is switched with
	// each other one ("alsoon:" and "alsooff:" one way alone), "unsaid:COMPONENT" one that is not said to be on or off, "english" is its language, and else German, "noadmin",
	// "policy:AllSigned" is a group policy under which no script's file runs, "profile" is a shell
	// whose own profile it refuses, "forbidden:CMDLET" is one whose module it refuses and
	// "unloadable:CMDLET" one whose module is not loaded, "version:2", "language:ConstrainedLanguage", "nothing" is a PowerShell that prints
	// nothing and succeeds, "cut:N" ends after N bytes.
	How = "LINERATE_FAKE_WINDOWS_HOW"
	// State is a directory that holds what was changed; without it nothing can be.
	State = "LINERATE_FAKE_WINDOWS_STATE"
)

// Names are the programs that it is.
func Names() []string { return []string{"cmd", "powershell"} }

// Install makes a directory of its programs, which are all the file exe.
func Install(dir, exe string) error {
	for _, n := range Names() {
		if err := os.Symlink(exe, filepath.Join(dir, n)); err != nil {
			return fmt.Errorf("install the fake: %w", err)
		}
	}
	return nil
}

// Is tells whether a process was started as one of its programs.
func Is(argv0 string) bool { return slices.Contains(Names(), filepath.Base(argv0)) }

// Main is one of its programs; it returns the exit code.
func Main(args []string, env func(string) string, in io.Reader, out, errs io.Writer) int {
	words := args[1:]
	if slices.Contains(strings.Split(env(How), ","), "profile") {
		fmt.Fprint(errs, refusal("C:\\Users\\Admin\\profile.ps1", false))
	}
	if filepath.Base(args[0]) == "cmd" {
		words = strings.Fields(env("SSH_ORIGINAL_COMMAND"))
		if len(words) == 0 || words[0] != "powershell" {
			first := ""
			if len(words) > 0 {
				first = words[0]
			}
			fmt.Fprintf(errs, "Der Befehl \"%s\" ist entweder falsch geschrieben oder\r\nkonnte nicht gefunden werden.\r\n", first)
			return 1
		}
		words = words[1:]
	}
	h, err := Open(env(State), env(How))
	if err != nil {
		fmt.Fprintln(errs, err)
		return 99
	}
	h.Setenv("SSH_CONNECTION", env("SSH_CONNECTION"))
	code, err := h.PowerShell(words, in, out)
	if err != nil {
		fmt.Fprintf(errs, "%v\r\n", err)
	}
	return code
}

// Host is the state of one.
type Host struct {
	state, dir string
	how        []string
	data       data
	env        map[string]string
	open       []*os.File
	effects    map[string]int // how often each was begun
	// Step, if set, is told of each effect before it happens and after; an error ends the script
	// there and then, as a kill does.
	Step func(what string) error
	// Sleep, if set, is what Start-Sleep does: for a script that waits in vain.
	Sleep func(time.Duration)
	// Registry, if set, is where registry values are, and not in the host's state.
	Registry Registry
}

// Open loads a host, which is new where its directory is.
func Open(dir, how string) (*Host, error) {
	h := &Host{dir: dir, how: strings.Split(how, ","), data: fresh(), effects: map[string]int{}, env: map[string]string{"programdata": `C:\ProgramData`, "computername": "WINFILER"}}
	if slices.Contains(h.how, "unlike") {
		unlike(&h.data)
	}
	if slices.Contains(h.how, "tampered") {
		tampered(&h.data)
	}
	if dir == "" {
		return h, nil
	}
	h.state = filepath.Join(dir, "host.json")
	b, err := os.ReadFile(h.state)
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if err == nil {
		h.data = data{}
		err = json.Unmarshal(b, &h.data)
	}
	if err != nil {
		return nil, fmt.Errorf("load the fake host: %w", err)
	}
	return h, nil
}

// Setenv sets a variable of the environment of what runs there.
func (h *Host) Setenv(name, value string) { h.env[strings.ToLower(name)] = value }

// Keep writes down a host as it is.
func (h *Host) Keep() error { return h.save() }

func (h *Host) save() error {
	if h.state == "" {
		return denied("Zugriff verweigert")
	}
	b, err := json.Marshal(h.data)
	if err != nil {
		return err
	}
	return os.WriteFile(h.state, b, 0o600)
}

// told is what follows "WHAT:" in how.
func (h *Host) told(what, of string) bool { return slices.Contains(h.how, what+":"+of) }

func (h *Host) setting(what, fresh string) string {
	for _, one := range h.how {
		if v, ok := strings.CutPrefix(one, what+":"); ok {
			return v
		}
	}
	return fresh
}

// cutter passes on so many bytes.
type cutter struct {
	w    io.Writer
	left int
}

func (c *cutter) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	c.left -= n
	_, err := c.w.Write(b[:n])
	return len(b), err
}

// PowerShell runs "powershell ARGS": an encoded command, or a script's file.
func (h *Host) PowerShell(args []string, in io.Reader, out io.Writer) (int, error) {
	if slices.Contains(h.how, "nothing") {
		return 0, nil
	}
	if n, err := strconv.Atoi(h.setting("cut", "")); err == nil {
		out = &cutter{out, n}
	}
	text, path := "", ""
	var rest []string
	for i := 0; i < len(args) && text == "" && path == ""; i++ {
		switch value := args[min(i+1, len(args)-1)]; args[i] {
		case "-NoProfile", "-NonInteractive":
		case "-OutputFormat", "-ExecutionPolicy":
			i++
		case "-EncodedCommand":
			var err error
			if text, err = decode(value); err != nil {
				return 1, err
			}
			rest = args[i+2:]
		case "-File":
			path, rest = value, args[i+2:]
		default:
			return 1, fmt.Errorf("powershell: unknown parameter %q", args[i])
		}
	}
	if path != "" && h.setting("policy", "") != "" {
		return 1, &policyError{refusal(path, slices.Contains(h.how, "english"))}
	}
	if path != "" {
		b, err := os.ReadFile(h.real(path))
		if err != nil {
			return 1, fmt.Errorf("powershell: -File %s: %w", path, err)
		}
		text = string(b)
		in = strings.NewReader("")
	}
	typed, err := io.ReadAll(in)
	if err != nil {
		return 1, err
	}
	var input []any
	for line := range strings.Lines(string(typed)) {
		input = append(input, strings.TrimRight(line, "\r\n"))
	}
	return h.run(text, path, input, rest, out)
}

func (h *Host) run(text, path string, input []any, args []string, out io.Writer) (int, error) {
	defer h.end()
	return powershell.Run(text, powershell.Host{
		Cmdlet: h.cmdlet, Static: h.static(out), Cast: h.cast, Env: h.env, Out: out, Path: path, Sleep: h.Sleep,
		Version: h.setting("version", "5.1.20348.2849"), Language: h.setting("language", "FullLanguage"),
	}, input, args)
}

func decode(s string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b)%2 != 0 {
		return "", fmt.Errorf("powershell: -EncodedCommand: %w", errors.Join(err, powershell.ErrSyntax))
	}
	var units []uint16
	for i := 0; i < len(b); i += 2 {
		units = append(units, uint16(b[i])|uint16(b[i+1])<<8)
	}
	return string(utf16.Decode(units)), nil
}

func denied(said string) *powershell.Error {
	return &powershell.Error{Message: said, Type: "Microsoft.Management.Infrastructure.CimException", Category: "PermissionDenied"}
}

func none(said string) *powershell.Error {
	return &powershell.Error{Message: said, Type: "Microsoft.PowerShell.Cmdletization.Cim.CimJobException", Category: "ObjectNotFound"}
}

// cmdlet finds one, as it is today.
func (h *Host) cmdlet(name string) (powershell.Cmdlet, bool) {
	c, ok := h.cmdlets()[name]
	if !ok || h.told("missing", name) {
		return powershell.Cmdlet{}, false
	}
	run := c.Run
	c.Run = func(args map[string]any) ([]any, error) {
		switch {
		case h.told("hang", name):
			time.Sleep(time.Hour)
		case h.told("denied", name):
			return nil, denied(h.in("Zugriff verweigert für Müller", "Access denied for Miller"))
		case h.told("forbidden", name):
			return nil, forbidden(slices.Contains(h.how, "english"))
		case h.told("unloadable", name):
			return nil, h.unloadable(name)
		case h.told("empty", name):
			return nil, nil
		}
		return run(args)
	}
	return c, true
}

// Run has the host's PowerShell run a script as an encoded command would.
func (h *Host) Run(text string, out io.Writer) (int, error) { return h.run(text, "", nil, nil, out) }

// RunFile has it run a script's file with arguments.
func (h *Host) RunFile(path string, out io.Writer, args ...string) (int, error) {
	return h.PowerShell(append([]string{"-File", path}, args...), strings.NewReader(""), out)
}
