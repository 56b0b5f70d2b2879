// Package scratch makes the directories that loads write their files in, and removes those that
// a load of this host left when it was killed. A load holds a lock in its directory for as long
// as it lives; the kernel releases it, whatever ended the load.
package scratch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	prefix   = "linerate-"
	lockName = ".lock"
	// mostNames bounds how much of a directory is looked through for what was left.
	mostNames = 10_000
)

// Dir is a directory of a load at work.
type Dir struct {
	Path string
	held io.Closer
}

// Make makes a directory for a load of some kind, a word, below dir. What was left there is
// removed first; that it cannot be is no error, and its paths come back.
func Make(dir, kind string) (d *Dir, left []string, err error) {
	mine, err := nameOf(kind)
	if err != nil {
		return nil, nil, err
	}
	left = sweep(dir, mine)
	root, err := os.MkdirTemp(dir, mine)
	if err != nil {
		return nil, left, err
	}
	held, err := hold(root)
	if err != nil {
		return nil, left, errors.Join(fmt.Errorf("hold %s: %w", root, err), os.RemoveAll(root))
	}
	return &Dir{Path: root, held: held}, left, nil
}

// Remove removes the directory with all that is in it. The lock is given up before: a file that
// is open stays on an SMB server, and on an NFS server under another name. Another start of this
// host may then remove the directory as well, which is as good.
func (d *Dir) Remove() error { return errors.Join(d.held.Close(), os.RemoveAll(d.Path)) }

// nameOf begins the names of this host's directories of a kind. Several hosts may mount one
// directory, and not every server tells one of the other's locks.
func nameOf(kind string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name a directory: %w", err)
	}
	sum := sha256.Sum256([]byte(host))
	return prefix + kind + "-" + hex.EncodeToString(sum[:4]) + "-", nil
}

// sweep removes what loads of this host left that are no more.
func sweep(dir, mine string) (left []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil // making one there says so
	}
	defer f.Close()                  // only read: a close that fails loses nothing
	names, _ := f.ReadDir(mostNames) // of what cannot be listed nothing is removed
	for _, e := range names {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), mine) || !abandoned(path) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			left = append(left, path)
		}
	}
	return left
}
