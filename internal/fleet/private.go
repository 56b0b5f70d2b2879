package fleet

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// maxFile bounds a private file: the list of some 50,000 hosts.
const maxFile = 32 << 20

// ReadPrivateText reads a file with secrets; one that others may read is refused.
func ReadPrivateText(path string) ([]byte, error) {
	i, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if !i.Mode().IsRegular() || i.Mode().Perm()&0o077 != 0 || i.Size() > maxFile {
		return nil, fmt.Errorf("read %s (%s, %d bytes): want a file that its owner alone may read", path, i.Mode(), i.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

// ReadPrivate reads a JSON file with secrets, as ReadPrivateText does.
func ReadPrivate(path string, v any) error {
	b, err := ReadPrivateText(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// WritePrivate replaces a JSON file by a whole one that its owner alone may read, and that is on
// the disk when it returns.
func WritePrivate(path string, v any) (err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if len(b) >= maxFile {
		return fmt.Errorf("write %s: %d bytes, and at most %d are read again", path, len(b), maxFile)
	}
	next := path + "." + rand.Text()[:8]
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(next)))
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir puts the names in a directory on the disk.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	return nil
}

// ReadCredential reads a credential from its file.
func ReadCredential(path string) (Credential, error) {
	var c Credential
	if err := ReadPrivate(path, &c); err != nil {
		return c, err
	}
	if c.V != 1 {
		return c, fmt.Errorf("read %s: it is of version %d, and this linerate knows 1", path, c.V)
	}
	return c, nil
}
