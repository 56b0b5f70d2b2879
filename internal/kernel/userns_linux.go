package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// HasNetAdmin tells whether this process may make namespaces and interfaces:
// CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW are effective.
func HasNetAdmin() (bool, error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return false, fmt.Errorf("read capabilities: %w", err)
	}
	for _, c := range []uint{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW} {
		if data[c/32].Effective&(1<<(c%32)) == 0 {
			return false, nil
		}
	}
	return true, nil
}

// RunInUserNamespace starts cmd as root of new user, network and mount
// namespaces, passes every signal that arrives on sig to it, and waits. It
// dies with this process. The error of a start is explained by
// UserNamespaceError; after a start the error is that of cmd.Wait.
func RunInUserNamespace(cmd *exec.Cmd, sig <-chan os.Signal) error {
	// Pdeathsig fires when the thread that forked ends, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Pdeathsig:   unix.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return UserNamespaceError("/proc", err)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-sig:
				// The process may just have ended; Wait tells.
				_ = cmd.Process.Signal(s)
			case <-done:
				return
			}
		}
	}()
	return cmd.Wait()
}
