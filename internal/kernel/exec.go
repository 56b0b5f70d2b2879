package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Exec prepares a process. It is the one place in linerate that can start
// one: argv is executed as it stands, never through a shell.
func Exec(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, argv[0], argv[1:]...)
}

// FindProgram finds a program in a list of directories, as PATH has them. A
// name with a slash is the program itself.
func FindProgram(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if st, err := os.Stat(file); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("find program %s: not in %s", name, path)
}

// AdminEnv is env with the directories of administrators' programs in PATH: root in a host
// needs them, and an ordinary user's PATH lacks them.
func AdminEnv(env []string) []string {
	const admin = "/usr/local/sbin:/usr/sbin:/sbin"
	out := slices.Clone(env)
	for i, e := range out {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			out[i] = "PATH=" + strings.TrimPrefix(path+":"+admin, ":")
			return out
		}
	}
	return append(out, "PATH=/usr/local/bin:/usr/bin:/bin:"+admin)
}

// LeftBehind reports whether Wait gave up because processes that a command left behind still
// had its output open (Cmd.WaitDelay).
func LeftBehind(err error) bool { return errors.Is(err, exec.ErrWaitDelay) }

// Run starts a program of the system's own directories, in the C locale, and
// returns what it printed. If the program does not exist the error is fs.ErrNotExist; if it
// fails the error has its stderr.
func Run(ctx context.Context, argv ...string) ([]byte, error) {
	const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	program, err := FindProgram(argv[0], path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	cmd := Exec(ctx, append([]string{program}, argv[1:]...)...)
	cmd.Env = []string{"PATH=" + path, "LC_ALL=C"}
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return out, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.Join(strings.Fields(string(failed.Stderr)), " "))
	}
	return out, err
}
