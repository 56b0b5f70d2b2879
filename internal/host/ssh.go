package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
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
}

// Times of an ssh session. The keepalives end a session whose host no longer answers.
const (
	sshConnect = 10 * time.Second
	sshStep    = 2 * time.Minute // for one step, the copy of the binary included
)

// All scripts that run on the host. They are fixed except for the directory, which mktemp
// chose and dirPattern restricts to harmless characters: nothing that a user writes reaches a
// shell. They are in single quotes, so that every login shell passes them on unchanged.
const (
	// The shell stays until the agent runs: if the controller is gone before, it removes the
	// directory that nobody else knows of.
	probeScript = `umask 077 && uname -s && uname -m && id -u && d=$(mktemp -d "${TMPDIR:-/tmp}/linerate.XXXXXXXXXX") && ` +
		`trap : HUP INT TERM PIPE && echo "$d" && echo ` + probed + ` && ` +
		`{ read -r word; [ "$word" = ` + keepWord + ` ] || rm -rf "$d"; }`
	probed     = "linerate-probed"
	keepWord   = "keep"
	copyScript = `cat > @DIR@/linerate && chmod 700 @DIR@/linerate && ` +
		`if command -v sha256sum >/dev/null 2>&1; then sha256sum < @DIR@/linerate; ` +
		`elif command -v shasum >/dev/null 2>&1; then shasum -a 256 < @DIR@/linerate; ` +
		`else echo none; fi`
	readBackScript = `cat @DIR@/linerate`
	removeScript   = `rm -rf @DIR@`
	// The shell outlives the agent, whatever ends the agent, and cleans up. It uses sudo if
	// that asks for no password.
	runScript = `trap : HUP INT TERM PIPE; ` +
		`if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; ` +
		`then sudo -n @DIR@/linerate "$@"; else @DIR@/linerate "$@"; fi; s=$?; rm -rf @DIR@; exit $s`
)

var dirPattern = regexp.MustCompile(`^/[A-Za-z0-9._/-]*/linerate\.[A-Za-z0-9]{6,}$`)

// Reach copies the binary to a private directory of the host, checks its
// hash and returns the Endpoint that runs it. Once the agent was dialled, the directory is
// removed when it ends; Endpoint.Discard removes it if the agent is never dialled.
func (s Ssh) Reach(ctx context.Context, n Name, data []netip.Addr) (Endpoint, error) {
	if n.Reach != SSH || !hostIsSafe(n) {
		return Endpoint{}, fmt.Errorf("reach %q: not a host for ssh", n)
	}
	place, made, err := s.probe(ctx, n)
	if err != nil {
		return Endpoint{}, fmt.Errorf("reach %s by ssh: %w", n.Host, err)
	}
	ep := Endpoint{
		Name: n.Host, Data: slices.Clone(data), Argv: s.argv(n),
		Self: []string{script(runScript, place.dir), "linerate"}, Deployed: true,
		begun: made.keep,
		discard: func(ctx context.Context) error {
			if made.remove() == nil {
				return nil
			}
			return s.remove(ctx, n, place.dir)
		},
	}
	if err := s.deploy(ctx, n, place); err != nil {
		return Endpoint{}, errors.Join(fmt.Errorf("reach %s by ssh: %w", n.Host, err), ep.Discard(ctx))
	}
	return ep, nil
}

func hostIsSafe(n Name) bool {
	a, err := netip.ParseAddr(n.Host)
	return (n.User == "" || userPattern.MatchString(n.User)) && (hostPattern.MatchString(n.Host) || err == nil && a.Is6())
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

// run executes one fixed script on the host. It, probe and Dial are where ssh is started.
func (s Ssh) run(ctx context.Context, n Name, command string, stdin io.Reader, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, sshStep)
	defer cancel()
	cmd := kernel.Exec(ctx, append(s.argv(n), command)...)
	cmd.SysProcAttr = ownGroup()
	var said tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if last := printable(said.last()); last != "" {
			return fmt.Errorf("%w: %s", err, last)
		}
		return err
	}
	return nil
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

// Ask has the host's sh execute a fixed script and returns what it printed, of which more than
// most bytes are an error. The script goes to its standard input, so that neither the login
// shell nor ssh reads it, and nothing is written there.
func (s Ssh) Ask(ctx context.Context, n Name, text string, most int) ([]byte, error) {
	if n.Reach != SSH || !hostIsSafe(n) {
		return nil, fmt.Errorf("ask %q: not a host for ssh", n)
	}
	var out bytes.Buffer
	if err := s.run(ctx, n, "exec sh -s", strings.NewReader(text), &limited{w: &out, left: most}); err != nil {
		return out.Bytes(), fmt.Errorf("ask %s by ssh: %w", n.Host, err)
	}
	return out.Bytes(), nil
}

// place is where the binary goes.
type place struct{ goos, goarch, uid, dir string }

// probe makes a directory on the host, which is gone when this process is, unless it is kept.
func (s Ssh) probe(ctx context.Context, n Name) (place, *directory, error) {
	fail := func(err error) (place, *directory, error) {
		return place{}, nil, fmt.Errorf("log in and make a directory: %w (can you log in with: ssh -o BatchMode=yes %s ?)", err, n.Host)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	cmd := kernel.Exec(life, append(s.argv(n), script(probeScript, ""))...)
	cmd.SysProcAttr = ownGroup()
	var said tail
	cmd.Stderr, cmd.WaitDelay = &said, time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		end()
		return fail(err)
	}
	out := &probeAnswer{whole: make(chan struct{}), left: 4096}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		end()
		return fail(err)
	}
	d := &directory{stdin: stdin, end: end, ended: make(chan struct{})}
	go func() { d.how = cmd.Wait(); end(); close(d.ended) }()
	timer := time.NewTimer(sshStep)
	defer timer.Stop()
	select {
	case <-out.whole:
		p, err := parseProbe(out.String())
		if err != nil {
			return place{}, nil, errors.Join(err, d.remove())
		}
		return p, d, nil
	case <-d.ended:
		err = d.how
		if last := printable(said.last()); last != "" {
			err = fmt.Errorf("%w: %s", cmp.Or(err, io.ErrUnexpectedEOF), last)
		}
		return fail(cmp.Or(err, io.ErrUnexpectedEOF))
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = fmt.Errorf("%w within %v", errNoAnswer, sshStep)
	}
	// What the shell may have made goes with the session.
	return fail(errors.Join(err, d.remove()))
}

