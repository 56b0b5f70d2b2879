package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// HasNetAdmin tells whether this process may create namespaces and interfaces: CAP_SYS_ADMIN,
// CAP_NET_ADMIN and CAP_NET_RAW are effective.
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

// RunInUserNamespace starts cmd as root of new user, network and mount namespaces, forwards every
// signal that arrives on sig to it, and waits. cmd dies with this process. UserNamespaceError
// explains an error of the start; after it the error is that of cmd.Wait.
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
				// The process may have just ended, which Wait reports.
				_ = cmd.Process.Signal(s)
			case <-done:
				return
			}
		}
	}()
	return cmd.Wait()
}

// PrivateDir creates directory path and its parents unless it exists. It must belong to this user
// with mode 0700, or the error says so: files in another user's directory cannot be trusted.
func PrivateDir(path string) error {
	var st fs.FileInfo
	var err error
	for range 100 { // somebody who finds it empty may remove it just then
		if err = os.MkdirAll(path, 0o700); err != nil {
			break
		}
		if st, err = os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("make private directory: %w", err)
	}
	if !st.IsDir() || st.Mode().Perm()&0o077 != 0 || !ownedByMe(st) {
		return fmt.Errorf("use %s as a private directory: it is not a directory of user %d with mode 0700; remove it or name another", path, os.Geteuid())
	}
	return nil
}

// OwnedByMe tells whether path itself, not a link's target, belongs to this user. false if that
// cannot be determined.
func OwnedByMe(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && ownedByMe(st)
}

func ownedByMe(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}
