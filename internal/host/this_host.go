package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"linerate/internal/kernel"
)

// ThisHost is this very host, seen as one whose system is read and changed by scripts. The zero value
// is the host as it is.
type ThisHost struct {
	// GOOS is its system; empty: that of this program.
	GOOS string
	// Run starts a program and waits for it; nil: as Ssh starts its own.
	Run func(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error
	// Estats are the calls by which Windows shows its TCP connections; nil: its own.
	Estats kernel.Estats
	// Family finds a process of Windows and its descendants; nil: kernel.ProcessFamily.
	Family func(pid int) ([]int, error)
}

// ProcessFamily is a process of Windows and its descendants, pid first.
func (h ThisHost) ProcessFamily(pid int) ([]int, error) {
	if h.Family != nil {
		return h.Family(pid)
	}
	return kernel.ProcessFamily(pid)
}

// TCPStatistics is how Windows shows its TCP connections; on other systems it is an error.
func (h ThisHost) TCPStatistics() (kernel.Estats, error) {
	if h.Estats != nil {
		return h.Estats, nil
	}
	return kernel.OwnEstats()
}

// OS is the system, as a GOOS word.
func (h ThisHost) OS() string {
	if h.GOOS == "" {
		return runtime.GOOS
	}
	return h.GOOS
}

// errSilent is that of a shell that is none: each script of linerate prints something. Wine's
// powershell.exe is like that.
var errSilent = errors.New("it printed nothing and reported success, which is no answer: is it a real one?")

// Ask has the host's own shell execute a fixed script, which it gets on its standard input, and
// returns what that printed, as Ssh.Ask does: of it more than most bytes are an error.
func (h ThisHost) Ask(ctx context.Context, in Shell, text string, most int) ([]byte, error) {
	argv := []string{"/bin/sh", "-s"}
	if in == PowerShell {
		shell, err := kernel.PowerShell()
		if err != nil {
			return nil, fmt.Errorf("ask this host: %w", err)
		}
		argv = append([]string{shell}, powershellArguments()...)
	}
	run := h.Run
	if run == nil {
		run = runProgram
	}
	ctx, cancel := context.WithTimeout(ctx, sshStep)
	defer cancel()
	var out bytes.Buffer
	var said tail
	err := run(ctx, argv, strings.NewReader(text), &limited{w: &out, left: most}, &said)
	if last := printable(said.last()); err != nil && last != "" {
		err = fmt.Errorf("%w: %s", err, last)
	}
	if in == PowerShell {
		err = powershellError(err, out.Bytes(), said.all())
	}
	if err == nil && len(bytes.TrimSpace(out.Bytes())) == 0 {
		err = errSilent
	}
	if err != nil {
		return out.Bytes(), fmt.Errorf("ask this host's %s: %w", in, err)
	}
	return out.Bytes(), nil
}

func runProgram(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	cmd := kernel.Exec(ctx, argv...)
	cmd.SysProcAttr = ownGroup() // Ctrl-C is linerate's to hear: a change may have to be told of
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.WaitDelay = time.Second
	return cmd.Run()
}
