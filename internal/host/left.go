//go:build unix

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"linerate/internal/kernel"
)

// leftAge is how old a copy has to be that no agent holds: until its agent runs, a session has
// several steps of sshStep.
const leftAge = time.Hour

// copyName is the name that probeScript gives to the directory of a copy.
var copyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^linerate\.[A-Za-z0-9]{10}$`) })

// copyFile is the only file in such a directory.
const copyFile = "linerate"

// holdCopy keeps others from removing the copy that this agent was started from, until this
// process ends.
func (a *agent) holdCopy() error {
	f, err := os.Open(a.tuner.Program)
	if err == nil {
		a.copied = f
		err = kernel.LockOpened(f)
	}
	if err != nil {
		return fmt.Errorf("hold %s: %w", a.tuner.Program, err)
	}
	return nil
}

// tidyCopies holds the copy of this session and removes those that others left. What fails there
// costs a session nothing: it is said, and tried again by the next.
func (a *agent) tidyCopies() {
	if a.o.Deployed {
		if err := a.holdCopy(); err != nil {
			fmt.Fprintln(a.o.Log, err)
		}
	}
	removed, err := a.removeLeft()
	for _, dir := range removed {
		fmt.Fprintf(a.o.Log, "removed %s, which an earlier session left\n", dir)
	}
	if err != nil {
		fmt.Fprintln(a.o.Log, err)
	}
}

// removeLeft removes copies of linerate that sessions left which could not remove them: their
// disk had turned read-only, or the host lost its power. Of those who may remove files there,
// root removes everybody's, and others their own.
func (a *agent) removeLeft() (removed []string, err error) {
	dirs := []string{os.TempDir()}
	if a.o.Deployed {
		dirs = append(dirs, filepath.Dir(filepath.Dir(a.tuner.Program)))
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		gone, rerr := removeLeftIn(dir, a.o.Now().Add(-leftAge))
		removed, err = append(removed, gone...), errors.Join(err, rerr)
	}
	return removed, err
}

// removeLeftIn removes the copies below dir that nobody holds and that are older than before.
func removeLeftIn(dir string, before time.Time) (removed []string, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for copies of linerate: %w", err)
	}
	defer root.Close() // only names were read through it
	all, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("look for copies of linerate: %w", err)
	}
	names, err := all.Readdirnames(-1)
	err = errors.Join(err, all.Close())
	for _, name := range names {
		if !copyName().MatchString(name) {
			continue
		}
		gone, rerr := removeCopy(root, name, before)
		if rerr != nil {
			err = errors.Join(err, fmt.Errorf("remove a copy of linerate that was left: %w", rerr))
		}
		if gone {
			removed = append(removed, filepath.Join(dir, name))
		}
	}
	return removed, err
}

// removeCopy removes one copy. A directory that is another's, held, too young, or has anything
// else in it stays.
func removeCopy(root *os.Root, name string, before time.Time) (gone bool, err error) {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || !info.ModTime().Before(before) || !ours(info) {
		return false, ignoreGone(err)
	}
	d, err := root.OpenRoot(name)
	if err != nil {
		return false, ignoreGone(err)
	}
	defer d.Close() // nothing is written through it
	entries, err := fs.ReadDir(d.FS(), ".")
	if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != copyFile {
		return false, ignoreGone(err)
	}
	if len(entries) == 1 {
		if !entries[0].Type().IsRegular() {
			return false, nil
		}
		f, err := d.Open(copyFile)
		if err != nil {
			return false, ignoreGone(err)
		}
		defer f.Close() // only read: a close that fails loses nothing
		if kernel.LockOpened(f) != nil {
			return false, nil // its agent runs, or nobody can tell
		}
		if err := d.Remove(copyFile); ignoreGone(err) != nil {
			return false, err
		}
	}
	err = root.Remove(name)
	return err == nil, ignoreGone(err)
}

// ignoreGone forgives that another has removed it.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
