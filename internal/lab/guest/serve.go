package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"

	"linerate/internal/kernel"
)

// ready is the first line that the host sends, when it listens. Nothing may be sent to it
// earlier: input that waits on a serial line while a kernel boots makes it hang.
const ready = "linerate lab host ready\n"

// cableConfig is the configuration of both ends. It has no keep-alive: a host that a busy
// machine stalls for long is not dead, so only the exit of its kernel ends the session.
func cableConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = 5 * time.Minute
	c.StreamOpenTimeout = 0
	c.LogOutput = io.Discard // the calls return its errors
	return c
}

// serve runs commands for the other end, until that requests a power off or the
// cable ends.
func serve(cable io.ReadWriteCloser) error {
	if _, err := io.WriteString(cable, ready); err != nil {
		return fmt.Errorf("say ready: %w", err)
	}
	session, err := yamux.Server(cable, cableConfig())
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	off := make(chan struct{})
	var once sync.Once
	go func() {
		<-off
		_ = session.Close() // the power-off follows in any case
	}()
	for {
		stream, err := session.Accept()
		if err != nil {
			select {
			case <-off:
				return nil
			default:
				return fmt.Errorf("serve commands: %w", err)
			}
		}
		go func() {
			defer stream.Close()
			if answerStream(stream) {
				once.Do(func() { close(off) })
			}
		}()
	}
}

// answerStream runs one command; it reports true for a request to power off.
func answerStream(stream io.ReadWriter) (off bool) {
	out := &frames{w: stream}
	k, b, err := readFrame(stream)
	var r request
	if err == nil && k != kindRequest {
		err = fmt.Errorf("read request: a frame of kind %d", k)
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err == nil && !r.Off && len(r.Argv) == 0 {
		err = errors.New("read request: no command")
	}
	e := exit{}
	switch {
	case err != nil:
		e = exit{1, err.Error()}
	case r.Off:
	default:
		e = runCommand(r, stream, out)
	}
	// The client may have gone.
	_ = out.sendJSON(kindExit, e)
	return r.Off
}

func runCommand(r request, in io.Reader, out *frames) exit {
	path, err := lookPath(r)
	if err != nil {
		return exit{127, err.Error()}
	}
	cmd := kernel.Exec(context.Background(), path)
	cmd.Args, cmd.Env = r.Argv, r.Env
	if st, err := os.Stat(r.Dir); err == nil && st.IsDir() {
		cmd.Dir = r.Dir
	}
	cmd.Stdout, cmd.Stderr = out.as(kindStdout), out.as(kindStderr)
	// Processes that a command leaves behind may hold its output open for ever.
	cmd.WaitDelay = time.Second
	kernel.InNewNamespaces(cmd, kernel.Namespaces{}) // a process group of its own
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return exit{1, err.Error()}
	}
	if err := cmd.Start(); err != nil {
		return exit{126, fmt.Sprintf("start %s: %v", r.Argv[0], err)}
	}
	ended := make(chan struct{})
	go feed(in, stdin, cmd.Process, ended)
	err = cmd.Wait()
	close(ended)
	e := exit{Code: cmd.ProcessState.ExitCode()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Code = 128 + int(status.Signal()) // as in shells
	}
	if e.Code == 0 && err != nil && !kernel.LeftBehind(err) {
		e = exit{1, err.Error()}
	}
	return e
}

// lookPath finds the command in the client's PATH, and in the directories of an
// administrator's programs.
func lookPath(r request) (string, error) {
	search := ""
	for _, e := range r.Env {
		if len(e) > 5 && e[:5] == "PATH=" {
			search = e[5:]
		}
	}
	return kernel.FindProgram(r.Argv[0], search+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}

// feed passes input and signals to the command, and kills it when the client has gone.
func feed(in io.Reader, stdin io.WriteCloser, p *os.Process, ended <-chan struct{}) {
	for {
		k, b, err := readFrame(in)
		if err != nil {
			select {
			case <-ended: // its PID may belong to another process by now
			default:
				_ = kernel.EndGroup(p.Pid) // it may have ended by itself meanwhile
			}
			return
		}
		switch {
		case k == kindStdin && len(b) == 0:
			_ = stdin.Close()
		case k == kindStdin:
			_, _ = stdin.Write(b) // a command need not read its input
		case k == kindSignal && len(b) == 1:
			_ = p.Signal(syscall.Signal(b[0])) // the command may just have ended
		}
	}
}
