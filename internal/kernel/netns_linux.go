package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// InNewNamespaces makes cmd start in these new namespaces, possibly none, and in a process group
// of its own, so that the terminal's Ctrl-C does not reach it: its parent still needs it for the
// cleanup.
func InNewNamespaces(cmd *exec.Cmd, ns Namespaces) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Cloneflags |= ns.flags()
	cmd.SysProcAttr.Setpgid = true
}

// Detach makes cmd start in a session of its own, without the terminal.
func Detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
}

func (ns Namespaces) flags() uintptr {
	var f uintptr
	if ns.Net {
		f |= unix.CLONE_NEWNET
	}
	if ns.Mount {
		f |= unix.CLONE_NEWNS
	}
	if ns.PID {
		f |= unix.CLONE_NEWPID
	}
	if ns.UTS {
		f |= unix.CLONE_NEWUTS
	}
	return f
}

// SetHostname sets the host name of the calling process's UTS namespace.
func SetHostname(name string) error {
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("set host name %s: %w", name, err)
	}
	return nil
}

// MountOwnSys gives the calling process's mount namespace a /sys that shows the interfaces of its
// own network namespace, with the cgroup trees in their usual places. It needs a mount namespace
// of its own, whose mounts it first makes private. A kernel that refuses (in a container that
// masks parts of /sys) gives an error.
func MountOwnSys() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	cgroups := detachedTree("/sys/fs/cgroup")
	if cgroups >= 0 {
		defer unix.Close(cgroups)
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	err := unix.Mount("sysfs", "/sys", "sysfs", flags, "")
	if errors.Is(err, unix.EPERM) {
		// If the parent's /sys is read-only, the kernel permits only a read-only one.
		err = unix.Mount("sysfs", "/sys", "sysfs", flags|unix.MS_RDONLY, "")
	}
	if err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	if cgroups < 0 {
		return nil
	}
	if err := unix.MoveMount(cgroups, "", unix.AT_FDCWD, "/sys/fs/cgroup", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("put cgroups back under /sys: %w", err)
	}
	return nil
}

// detachedTree holds a copy of the mounts at path; -1 if there are none or the kernel (before
// 5.2) cannot copy them.
func detachedTree(path string) int {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1
	}
	return fd
}

// JoinNamespaces moves the calling thread, which stays locked, into the mount, UTS and network
// namespaces of process pid, provided that process started at start. The working directory is
// kept if it exists there. The caller can only call Replace afterwards.
func JoinNamespaces(pid int, start uint64) error {
	runtime.LockOSThread()
	wd, wdErr := os.Getwd()
	fds, err := openNamespaces(pid, start)
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	if err != nil {
		return err
	}
	// The mount namespace cannot change while threads share their root and working directory.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare working directory: %w", err)
	}
	for _, fd := range fds {
		if err := unix.Setns(fd, 0); err != nil {
			return fmt.Errorf("enter namespaces of process %d: %w", pid, err)
		}
	}
	if wdErr == nil {
		if err := unix.Chdir(wd); err != nil {
			return fmt.Errorf("return to directory %s: %w", wd, err)
		}
	}
	return nil
}

// JoinNetwork moves the calling thread, which stays locked, into the network namespace of process
// pid, provided that process started at start. Files, and with them /proc, stay those of the
// caller. The caller can only call Replace afterwards.
func JoinNetwork(pid int, start uint64) error {
	runtime.LockOSThread()
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace of process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	got, err := ProcessStart("/proc", pid)
	if err != nil {
		return err
	}
	if got != start {
		return fmt.Errorf("enter network namespace of process %d: it is another process now", pid)
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace of process %d: %w", pid, err)
	}
	return nil
}

func openNamespaces(pid int, start uint64) ([]int, error) {
	var fds []int
	for _, kind := range []string{"net", "uts", "mnt"} {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fds, fmt.Errorf("open %s namespace of process %d: %w", kind, pid, err)
		}
		fds = append(fds, fd)
	}
	got, err := ProcessStart("/proc", pid)
	if err != nil {
		return fds, err
	}
	if got != start {
		return fds, fmt.Errorf("enter namespaces of process %d: it is another process now; the host is gone", pid)
	}
	return fds, nil
}

// Replace executes argv with environment env in place of the calling process. It returns only on
// error. argv[0] is looked up in PATH.
func Replace(argv, env []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	if err := syscall.Exec(path, argv, env); err != nil {
		return fmt.Errorf("start %s: %w", strings.Join(argv, " "), err)
	}
	return nil
}

// EndGroup kills a process group that the caller started. A missing group is no error.
func EndGroup(pgid int) error {
	if err := unix.Kill(-pgid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("end process group %d: %w", pgid, err)
	}
	return nil
}

// KillProcess kills pid if that process started at start. A missing process is no error.
func KillProcess(pid int, start uint64) error {
	got, err := ProcessStart("/proc", pid)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	if got != start {
		return nil
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	return nil
}
