package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mountEntry is a line of /proc/mounts.
type mountEntry struct {
	source, point, kind string
	options             []string
}

// findMount reads /proc/mounts of a host for the first mount whose type begins
// with kind.
func findMount(ctx context.Context, l Lab, host, kind string) (mountEntry, error) {
	return findMountIf(ctx, l, host, kind+" mount", func(m mountEntry) bool {
		return strings.HasPrefix(m.kind, kind) && m.kind != "nfsd"
	})
}

// findMountIf returns the first mount for which will returns true.
func findMountIf(ctx context.Context, l Lab, host, what string, will func(mountEntry) bool) (mountEntry, error) {
	text, err := readHostFile(ctx, l, host, "/proc/mounts")
	if err != nil {
		return mountEntry{}, err
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		if m := (mountEntry{f[0], f[1], f[2], strings.Split(f[3], ",")}); will(m) {
			return m, nil
		}
	}
	return mountEntry{}, fmt.Errorf("%s has no %s: mount one first, or name the host that has one: … at host:NAME", host, what)
}

// with returns the options with the value of name replaced.
func (m mountEntry) with(name, value string) mountEntry {
	option := name
	if value != "" {
		option += "=" + value
	}
	m.options = slices.DeleteFunc(slices.Clone(m.options), func(o string) bool {
		n, _, _ := strings.Cut(o, "=")
		return n == name
	})
	m.options = append(m.options, option)
	return m
}

// mountArgv is the command that mounts it again. The options that the kernel lists for an NFS
// mount are complete; those of an SMB mount lack the password, which only the mount helper
// reads.
func (m mountEntry) mountArgv(l Lab) []string {
	if m.kind != "cifs" {
		return []string{"mount", "-i", "-t", m.kind, "-o", strings.Join(m.options, ","), m.source, m.point}
	}
	if login, ok := l.(loginFile); ok && login.SMBLogin() != "" {
		m = m.with("credentials", login.SMBLogin())
	}
	return []string{"mount", "-t", m.kind, "-o", strings.Join(m.options, ","), m.source, m.point}
}

// again unmounts was and mounts m in its place; if that fails, it mounts was again.
func (m mountEntry) again(ctx context.Context, l Lab, host string, was mountEntry) error {
	ahead, err := was.readAhead(ctx, l, host)
	if err != nil {
		return err
	}
	if _, err := l.Run(ctx, host, "umount", was.point); err != nil {
		return fmt.Errorf("unmount %s on %s: %w", was.point, host, err)
	}
	_, err = l.Run(ctx, host, m.mountArgv(l)...)
	mounted := err == nil
	if mounted {
		err = m.setReadAhead(ctx, l, host, ahead)
	}
	if err == nil {
		return nil
	}
	err, ctx = fmt.Errorf("mount %s on %s: %w", m.point, host, err), context.WithoutCancel(ctx)
	if mounted {
		_, off := l.Run(ctx, host, "umount", m.point)
		err = errors.Join(err, off)
	}
	_, back := l.Run(ctx, host, was.mountArgv(l)...)
	return errors.Join(err, back, was.setReadAhead(ctx, l, host, ahead))
}

// readAhead returns the read-ahead of the mount, in KiB; empty if it cannot be set. A mount
// that is mounted again starts with the kernel's default.
func (m mountEntry) readAhead(ctx context.Context, l Lab, host string) (string, error) {
	if !strings.HasPrefix(m.kind, "nfs") {
		return "", nil
	}
	file, err := m.readAheadFile(ctx, l, host)
	if err != nil {
		return "", err
	}
	return readHostFile(ctx, l, host, file)
}

func (m mountEntry) setReadAhead(ctx context.Context, l Lab, host, value string) error {
	if value == "" {
		return nil
	}
	file, err := m.readAheadFile(ctx, l, host)
	if err != nil {
		return err
	}
	return writeHostFile(ctx, l, host, file, value)
}

// readAheadFile is an attribute of the mount's backing device, which has no name: its device
// number identifies it.
func (m mountEntry) readAheadFile(ctx context.Context, l Lab, host string) (string, error) {
	dev, err := l.Run(ctx, host, "mountpoint", "-d", m.point)
	if err != nil {
		return "", fmt.Errorf("find device number of %s on %s: %w", m.point, host, err)
	}
	return "/sys/class/bdi/" + strings.TrimSpace(string(dev)) + "/read_ahead_kb", nil
}

// mountChange is a fault's change to a mount: to its options, or to a parameter of the module
// that the next mount reads.
type mountChange struct {
	options func(v float64, m mountEntry) mountEntry
	file    string
}

func mountOption(names ...string) mountChange {
	return mountChange{options: func(v float64, m mountEntry) mountEntry {
		for _, n := range names {
			m = m.with(n, strconv.Itoa(int(v)))
		}
		return m
	}}
}

func mountFlag(name string) mountChange { return mountText(name, "") }

func mountText(name, value string) mountChange {
	return mountChange{options: func(_ float64, m mountEntry) mountEntry { return m.with(name, value) }}
}

func kernelParameter(file string) mountChange { return mountChange{file: file} }

// remount applies a change to the first mount of that kind.
func remount(kind string, c mountChange) func(float64, *site) ([]effect, error) {
	return func(v float64, s *site) ([]effect, error) {
		return []effect{func(ctx context.Context, l Lab) (Undo, error) {
			return c.apply(ctx, l, s.end.Node, kind, v)
		}}, needKernel(s)
	}
}

// apply changes the module's parameter before it mounts again, and so does its undo: a mount
// reads the parameter only when it is mounted.
func (c mountChange) apply(ctx context.Context, l Lab, host, kind string, v float64) (Undo, error) {
	was, err := findMount(ctx, l, host, kind)
	if err != nil {
		return nil, err
	}
	is, fileBack := was, Undo(func(context.Context) error { return nil })
	if c.options != nil {
		is = c.options(v, was)
	}
	if c.file != "" {
		if fileBack, err = hostFile(host, c.file, strconv.Itoa(int(v)))(ctx, l); err != nil {
			return nil, err
		}
	}
	if err := is.again(ctx, l, host, was); err != nil {
		return nil, errors.Join(err, fileBack(context.WithoutCancel(ctx)))
	}
	return func(ctx context.Context) error {
		if err := fileBack(ctx); err != nil {
			return err
		}
		return was.again(ctx, l, host, is)
	}, nil
}

// readAhead sets the read-ahead of the first NFS mount.
func readAhead(v float64, s *site) ([]effect, error) {
	host := s.end.Node
	return []effect{func(ctx context.Context, l Lab) (Undo, error) {
		m, err := findMount(ctx, l, host, "nfs")
		if err != nil {
			return nil, err
		}
		file, err := m.readAheadFile(ctx, l, host)
		if err != nil {
			return nil, err
		}
		return hostFile(host, file, strconv.Itoa(int(v)))(ctx, l)
	}}, needKernel(s)
}
