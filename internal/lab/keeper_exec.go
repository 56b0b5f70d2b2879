package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"linerate/internal/kernel"
)

// An ordinary user's lab lives in a user namespace that a Go program cannot
// join: the keeper, which is inside, starts commands there with the standard
// streams that come along with the request.

// execArgs is the first line of such a connection; three descriptors come with
// it. Each later line is a signal number for the command.
type execArgs struct {
	Host string   `json:"host"`
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
}

type execResult struct {
	Code  int    `json:"code"`
	Error string `json:"error,omitempty"`
}

func listenExec(stateDir, name string) (net.Listener, error) {
	return takeName(name, filepath.Join(stateDir, name+execSuffix))
}

func (k *keeper) serveExec(c net.Conn) {
	defer c.Close()
	r := execResult{Code: 1}
	if err := k.exec(c, &r); err != nil {
		r.Error = err.Error()
	}
	// The client may be gone.
	_ = json.NewEncoder(c).Encode(r)
}

// maxExec bounds the request: a command line with its environment.
const maxExec = 2 << 20

func (k *keeper) exec(c net.Conn, r *execResult) error {
	args, files, err := receiveExec(c)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err != nil {
		return err
	}
	prefix, err := locked(k, func() ([]string, error) { return k.enter(args.Host) })
	if err != nil {
		return err
	}
	// It ends with the connection or the lab, not with a deadline.
	cmd := kernel.Exec(context.Background(), append(prefix, args.Argv...)...)
	cmd.Env, cmd.Dir = args.Env, args.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	kernel.InNewNamespaces(cmd, kernel.Namespaces{}) // a process group of its own
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s in %s: %w", args.Argv[0], args.Host, err)
	}
	go passSignals(c, cmd.Process)
	err = cmd.Wait()
	r.Code = cmd.ProcessState.ExitCode()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Code = 128 + int(status.Signal()) // as in shells
	}
	if r.Code != 0 {
		return nil // the code says it
	}
	return err
}

// passSignals passes the client's signals to the command, and ends it when the client
// is gone.
func passSignals(c io.Reader, p *os.Process) {
	for dec := json.NewDecoder(c); ; {
		var n int
		if err := dec.Decode(&n); err != nil {
			_ = kernel.EndGroup(p.Pid) // most often it has ended by itself
			return
		}
		_ = p.Signal(syscall.Signal(n))
	}
}
