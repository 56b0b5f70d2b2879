package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// UserNamespaceRefusal says why this kernel may refuse an unprivileged user namespace and what to
// do about it, from the sysctls under proc. It is empty if no sysctl forbids it.
func UserNamespaceRefusal(proc string) string {
	for _, r := range []struct{ key, bad, what string }{
		{"user.max_user_namespaces", "0", "user.max_user_namespaces is 0: no user namespaces here; raise it (sysctl user.max_user_namespaces=15000)"},
		{"kernel.unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone is 0: only root may make user namespaces; set it to 1"},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns is 1: AppArmor takes the rights away in user namespaces; set it to 0"},
	} {
		b, err := os.ReadFile(filepath.Join(proc, "sys", strings.ReplaceAll(r.key, ".", "/")))
		// A key that does not exist forbids nothing.
		if err == nil && strings.TrimSpace(string(b)) == r.bad {
			return r.what + ", or run as root"
		}
	}
	return ""
}

// UserNamespaceError explains why making a user namespace failed.
func UserNamespaceError(proc string, cause error) error {
	why := UserNamespaceRefusal(proc)
	if why == "" {
		why = "something above this process (a container's seccomp or security profile, perhaps) forbids it; run as root outside it"
	}
	return fmt.Errorf("make user namespace: %w: %s", cause, why)
}
