package host

import (
	"context"
	"io"
	"sync"
	"time"

	"linerate/internal/kernel"
)

// started is one that was started here, with its stdin and stdout in this one's hands.
type started struct {
	stdin  io.WriteCloser
	stdout io.ReadCloser
	said   *relay
	kill   func() error
	wait   func() error // once, after stdout was read to its end
}

// startProcess starts a program in a process group of its own; what it says on stderr goes to
// said.
func startProcess(argv []string, said io.Writer) (*started, error) {
	p := &started{said: &relay{to: said}}
	cmd := kernel.Exec(context.Background(), argv...)
	cmd.SysProcAttr = ownGroup()
	var err error
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	cmd.Stderr = p.said
	// A child of one that was killed may hold stderr open: do not wait for it.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.kill, p.wait = cmd.Process.Kill, cmd.Wait
	return p, nil
}

// relay passes on what is written to it, from some instant on to another writer.
type relay struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (r *relay) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to.Write(b)
}

func (r *relay) turn(to io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}
