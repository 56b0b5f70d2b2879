package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bench/kit"
)

// hostile copies a tree of what tools are known to lose with each of them, and says what is
// missing afterwards, and which exit code it gave.
func (b *bench) hostile(ctx context.Context) error {
	arms := append(here(), arm{"rsync -a", "rsync", func(b *bench) []string { return []string{"rsync", "-a", b.src + "/", b.dst} }})
	if b.far != nil {
		for _, a := range bySSH() {
			if a.name != "cp -a, no network" && !strings.HasPrefix(a.name, "mbuffer") && !strings.HasSuffix(a.name, "--plain") {
				a.name += ", between hosts"
				arms = append(arms, a)
			}
		}
	}
	stop := b.serveXrootd(ctx)
	defer stop()
	made, err := b.hostileTree()
	if err != nil {
		return err
	}
	arms = b.runnable(b.present(arms))
	fmt.Printf("**A hostile tree**: %s\n\n", strings.Join(made, ", "))
	kit.Head(os.Stdout, "program", "exit code", "lost")
	for _, a := range arms {
		if err := errors.Join(os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755)); err != nil {
			return err
		}
		argv := a.argv(b)
		cmd := b.Command(ctx, argv[1:]...)
		if cmd.Path, err = exec.LookPath(argv[0]); err != nil {
			return err
		}
		err := cmd.Run()
		var ee *exec.ExitError
		if err != nil && !errors.As(err, &ee) {
			return err
		}
		ended := fmt.Sprint(cmd.ProcessState.ExitCode())
		if ended == "-1" {
			ended = cmd.ProcessState.String() // a signal
		}
		fmt.Printf("| %s | %s | %s |\n", a.name, ended, kit.List(b.lost()))
	}
	fmt.Println()
	return nil
}

// property is one thing of the hostile tree. make puts it into a directory; kept compares.
type property struct {
	name string
	make func(dir string) error
	kept func(src, dst string) bool
}

// sameFile compares content, mode and mtime.
func sameFile(name string) func(src, dst string) bool {
	return func(src, dst string) bool {
		a, aerr := os.ReadFile(filepath.Join(src, name))
		c, cerr := os.ReadFile(filepath.Join(dst, name))
		return aerr == nil && cerr == nil && string(a) == string(c)
	}
}

func stats(src, dst, name string) (a, c unix.Stat_t, ok bool) {
	ok = unix.Lstat(filepath.Join(src, name), &a) == nil && unix.Lstat(filepath.Join(dst, name), &c) == nil
	return a, c, ok
}

func file(name string) func(dir string) error {
	return func(dir string) error {
		path := filepath.Join(dir, name)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o644))
	}
}

// timed is a file of a time.
func timed(name string, sec, nsec int64) property {
	return property{name, func(dir string) error {
		ts := unix.Timespec{Sec: sec, Nsec: nsec}
		return errors.Join(file(name)(dir), unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(dir, name), []unix.Timespec{ts, ts}, 0))
	}, func(src, dst string) bool {
		a, c, ok := stats(src, dst, name)
		return ok && a.Mtim == c.Mtim
	}}
}

func link(name, to string) property {
	return property{name, func(dir string) error { return os.Symlink(to, filepath.Join(dir, name)) }, func(_, dst string) bool {
		got, err := os.Readlink(filepath.Join(dst, name))
		return err == nil && got == to
	}}
}

// named is a file of a name that some tools cannot have.
func named(what, name string) property { return property{what, file(name), sameFile(name)} }

