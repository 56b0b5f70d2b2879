//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// onStop delivers the user's wish that the program stops: of a shell's kill -TSTP, and of stopAll.
func onStop() (stops <-chan os.Signal, end func()) {
	to := make(chan os.Signal, 1)
	signal.Notify(to, syscall.SIGTSTP)
	return to, func() { signal.Stop(to) }
}

// stopAll is what a terminal does at Ctrl-Z, while it does not: it asks all programs of the job.
func stopAll() error { return syscall.Kill(0, syscall.SIGTSTP) }

// stopSelf stops the program until the user continues it, if there is a shell that could. (What Go has
// once handled of SIGTSTP it cannot give back to the system, so that this takes SIGSTOP.)
func stopSelf() {
	if !continued() {
		return
	}
	goes := make(chan os.Signal, 1)
	signal.Notify(goes, syscall.SIGCONT)
	defer signal.Stop(goes)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-goes // the stop need not have come yet
	}
}

// continued tells whether some shell has jobs and this is one: the parent, or that of a parent which
// belongs to the job, is of the same session. (ssh -t HOST linerate watch has none, nor has a window of
// tmux that runs nothing else: there the system would not stop the program at Ctrl-Z, either.)
func continued() bool {
	parent := os.Getppid()
	group, err := unix.Getpgid(parent)
	of, failed := unix.Getsid(parent)
	own, unknown := unix.Getsid(0)
	job, unnamed := unix.Getpgid(0)
	switch {
	case err != nil || failed != nil || unknown != nil || unnamed != nil:
		return false
	case group == job:
		return of != parent
	}
	return of == own
}
