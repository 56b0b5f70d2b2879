package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Cmd is a process that Exec prepared, for packages that may not import os/exec.
type Cmd = exec.Cmd

// Namespaces names the kernel namespaces that a new process gets of its own.
type Namespaces struct {
	Net   bool // interfaces, routes, net.* sysctls
	Mount bool
	UTS   bool // host name
	PID   bool // the process is the first; all it leaves behind ends with it
}

// ProcessStart returns when pid started, in clock ticks since boot (field 22 of /proc/PID/stat,
// proc(5)). With the boot id it distinguishes a process from a later one with the same number.
// The error is fs.ErrNotExist if there is no such process, or only a zombie.
func ProcessStart(proc string, pid int) (uint64, error) {
	b, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("read start of process %d: %w", pid, err)
	}
	start, err := parseStart(b)
	if err != nil {
		return 0, fmt.Errorf("read start of process %d: %w", pid, err)
	}
	return start, nil
}

// parseStart takes field 22. The name in parentheses may itself hold spaces and parentheses, so
// fields are counted from the last one.
func parseStart(stat []byte) (uint64, error) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, fmt.Errorf("no name in %q", stat)
	}
	f := bytes.Fields(stat[i+1:])
	if len(f) < 20 {
		return 0, fmt.Errorf("%d fields after the name, want 20 or more", len(f))
	}
	if state := f[0][0]; state == 'Z' || state == 'X' {
		return 0, fmt.Errorf("it has ended: %w", fs.ErrNotExist)
	}
	return strconv.ParseUint(string(f[19]), 10, 64)
}

// ProcessEnv returns the environment that pid was started with, as NAME=value.
func ProcessEnv(proc string, pid int) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "environ"))
	if err != nil {
		return nil, fmt.Errorf("read environment of process %d: %w", pid, err)
	}
	var env []string
	for _, e := range bytes.Split(b, []byte{0}) {
		if len(e) > 0 {
			env = append(env, string(e))
		}
	}
	return env, nil
}

// NetNamespace returns the identity of pid's network namespace, such as "net:[4026531840]".
func NetNamespace(proc string, pid int) (string, error) {
	ns, err := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "ns", "net"))
	if err != nil {
		return "", fmt.Errorf("read network namespace of process %d: %w", pid, err)
	}
	return ns, nil
}

// Processes lists the process ids under proc in ascending text order.
func Processes(proc string) ([]int, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// IsGone tells whether err says that a process or thread has ended.
func IsGone(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist)
}