func properties() []property {
	var deep []string
	for range 30 {
		deep = append(deep, strings.Repeat("d", 150))
	}
	return []property{
		named("newline in a name", "new\nline"), named("invalid UTF-8", "in\xffvalid"), named("leading dash", "-rf"), named("255 bytes", strings.Repeat("n", 255)),
		timed("mtime in ns", 1e9, 123456789), timed("mtime of 1950", -631152000, 5), timed("mtime of 2200", 7258118400, 5),
		link("dangling symlink", "nowhere"), link("absolute symlink", "/etc/hostname"),
		{"mode 0400", func(dir string) error {
			return errors.Join(file("mode")(dir), os.Chmod(filepath.Join(dir, "mode"), 0o400))
		}, func(src, dst string) bool { a, c, ok := stats(src, dst, "mode"); return ok && a.Mode == c.Mode }},
		{"owner", func(dir string) error {
			return errors.Join(file("owner")(dir), os.Lchown(filepath.Join(dir, "owner"), 1234, 4321))
		}, func(src, dst string) bool {
			a, c, ok := stats(src, dst, "owner")
			return ok && a.Uid == c.Uid && a.Gid == c.Gid
		}},
		{"hard link", func(dir string) error {
			return errors.Join(file("one")(dir), os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "two")))
		}, func(_, dst string) bool {
			a, c, ok := stats(dst, dst, "one")
			ok = ok && unix.Lstat(filepath.Join(dst, "two"), &c) == nil
			return ok && a.Ino == c.Ino
		}},
		{"hole", func(dir string) error {
			return errors.Join(file("hole")(dir), os.Truncate(filepath.Join(dir, "hole"), 64<<20))
		}, func(src, dst string) bool {
			a, c, ok := stats(src, dst, "hole")
			return ok && a.Size == c.Size && c.Blocks < 1000
		}},
		{"xattr", func(dir string) error {
			return errors.Join(file("xattr")(dir), unix.Setxattr(filepath.Join(dir, "xattr"), "user.x", []byte("y"), 0))
		}, func(_, dst string) bool {
			v := make([]byte, 8)
			n, err := unix.Getxattr(filepath.Join(dst, "xattr"), "user.x", v)
			return err == nil && string(v[:n]) == "y"
		}},
		{"empty directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, "empty"), 0o755) }, func(_, dst string) bool {
			st, err := os.Lstat(filepath.Join(dst, "empty"))
			return err == nil && st.IsDir()
		}},
		{"time of a directory", func(dir string) error {
			at := filepath.Join(dir, "aged")
			return errors.Join(os.Mkdir(at, 0o755), file("aged/in")(dir), os.Chtimes(at, time.Unix(1e9, 7), time.Unix(1e9, 7)))
		}, func(src, dst string) bool { a, c, ok := stats(src, dst, "aged"); return ok && a.Mtim == c.Mtim }},
		{"fifo", func(dir string) error { return unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600) }, func(_, dst string) bool {
			st, err := os.Lstat(filepath.Join(dst, "fifo"))
			return err == nil && st.Mode()&fs.ModeNamedPipe != 0
		}},
		{"a path beyond PATH_MAX", func(dir string) error { return walk(dir, deep, true) }, func(_, dst string) bool { return walk(dst, deep, false) == nil }},
	}
}

// walk goes down a path part by part, as it is too long for one call.
func walk(dir string, parts []string, create bool) error {
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for _, p := range parts {
		if err != nil {
			return err
		}
		if create {
			err = unix.Mkdirat(fd, p, 0o755)
		}
		next := -1
		if err == nil {
			next, err = unix.Openat(fd, p, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		_ = unix.Close(fd) // was only walked through
		fd = next
	}
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// hostileTree makes the source, and names what this file system and user could have of it.
func (b *bench) hostileTree() (made []string, err error) {
	if err := errors.Join(os.RemoveAll(b.src), os.Mkdir(b.src, 0o755)); err != nil {
		return nil, err
	}
	for _, p := range properties() {
		if err := p.make(b.src); err != nil {
			return nil, fmt.Errorf("make %s: %w", p.name, err)
		}
		made = append(made, p.name)
	}
	return made, nil
}

// lost names what the target does not have as the source has it.
func (b *bench) lost() (names []string) {
	for _, p := range properties() {
		if !p.kept(b.src, b.dst) {
			names = append(names, p.name)
		}
	}
	return names
}
