package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"linerate/internal/kernel"
)

// receiveExec reads the request and the three descriptors that come with it.
func receiveExec(c net.Conn) (execArgs, []*os.File, error) {
	var args execArgs
	u, ok := c.(*net.UnixConn)
	if !ok {
		return args, nil, errors.New("run a command: not a local socket")
	}
	buf, oob := make([]byte, maxExec), make([]byte, syscall.CmsgSpace(3*4))
	n, m, _, _, err := u.ReadMsgUnix(buf, oob)
	if err != nil {
		return args, nil, fmt.Errorf("read command: %w", err)
	}
	files, err := descriptors(oob[:m])
	if err != nil {
		return args, files, err
	}
	// A long request comes in several pieces; the descriptors come with the first.
	for n == 0 || buf[n-1] != '\n' {
		more, err := u.Read(buf[n:])
		if err != nil || more == 0 {
			return args, files, fmt.Errorf("read command: %w", errors.Join(err, errors.New("it is cut short or too long")))
		}
		n += more
	}
	if err := json.Unmarshal(buf[:n], &args); err != nil {
		return args, files, fmt.Errorf("read command: %w", err)
	}
	if len(files) != 3 || len(args.Argv) == 0 {
		return args, files, fmt.Errorf("read command: want a command and 3 descriptors, got %d", len(files))
	}
	return args, files, nil
}

func descriptors(oob []byte) ([]*os.File, error) {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	var files []*os.File
	for _, msg := range msgs {
		fds, err := syscall.ParseUnixRights(&msg)
		if err != nil {
			return files, fmt.Errorf("read descriptors: %w", err)
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}

// Exec runs a command inside a host with these streams, through the lab's
// keeper, and returns its exit code. Signals that arrive on sig are passed on.
func (c *Client) Exec(ctx context.Context, host string, argv []string, stdin, stdout, stderr *os.File, sig <-chan os.Signal) (int, error) {
	conn, err := kernel.DialUnix(ctx, filepath.Join(filepath.Dir(c.path), c.Name+execSuffix))
	if err != nil {
		return 1, fmt.Errorf("reach lab %s: %w", c.Name, err)
	}
	defer conn.Close()
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	request, err := json.Marshal(execArgs{Host: host, Argv: argv, Env: os.Environ(), Dir: dir})
	if err != nil {
		return 1, err
	}
	rights := syscall.UnixRights(int(stdin.Fd()), int(stdout.Fd()), int(stderr.Fd()))
	n, _, err := conn.(*net.UnixConn).WriteMsgUnix(request, rights, nil)
	if err == nil {
		_, err = conn.Write(append(request[n:], '\n'))
	}
	if err != nil {
		return 1, fmt.Errorf("send command to lab %s: %w", c.Name, err)
	}
	done := make(chan struct{})
	defer close(done)
	go forward(conn, sig, done)
	var r execResult
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		return 1, fmt.Errorf("run in %s: the lab has gone: %w", host, err)
	}
	if r.Error != "" {
		return r.Code, errors.New(r.Error)
	}
	return r.Code, nil
}

func forward(conn net.Conn, sig <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case s := <-sig:
			if n, ok := s.(syscall.Signal); ok {
				// The command may just have ended; its result shows that.
				_ = json.NewEncoder(conn).Encode(int(n))
			}
		case <-done:
			return
		}
	}
}
