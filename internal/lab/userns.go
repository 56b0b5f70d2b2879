package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/wire"
)

// outerUID carries the user's id into a user namespace, where it reads 0.
const outerUID = "LINERATE_OUTER_UID"

// NeedUserNS tells whether this process lacks the rights to build a lab and
// must first re-execute itself in a user namespace.
func NeedUserNS() (bool, error) {
	may, err := kernel.HasNetAdmin()
	return !may, err
}

// ReexecInUserNS runs argv as root of a new user namespace and returns its
// exit status. SIGINT, SIGTERM and SIGHUP are passed on; from a terminal the
// child gets a SIGINT twice, so it must not take the second for an answer.
// When user namespaces are forbidden the error names what forbids them and
// what to do.
func ReexecInUserNS(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if os.Getenv(outerUID) != "" {
		return 1, fmt.Errorf("build lab: no rights even in a user namespace: %w", kernel.UserNamespaceError("/proc", syscall.EPERM))
	}
	cmd := kernel.Exec(ctx, argv...)
	// It has things to put back: SIGTERM comes before SIGKILL.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.Env = wire.WithEnv(os.Environ(), outerUID+"="+strconv.Itoa(os.Geteuid()))
	sig := make(chan os.Signal, 4)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(sig)
	err := kernel.RunInUserNamespace(cmd, sig)
	if cmd.ProcessState == nil {
		return 1, err
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code, nil
	}
	return 1, errors.Join(err, ctx.Err())
}

// StateDir chooses and makes the private directory for labs: below
// XDG_RUNTIME_DIR, else /run (root), else the directory for temporary files.
func StateDir(getenv func(string) string, uid int, tmp string) (string, error) {
	if outer, err := strconv.Atoi(getenv(outerUID)); err == nil {
		uid = outer
	}
	var candidates []string
	if d := getenv("XDG_RUNTIME_DIR"); d != "" {
		candidates = append(candidates, filepath.Join(d, "linerate"))
	}
	if uid == 0 {
		candidates = append(candidates, "/run/linerate")
	}
	candidates = append(candidates, filepath.Join(tmp, "linerate-"+strconv.Itoa(uid)))
	var errs []error
	for _, c := range candidates {
		err := kernel.PrivateDir(c)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("find a private directory for the lab: %w", errors.Join(errs...))
}
