package labtest

import (
	"os"
	"syscall"
)

// lacksNamespaces says why this user cannot make the namespaces of a lab: it
// starts a program in some.
func lacksNamespaces() string {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: attr})
	if err == nil {
		_, err = p.Wait()
	}
	if err != nil {
		return "network namespaces, which this user cannot make here (" + err.Error() + ")"
	}
	return ""
}