// directory is one on a host, with the session whose shell has made it.
type directory struct {
	stdin io.WriteCloser
	end   func()
	ended chan struct{}
	how   error // how the session ended; read only after ended
}

// keep leaves the directory to the session that runs the agent. The shell ends when it has read
// the word, and who waits for it closes the pipe too, maybe first.
func (d *directory) keep() error {
	_, err := io.WriteString(d.stdin, keepWord+"\n")
	closed := d.stdin.Close()
	if errors.Is(closed, os.ErrClosed) {
		closed = nil
	}
	if err = errors.Join(err, closed); err != nil {
		return fmt.Errorf("leave the directory to the agent: %w", err)
	}
	return nil
}

// remove has the shell remove the directory; an error means that it may still be there.
func (d *directory) remove() error {
	_ = d.stdin.Close() // of a session that has ended: how says more
	timer := time.NewTimer(sshConnect)
	defer timer.Stop()
	select {
	case <-d.ended:
	case <-timer.C:
		d.end()
		<-d.ended
		return fmt.Errorf("remove the directory: %w within %v", errNoAnswer, sshConnect)
	}
	return d.how
}

// probeAnswer takes what a session prints, up to the mark of its end.
type probeAnswer struct {
	mu    sync.Mutex
	b     strings.Builder
	left  int
	whole chan struct{} // closed at the mark
	done  bool
}

// Write implements io.Writer.
func (a *probeAnswer) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(b) > a.left {
		return 0, errTalkative
	}
	a.left -= len(b)
	a.b.Write(b)
	if !a.done && strings.Contains("\n"+a.b.String(), "\n"+probed+"\n") {
		a.done = true
		close(a.whole)
	}
	return len(b), nil
}

// String is what stands before the mark.
func (a *probeAnswer) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, _, _ := strings.Cut("\n"+a.b.String(), "\n"+probed+"\n")
	return text
}

// parseProbe reads what probeScript printed. A login shell may print a greeting to stdout
// before it; the last four lines are the script's.
func parseProbe(out string) (place, error) {
	f := strings.Split(strings.TrimSpace(out), "\n")
	if len(f) < 4 {
		return place{}, fmt.Errorf("read what the host is: unexpected answer %q", printable(out))
	}
	f = f[len(f)-4:]
	p := place{uid: f[2], dir: f[3]}
	var ok bool
	if p.goos, ok = map[string]string{"Linux": "linux", "FreeBSD": "freebsd", "Darwin": "darwin", "SunOS": "illumos"}[f[0]]; !ok {
		return place{}, fmt.Errorf("read what the host is: no linerate for system %q", printable(f[0]))
	}
	if p.goarch, ok = map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "i86pc": "amd64", "aarch64": "arm64", "arm64": "arm64",
		"ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64",
	}[f[1]]; !ok {
		return place{}, fmt.Errorf("read what the host is: no linerate for machine %q", printable(f[1]))
	}
	if !dirPattern.MatchString(p.dir) || strings.Contains(p.dir, "/../") {
		return place{}, fmt.Errorf("read where to copy to: unexpected directory %q", printable(p.dir))
	}
	return p, nil
}

// deploy copies the binary and verifies the copy before anything runs it.
func (s Ssh) deploy(ctx context.Context, n Name, p place) error {
	path, err := s.Binary(p.goos, p.goarch)
	if err != nil {
		return fmt.Errorf("find a linerate for %s/%s: %w", p.goos, p.goarch, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("copy the binary: %w", err)
	}
	defer f.Close() // only read: a close that fails loses nothing
	sum := sha256.New()
	var out bytes.Buffer
	if err := s.run(ctx, n, script(copyScript, p.dir), io.TeeReader(f, sum), &limited{w: &out, left: 4096}); err != nil {
		return fmt.Errorf("copy the binary: %w", err)
	}
	want := hex.EncodeToString(sum.Sum(nil))
	got, err := s.hash(ctx, n, p, out.String())
	if err != nil {
		return fmt.Errorf("check the copied binary: %w", err)
	}
	if got != want {
		return fmt.Errorf("check the copied binary: its hash on the host is %s, not %s: is the disk full, or does another process write there?", got, want)
	}
	return nil
}

// hash returns the hash that a tool of the host has computed; if the host has none, the file
// is read back. The copy itself cannot compute it, since it would have to run before it is
// verified.
func (s Ssh) hash(ctx context.Context, n Name, p place, out string) (string, error) {
	words := strings.Fields(out)
	if len(words) == 0 {
		return "", errors.New("no answer")
	}
	// "HASH  -" is what both tools print; a greeting may stand before it.
	if len(words) >= 2 && words[len(words)-1] == "-" {
		return printable(words[len(words)-2]), nil
	}
	if words[len(words)-1] != "none" {
		return "", fmt.Errorf("unexpected answer %q", printable(out))
	}
	sum := sha256.New()
	if err := s.run(ctx, n, script(readBackScript, p.dir), nil, sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
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
