package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/interp"
)

// tool is a program that scripts call; false: only the real one knows these arguments.
type tool func(at interp.HandlerContext, args []string) (code int, ok bool)

// tools are the programs that the shell inside has itself.
func tools() map[string]tool {
	quiet := func(do func(args []string) error) tool {
		return func(at interp.HandlerContext, args []string) (int, bool) {
			err := do(args)
			if err != nil {
				fmt.Fprintln(at.Stderr, err)
			}
			return failing(err), true
		}
	}
	return map[string]tool{
		"sync": quiet(func([]string) error { return nil }), "sleep": quiet(func([]string) error { return nil }),
		// No two runs of a script are at work at once: who holds a lock was killed.
		"kill":      quiet(func([]string) error { return os.ErrProcessDone }),
		"lsextattr": quiet(func([]string) error { return os.ErrNotExist }), "getfacl": quiet(func([]string) error { return os.ErrNotExist }),
		"mv": quiet(func(a []string) error { return os.Rename(a[len(a)-2], a[len(a)-1]) }),
		"rm": quiet(remove), "mkdir": quiet(makeDir), "cp": quiet(copyFile),
		"ln": quiet(func(a []string) error {
			if a[0] != "-s" {
				return os.Link(a[0], a[1])
			}
			return os.Symlink(a[1], a[2])
		}),
		"ls": list, "cmp": compare, "sed": sed, "awk": awk, "tail": tail,
	}
}

func remove(args []string) error {
	for _, a := range args {
		if err := os.Remove(a); a != "-f" && err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func makeDir(args []string) error {
	if args[0] == "-p" {
		return os.MkdirAll(args[1], 0o700)
	}
	return os.Mkdir(args[0], 0o700)
}

// copyFile keeps mode, owner and time where it is asked to; cp -p@ is of illumos alone.
func copyFile(args []string) error {
	from, to := args[len(args)-2], args[len(args)-1]
	if args[0] == "-p@" {
		return errors.New("cp: invalid option -- '@'")
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if len(args) == 2 {
		return os.WriteFile(to, b, 0o600)
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return errors.Join(os.WriteFile(to, b, info.Mode()), os.Chmod(to, info.Mode()), os.Chown(to, int(owner.Uid), int(owner.Gid)), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// list is ls -ld and ls -ldn of one path; other options it refuses, as GNU's ls does those that
// scripts try of other systems.
func list(at interp.HandlerContext, args []string) (int, bool) {
	if len(args) != 2 || args[0] != "-ld" && args[0] != "-ldn" {
		return 2, true
	}
	info, err := os.Lstat(args[1])
	if err != nil {
		fmt.Fprintln(at.Stderr, err)
		return 2, true
	}
	s := info.Sys().(*syscall.Stat_t)
	name := args[1]
	if to, err := os.Readlink(name); err == nil {
		name += " -> " + to
	}
	mode := strings.NewReplacer("L", "l").Replace(info.Mode().String())
	_, err = fmt.Fprintf(at.Stdout, "%s %d %d %d %d Nov 26 10:00 %s\n", mode, s.Nlink, s.Uid, s.Gid, info.Size(), name)
	return failing(err), true
}

func compare(_ interp.HandlerContext, args []string) (int, bool) {
	if len(args) != 3 || args[0] != "-s" {
		return 0, false
	}
	one, err := os.ReadFile(args[1])
	other, err2 := os.ReadFile(args[2])
	if errors.Join(err, err2) != nil {
		return 2, true
	}
	if !bytes.Equal(one, other) {
		return 1, true
	}
	return 0, true
}

var (
	substitution = regexp.MustCompile(`^(1?)s/(.*)/(.*)/p$`)
	field        = regexp.MustCompile(`^(?:NR == ([0-9]+) )?\{ print \$([0-9]) \}$`)
	basic        = strings.NewReplacer(`\(`, "(", `\)`, ")", "(", `\(`, ")", `\)`, "+", `\+`, "?", `\?`, "{", `\{`, "|", `\|`)
	reference    = regexp.MustCompile(`\\([0-9])`)
)

// sed has substitutions that print, and 1d.
func sed(at interp.HandlerContext, args []string) (int, bool) {
	var parts []string
	for _, a := range args {
		if a != "-n" && a != "-e" {
			parts = append(parts, a)
		}
	}
	if args[0] == "1d" {
		return lines(at, func(n int, line string) string {
			if n == 1 {
				return ""
			}
			return line + "\n"
		}), true
	}
	for _, p := range parts {
		if args[0] != "-n" || !substitution.MatchString(p) {
			return 0, false
		}
	}
	return lines(at, func(n int, line string) (out string) {
		for _, p := range parts {
			m := substitution.FindStringSubmatch(p)
			re := regexp.MustCompile(basic.Replace(m[2]))
			found := re.FindStringSubmatchIndex(line)
			if found == nil || m[1] != "" && n != 1 {
				continue
			}
			to := reference.ReplaceAllString(strings.ReplaceAll(m[3], "$", "$$"), "$${$1}")
			out += line[:found[0]] + string(re.ExpandString(nil, to, line, found)) + line[found[1]:] + "\n"
		}
		return out
	}), true
}

func awk(at interp.HandlerContext, args []string) (int, bool) {
	m := field.FindStringSubmatch(args[0])
	if len(args) != 1 || m == nil {
		return 0, false
	}
	return lines(at, func(n int, line string) string {
		k, _ := strconv.Atoi(m[2])
		if row, _ := strconv.Atoi(m[1]); m[1] != "" && row != n {
			return ""
		}
		if f := strings.Fields(line); k <= len(f) {
			return f[k-1] + "\n"
		}
		return "\n"
	}), true
}

// lines has each line made another.
func lines(at interp.HandlerContext, each func(n int, line string) string) int {
	b, err := io.ReadAll(at.Stdin)
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		_, werr := io.WriteString(at.Stdout, each(n, strings.TrimSuffix(line, "\n")))
		err = errors.Join(err, werr)
	}
	return failing(err)
}

// tail is of one line, or of one byte.
func tail(at interp.HandlerContext, args []string) (int, bool) {
	if len(args) != 3 || args[1] != "1" {
		return 0, false
	}
	b, err := os.ReadFile(args[2])
	switch {
	case err != nil:
		return 1, true
	case args[0] == "-n":
		b = b[bytes.LastIndexByte(bytes.TrimSuffix(b, []byte("\n")), '\n')+1:]
	case len(b) > 0:
		b = b[len(b)-1:]
	}
	_, err = at.Stdout.Write(b)
	return failing(err), true
}
