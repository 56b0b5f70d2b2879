package tune

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrState: the state directory, or a file in it, may be somebody else's. Root writes there and
// starts what lies there, so nothing of it is used.
var ErrState = errors.New("not safe to use")

// newSuffix ends the name of what is written beside its place before it is moved there.
const newSuffix = ".new"

// state is the state directory, held open: whoever can rename the directories above it cannot
// have another one written to half way.
type state struct {
	path string
	root *os.Root
}

// openState opens a directory that only its owner, who is root or this user, can write to. An
// error is fs.ErrNotExist where there is none, and ErrState where it is a link or may be
// somebody else's.
func openState(path string) (*state, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("look at state directory: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("use state directory %s: %w: it is a %s: name the directory itself", path, ErrState, kindOf(info))
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open state directory: %w", err)
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("use state directory %s: %w: it was replaced while it was opened", path, ErrState)
	}
	if err == nil {
		err = ownDir(path, opened)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &state{path: path, root: root}, nil
}

// ownDir refuses a directory that another user may have written to.
func ownDir(path string, info fs.FileInfo) error {
	if who, ok := foreignOwner(info); ok {
		return fmt.Errorf("use state directory %s: %w: it belongs to user %d, who could put files there for root to run: see what is in it, then chown root it, or name another", path, ErrState, who)
	}
	if othersWrite(info) {
		return fmt.Errorf("use state directory %s: %w: others may write to it (mode %v): see what is in it, then chmod 700 it, or name another", path, ErrState, info.Mode().Perm())
	}
	return nil
}

func (d *state) close() error { return d.root.Close() }

// full is the path of a name for messages and for other programs.
func (d *state) full(name string) string { return filepath.Join(d.path, name) }

// openTries bounds the tries to open a file that another process makes or removes meanwhile.
const openTries = 5

// open opens a plain file of ours, or makes one where flag has os.O_CREATE. It follows no link.
func (d *state) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	for try := 1; ; try++ {
		info, err := d.root.Lstat(name)
		absent := errors.Is(err, fs.ErrNotExist)
		switch {
		case absent && flag&os.O_CREATE != 0:
			f, err := d.root.OpenFile(name, flag|os.O_EXCL|noFollow, perm)
			if errors.Is(err, fs.ErrExist) && try < openTries {
				continue
			}
			return f, err
		case err != nil:
			return nil, err
		}
		if err := d.ownFile(name, info); err != nil {
			return nil, err
		}
		f, err := d.root.OpenFile(name, flag&^os.O_CREATE|noFollow, 0)
		if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 && try < openTries {
			continue // removed in between
		}
		if err != nil {
			return nil, err
		}
		now, err := f.Stat()
		if err == nil && os.SameFile(info, now) {
			return f, nil
		}
		err = errors.Join(err, f.Close())
		if err != nil || try == openTries {
			return nil, errors.Join(fmt.Errorf("open %s: %w: it is replaced again and again", d.full(name), ErrState), err)
		}
	}
}

// ownFile refuses what is no plain file of ours with this one name. Nothing tells to remove a file:
// the journal and undo.sh hold the only original values, whoever owns them after a restored backup.
func (d *state) ownFile(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("use %s: %w: it is a %s: see who put it there and what it names, then remove it", d.full(name), ErrState, kindOf(info))
	}
	if who, ok := foreignOwner(info); ok {
		return fmt.Errorf("use %s: %w: it belongs to user %d: see what is in it, then chown root it, or move it away", d.full(name), ErrState, who)
	}
	if n := namesOf(info); n > 1 {
		return fmt.Errorf("use %s: %w: the file has %d names: see what is in it, then put a copy in its place, or move it away", d.full(name), ErrState, n)
	}
	return nil
}

func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode.IsDir():
		return "directory"
	case mode.IsRegular():
		return "file"
	default:
		return "special file"
	}
}

// read returns a file of ours of at most limit bytes.
func (d *state) read(name string, limit int64) ([]byte, error) {
	f, err := d.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read: a close that fails loses nothing
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("read %s: larger than %d bytes", d.full(name), limit)
	}
	return b, err
}

// replace has what from gives at name, whole, or what was there before, whatever happens. What a
// kill left of an earlier try, or somebody planted there, is removed and never opened.
func (d *state) replace(name string, perm fs.FileMode, from io.Reader) error {
	fresh := name + newSuffix
	if err := d.remove(fresh); err != nil {
		return err
	}
	if err := d.write(fresh, perm, from); err != nil {
		return errors.Join(err, d.remove(fresh))
	}
	if err := d.root.Rename(fresh, name); err != nil {
		return err
	}
	return d.sync()
}

// write makes a new file, and syncs it.
func (d *state) write(name string, perm fs.FileMode, from io.Reader) error {
	if perm&0o111 != 0 {
		// A process that another goroutine starts holds this file open for writing until it
		// executes its own program, and the kernel executes no such file (ETXTBSY). So none
		// starts meanwhile.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
	}
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}

// remove removes a name, if it is there.
func (d *state) remove(name string) error {
	if err := d.removeIn(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sync makes the names durable.
func (d *state) sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(syncOpened(f), f.Close())
}
