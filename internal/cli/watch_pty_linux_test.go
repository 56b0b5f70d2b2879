package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"
	"golang.org/x/sys/unix"
)

// pty is a program on a terminal of its own, which draws what it says.
type pty struct {
	keyed
	cmd  *exec.Cmd
	keys *os.File // what the user has of the terminal
	line *os.File // what the program has
	said chan []byte
	all  bytes.Buffer
	was  unix.Termios
}

// onPty starts a shell command as the leader of a session, on a terminal of 80 columns and 24 lines.
func onPty(t *testing.T, env []string, command string) *pty {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("this pseudo-terminal cannot be opened: ", err)
	}
	t.Cleanup(func() { _ = line.Close() })
	term := vt.NewMockTerm()
	if err := term.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = term.Stop() })
	p := &pty{keyed: keyed{T: t, term: term}, keys: keys, line: line, said: make(chan []byte, 1000)}
	p.resize(80, 24)
	p.was = p.state()
	p.cmd = exec.Command("/bin/sh", "-c", command)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = line, line, line
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.cmd.Env = append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // of a test that failed; else it is gone
	go func() {
		for {
			b := make([]byte, 4096)
			n, err := keys.Read(b)
			if err != nil {
				close(p.said)
				return
			}
			p.said <- b[:n]
		}
	}()
	return p
}

func (p *pty) resize(width, height uint16) {
	p.Helper()
	if err := unix.IoctlSetWinsize(int(p.line.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		p.Fatal(err)
	}
	p.term.SetSize(vt.Coord{X: vt.Col(width), Y: vt.Row(height)})
}

func (p *pty) state() unix.Termios {
	p.Helper()
	s, err := unix.IoctlGetTermios(int(p.line.Fd()), unix.TCGETS)
	if err != nil {
		p.Fatal(err)
	}
	return *s
}

func (p *pty) types(keys string) {
	p.Helper()
	if _, err := p.keys.WriteString(keys); err != nil {
		p.Fatal(err)
	}
}

// until reads until a text comes, and returns what came since the one before.
func (p *pty) until(text string) string {
	p.Helper()
	p.reads(text, func() bool { return strings.Contains(p.all.String(), text) })
	return string(p.all.Next(strings.Index(p.all.String(), text) + len(text)))
}

// shows reads until a text is on the terminal.
func (p *pty) shows(text string) {
	p.Helper()
	p.reads(text, func() bool { return strings.Contains(p.text(), text) })
}

func (p *pty) reads(text string, done func() bool) {
	p.Helper()
	patience := time.After(time.Minute)
	for !done() {
		select {
		case b, ok := <-p.said:
			if !ok {
				p.Fatalf("no %q, and the terminal is closed: %q", text, p.all.String())
			}
			p.all.Write(b)
			if _, err := p.term.Write(b); err != nil {
				p.Fatal(err)
			}
		case <-patience:
			p.Fatalf("no %q: %q", text, p.all.String())
		}
	}
}

// ends waits until the program has ended, and wants it to have ended well.
func (p *pty) ends() {
	p.Helper()
	if err := p.over(); err != nil {
		p.Error(err)
	}
}

// over waits until the program has ended.
func (p *pty) over() error {
	p.Helper()
	end := make(chan error, 1)
	go func() { end <- p.cmd.Wait() }()
	select {
	case err := <-end:
		return err
	case <-time.After(time.Minute):
		p.Fatalf("it does not end: %q", p.all.String())
		return nil
	}
}

const (
	leftScreen = "\x1b[?1049l"
	openScreen = "\x1b[?1049h"
)

// replays plays a kept run, and stays.
const replays = "watch --replay ../store/testdata/v1/20261120-234501-demo-x7k2 --speed 0"

// A real terminal: keys work, a size that changes is followed, what stops the program gives the terminal
// back, and so does each end.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{asProgram + "=1", "XDG_DATA_HOME=" + t.TempDir(), "TERM=xterm", "LC_ALL=C"}
	for name, c := range map[string]struct {
		ends func(*pty)
		code int
	}{
		"q":        {func(p *pty) { p.types("q") }, 0},
		"Ctrl-C":   {func(p *pty) { p.types("\x03") }, 0},
		"SIGTERM":  {func(p *pty) { p.signal(syscall.SIGTERM) }, 0},
		"no UTF-8": {func(p *pty) { p.types("\xff\xfe\xc3"); p.types("q") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := onPty(t, env, "exec "+self+" "+replays)
			p.until(openScreen)
			p.shows("the recording is over")
			if s := p.state(); s == p.was {
				t.Error("keys would have to be followed by Enter")
			}
			p.resize(60, 10)
			p.shows("q quit  ? keys" + strings.Repeat(" ", 11) + "\n") // 60 columns
			p.types("?")
			p.shows("any key goes back")
			p.types("\x1b[6~ ")
			p.shows("the recording is over")
			c.ends(p)
			p.until(leftScreen)
			if err := p.over(); p.cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("it ends with %v", err)
			}
			if p.state() != p.was {
				t.Error("the terminal is not as it was")
			}
		})
	}
}

func (p *pty) signal(s syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

// Ctrl-Z gives the terminal to the shell, and fg brings the picture back; the first key after that is heard.
func TestWatchIsStoppedAndGoesOn(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{asProgram + "=1", "XDG_DATA_HOME=" + t.TempDir(), "TERM=xterm"}
	p := onPty(t, env, "set -m; "+self+" "+replays+"; echo sto''pped; stty -a | grep -o ' [-]*icanon'; fg; echo en''ded")
	p.shows("the recording is over")
	p.types("\x1a")
	p.until(leftScreen)
	p.until("stopped")
	p.until(" icanon")
	p.until(openScreen)
	p.shows("the recording is over")
	p.types("q")
	p.until(leftScreen)
	p.until("ended")
	p.ends()
	if p.state() != p.was {
		t.Error("the terminal is not as it was")
	}
}

// Without a shell that could continue it the program is not stopped.
func TestWatchAloneIsNotStopped(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := onPty(t, []string{asProgram + "=1", "XDG_DATA_HOME=" + t.TempDir(), "TERM=xterm"}, "exec "+self+" "+replays)
	p.shows("the recording is over")
	p.types("\x1a")
	p.until(leftScreen) // what is typed before is lost
	p.until(openScreen)
	p.shows("the recording is over")
	p.types("q")
	p.ends()
}

// A terminal that can do nothing, a pipe and NO_COLOR.
func TestWatchOnOtherOutputs(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{asProgram + "=1", "XDG_DATA_HOME=" + t.TempDir()}
	for name, c := range map[string]struct {
		term, command, want, not string
	}{
		"dumb":     {"TERM=dumb", self + " " + replays, "starting", "\x1b"},
		"a pipe":   {"TERM=xterm", self + " " + replays + " | cat", "starting", "\x1b"},
		"once":     {"TERM=xterm", self + " " + replays + " --once", "watched for 0s", "\x1b[H"},
		"NO_COLOR": {"NO_COLOR=1", self + " " + replays, "the recording is over", "\x1b[1m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := onPty(t, append(env, "TERM=xterm", c.term), c.command)
			if p.shows(c.want); strings.Contains(p.all.String(), c.not) {
				t.Errorf("%q", p.all.String())
			}
			if name == "NO_COLOR" {
				p.types("q")
			}
			p.ends()
		})
	}
}
