package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"linerate/internal/kernel"
)

// Ssh reaches hosts with the system's ssh: the user's configuration, agent,
// jump hosts and known hosts apply.
type Ssh struct {
	// Command is the ssh program with the caller's options; empty: "ssh".
	Command []string
	// Binary is the local file to run on a host with this GOOS and GOARCH.
	Binary func(goos, goarch string) (path string, err error)
	// Agent is the program that is sent there instead, where there is one: the same as far as hosts
	// need it.
	Agent Packed
}

// Times of an ssh session. The keepalives end a session whose host no longer answers.
const (
	sshConnect = 10 * time.Second
	sshStep    = 2 * time.Minute // for one step, the copy of the binary included
)

var dirPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/[A-Za-z0-9._/-]*/linerate\.[A-Za-z0-9]{6,}$`) })

// Reach copies the binary to a private directory of the host, checks its
// hash and returns the Endpoint that runs it. Once the agent was dialled, the directory is
// removed when it ends; Endpoint.Discard removes it if the agent is never dialled.
func (s Ssh) Reach(ctx context.Context, n Name, data []netip.Addr) (Endpoint, error) {
	if n.Reach != SSH || !hostIsSafe(n) {
		return Endpoint{}, fmt.Errorf("reach %q: not a host for ssh", n)
	}
	one, place, err := s.log(ctx, n)
	if err != nil && s.windows(ctx, n, err) {
		err = foreignWindows()
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("reach %s by ssh: %w", n.Host, err)
	}
	ep := Endpoint{
		Name: n.Host, Data: slices.Clone(data), Argv: s.argv(n), Deployed: true, session: one,
		discard: func(ctx context.Context) error {
			if !one.taken && one.close() == nil {
				return nil
			}
			return s.remove(ctx, n, place.dir)
		},
	}
	if err := s.deploy(ctx, n, one, place); err != nil {
		return Endpoint{}, errors.Join(fmt.Errorf("reach %s by ssh: %w", n.Host, err), ep.Discard(ctx))
	}
	return ep, nil
}

func hostIsSafe(n Name) bool {
	a, err := netip.ParseAddr(n.Host)
	return (n.User == "" || isUser(n.User)) && (isHost(n.Host) || err == nil && a.Is6())
}

// argv is the ssh command line up to the remote command.
func (s Ssh) argv(n Name) []string {
	argv := slices.Clone(s.Command)
	if len(argv) == 0 {
		argv = []string{"ssh"}
	}
	argv = append(argv, "-T",
		"-o", "BatchMode=yes", "-o", "ConnectTimeout="+strconv.Itoa(int(sshConnect.Seconds())),
		"-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
		"-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "ForwardX11=no",
		"-o", "PermitLocalCommand=no", "-o", "RemoteCommand=none")
	if n.User != "" {
		argv = append(argv, "-l", n.User)
	}
	return append(argv, "--", n.Host)
}

// script quotes a fixed script for any login shell.
func script(text, dir string) string {
	return "exec sh -c '" + strings.ReplaceAll(text, "@DIR@", dir) + "'"
}

// run executes one fixed script on the host. It and log are where ssh is started.
func (s Ssh) run(ctx context.Context, n Name, command string, stdin io.Reader, stdout io.Writer) error {
	return s.hear(ctx, n, command, stdin, stdout, &tail{})
}

// hear is run for one who wants to know what was said, too.
func (s Ssh) hear(ctx context.Context, n Name, command string, stdin io.Reader, stdout io.Writer, said *tail) error {
	ctx, cancel := context.WithTimeout(ctx, sshStep)
	defer cancel()
	cmd := kernel.Exec(ctx, append(s.argv(n), command)...)
	cmd.SysProcAttr = ownGroup()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if last := printable(said.last()); last != "" {
			return fmt.Errorf("%w: %s", err, last)
		}
		return err
	}
	return nil
}

// HostName is what the user's configuration has ssh connect to for a host: a name or an address, the
// host's own where the configuration says nothing.
func (s Ssh) HostName(ctx context.Context, n Name) (string, error) {
	if n.Reach != SSH || !hostIsSafe(n) {
		return "", fmt.Errorf("read the configuration of ssh for %q: not a host for ssh", n)
	}
	asking := Ssh{Command: append(slices.Clone(s.Command), "-G")}
	if len(s.Command) == 0 {
		asking.Command = []string{"ssh", "-G"}
	}
	var out bytes.Buffer
	if err := asking.run(ctx, n, "true", nil, &out); err != nil {
		return "", fmt.Errorf("read the configuration of ssh for %s: %w", n, err)
	}
	for line := range strings.Lines(out.String()) {
		if name, ok := strings.CutPrefix(line, "hostname "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("read the configuration of ssh for %s: it names no host", n)
}

// Foreign is that a host is of another kind than this build, which cannot run there.
type Foreign struct {
	GOOS string // linux, freebsd, illumos, …
	Err  error
}

// Error implements error.
func (e *Foreign) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Foreign) Unwrap() error { return e.Err }

// sudoShell is a shell that is root's where sudo asks for no password, as the agent's is. What sudo reads
// while it is tried is not the script.
const sudoShell = `exec sh -c '[ "$(id -u)" = 0 ] && exec sh -s; sudo -n sh -c true </dev/null >/dev/null 2>&1 && exec sudo -n sh -s; exec sh -s'`

// Ask has a shell of the host execute a fixed script and returns what it printed, of which more
// than most bytes are an error. The script goes to its standard input, so that neither the login
// shell nor ssh reads it, and nothing is written there.
func (s Ssh) Ask(ctx context.Context, n Name, in Shell, text string, most int) ([]byte, error) {
	if n.Reach != SSH || !hostIsSafe(n) {
		return nil, fmt.Errorf("ask %q: not a host for ssh", n)
	}
	command := "exec sh -s"
	switch in {
	case PowerShell:
		command = powershellCommand()
	case SudoSh:
		command = sudoShell
	}
	var out bytes.Buffer
	var said tail
	err := s.hear(ctx, n, command, strings.NewReader(text), &limited{w: &out, left: most}, &said)
	if in == PowerShell {
		err = powershellError(err, out.Bytes(), said.all())
	}
	if err != nil {
		return out.Bytes(), fmt.Errorf("ask %s by ssh: %w", n.Host, err)
	}
	return out.Bytes(), nil
}

func (s Ssh) remove(ctx context.Context, n Name, dir string) error {
	ctx = context.WithoutCancel(ctx) // a Ctrl-C must not leave it behind
	if err := s.run(ctx, n, script(removeScript, dir), nil, io.Discard); err != nil {
		return fmt.Errorf("remove %s from %s: %w", dir, n.Host, err)
	}
	return nil
}

var errTalkative = errors.New("the host prints more than it was asked for")

// limited passes on a limited number of bytes and then fails, so that no host can fill this
// process's memory.
type limited struct {
	w    io.Writer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.left {
		return 0, errTalkative
	}
	l.left -= len(b)
	return l.w.Write(b)
}

// printable returns s without characters that could control a terminal, cut to the length of a
// line.
func printable(s string) string {
	s = strings.Map(harmless, strings.ToValidUTF8(s, " "))
	return strings.ToValidUTF8(s[:min(len(s), 300)], "")
}

// maxReadable bounds a text of several lines, in bytes: the conflicts of a large plan.
const maxReadable = 16 << 10

// readable is printable for a text of several lines.
func readable(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxReadable)], " ")
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return harmless(r)
	}, s)
}

// harmless replaces by a space each character that could control a terminal or change the
// direction of writing.
func harmless(r rune) rune {
	if unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
		return ' '
	}
	return r
}
