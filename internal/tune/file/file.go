package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
)

// Prefix is the prefix of this mechanism's ids; the absolute path follows. A path that ends in a
// slash is a directory.
const Prefix = "linux.file."

// Absent is the value of a missing file.
const Absent = "absent"

// Allowed are the files, and directories with their contents, that may be changed.
func Allowed() []string {
	return []string{
		"/etc/fstab", "/etc/sysctl.d/", "/etc/systemd/network/", "/etc/NetworkManager/system-connections/",
		"/etc/udev/rules.d/", "/etc/modprobe.d/",
	}
}

// Setter is a setter.Setter. Its values are "absent", "dir mode:0755 uid:0 gid:0" and "file
// sha256:HEX mode:0644 uid:0 gid:0", whose text is in Store.
type Setter struct {
	Root  kernel.Root
	Store string // directory of what files held, as this process sees it
}

func (Setter) Owns(setting string) bool { return strings.HasPrefix(setting, Prefix) }

// Sets tells whether the setting id is a file's, whose text sets something, and no directory's.
func Sets(setting string) bool {
	return strings.HasPrefix(setting, Prefix) && !strings.HasSuffix(setting, "/")
}

// pathOf returns the path of a place, and whether it is a directory.
func pathOf(at setter.Place) (string, bool, error) {
	p, ok := strings.CutPrefix(at.Setting, Prefix)
	dir := strings.HasSuffix(p, "/")
	clean := path.Clean(p)
	if !ok || at.Target != "" || !path.IsAbs(p) || clean != strings.TrimSuffix(p, "/") || strings.ContainsFunc(p, unprintable) {
		return "", false, fmt.Errorf("file %q: want %s and a clean absolute path: %w", at.Setting, Prefix, setter.ErrValue)
	}
	for _, a := range Allowed() {
		if p == a || strings.HasSuffix(a, "/") && strings.HasPrefix(p, a) || dir && strings.HasPrefix(a, p) {
			return clean, dir, nil
		}
	}
	return "", false, fmt.Errorf("file %s: linerate writes no files there: %w", p, setter.ErrValue)
}

func unprintable(c rune) bool { return c < ' ' || c == 0x7f }

var valuePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(absent|dir mode:0[0-7]{3} uid:[0-9]{1,10} gid:[0-9]{1,10}|file sha256:[0-9a-f]{64} mode:[0-7]{4} uid:[0-9]{1,10} gid:[0-9]{1,10})$`)
})

func (Setter) Canonical(at setter.Place, value string) (string, error) {
	_, dir, err := pathOf(at)
	if err != nil {
		return "", err
	}
	v := strings.Join(strings.Fields(value), " ")
	if len(value) > 200 || !valuePattern().MatchString(v) || v != Absent && dir != strings.HasPrefix(v, "dir ") {
		return "", fmt.Errorf("value %.100q of %s: %w", value, at, setter.ErrValue)
	}
	return v, nil
}

func (s Setter) Read(_ context.Context, at setter.Place, _ string) (string, error) {
	p, dir, err := pathOf(at)
	if err != nil {
		return "", err
	}
	full := s.Root.Path(p)
	info, err := os.Lstat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	uid, gid, links := owner(info)
	who := fmt.Sprintf("mode:%04o uid:%d gid:%d", mode(info), uid, gid)
	switch {
	case dir && info.IsDir():
		return "dir " + who, nil
	case dir || !info.Mode().IsRegular():
		return "", fmt.Errorf("read %s: it is %v, not what it was taken for", at, info.Mode().Type())
	case links > 1:
		return "", fmt.Errorf("read %s: the file has %d names, and replacing one would part them", at, links)
	}
	b, err := s.Root.ReadFile(p)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	return "file sha256:" + hash(b) + " " + who, nil
}

func mode(info fs.FileInfo) uint32 {
	m := uint32(info.Mode().Perm())
	for bit, unix := range map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if info.Mode()&bit != 0 {
			m |= unix
		}
	}
	return m
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Value is what Read would return of a file with this text; its mode and owner are those of the
// present file, else 0644 and those of this process.
func (s Setter) Value(at setter.Place, text []byte, now string) string {
	who := fmt.Sprintf("mode:0644 uid:%d gid:%d", os.Geteuid(), os.Getegid())
	if f := strings.SplitN(now, " ", 3); len(f) == 3 && f[0] == "file" {
		who = f[2]
	}
	return "file sha256:" + hash(text) + " " + who
}

// Directory is what Read would return of a directory that Write creates.
func Directory() string {
	return fmt.Sprintf("dir mode:0755 uid:%d gid:%d", os.Geteuid(), os.Getegid())
}

// Write implements setter.Setter. A file is replaced in one step.
func (s Setter) Write(_ context.Context, at setter.Place, value string) error {
	value, err := s.Canonical(at, value)
	if err != nil {
		return err
	}
	p, _, err := pathOf(at)
	if err != nil {
		return err
	}
	full := s.Root.Path(p)
	switch kind, rest, _ := strings.Cut(value, " "); kind {
	case Absent:
		err = os.Remove(full)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case "dir":
		err = makeDir(full, parseOwner(rest))
	default:
		sum, who, _ := strings.Cut(rest, " ")
		err = s.replace(full, strings.TrimPrefix(sum, "sha256:"), parseOwner(who))
	}
	if err == nil {
		err = syncDir(filepath.Dir(full))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", at, err)
	}
	return nil
}

// ownership is the mode and the owner of a file.
type ownership struct {
	mode     uint32
	uid, gid int
}

// parseOwner parses "mode:0644 uid:0 gid:0", which valuePattern has checked.
func parseOwner(s string) ownership {
	var o ownership
	for _, f := range strings.Fields(s) {
		key, number, _ := strings.Cut(f, ":")
		base := 10
		if key == "mode" {
			base = 8
		}
		n, err := strconv.ParseInt(number, base, 64)
		if err != nil {
			continue // valuePattern admits digits only
		}
		switch key {
		case "mode":
			o.mode = uint32(n)
		case "uid":
			o.uid = int(n)
		case "gid":
			o.gid = int(n)
		}
	}
	return o
}

func makeDir(full string, o ownership) error {
	if err := os.Mkdir(full, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return give(full, o)
}

// give sets owner first: changing it drops setuid bits.
func give(full string, o ownership) error {
	return errors.Join(chown(full, o.uid, o.gid), chmod(full, o.mode))
}

// newSuffix is the suffix of a file that is not in place yet. The name is hidden and has none of
// the suffixes that the readers of these directories accept.
const newSuffix = ".linerate-new"

func newName(full string) string {
	return filepath.Join(filepath.Dir(full), "."+filepath.Base(full)+newSuffix)
}

// Tidy removes what a process that was killed during Write left.
func (s Setter) Tidy(at setter.Place) error {
	p, _, err := pathOf(at)
	if err != nil {
		return err
	}
	if err := os.Remove(newName(s.Root.Path(p))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tidy up beside %s: %w", at, err)
	}
	return nil
}

func (s Setter) replace(full, sum string, o ownership) error {
	text, err := s.kept(sum)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(full); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %v, no regular file", full, info.Mode().Type())
	}
	next := newName(full)
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, give(next, o), copyAttributes(full, next), f.Sync(), f.Close()); err == nil {
		err = os.Rename(next, full)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// Keep stores the text of a file, synced, so that Write can use it.
func (s Setter) Keep(text []byte) error {
	if err := os.MkdirAll(s.Store, 0o700); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	if info, err := os.Lstat(s.Store); err != nil || !info.IsDir() {
		return errors.Join(fmt.Errorf("keep a copy: %s is no directory of its own: see what it names, then remove it", s.Store), err)
	}
	full := filepath.Join(s.Store, hash(text))
	if have, err := os.ReadFile(full); err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := os.Remove(full + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep a copy: %w", err)
	}
	f, err := os.OpenFile(full+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(full+".new", full)
	}
	if err = errors.Join(err, syncDir(s.Store), syncDir(filepath.Dir(s.Store))); err != nil {
		return fmt.Errorf("keep a copy: %w", err)
	}
	return nil
}

func (s Setter) kept(sum string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(s.Store, sum))
	if err != nil {
		return nil, fmt.Errorf("find the kept copy: %w", err)
	}
	if hash(text) != sum {
		return nil, fmt.Errorf("the kept copy %s is damaged", filepath.Join(s.Store, sum))
	}
	return text, nil
}

// Text returns the present text of the file; false if it does not exist.
func (s Setter) Text(at setter.Place) ([]byte, bool, error) {
	p, _, err := pathOf(at)
	if err != nil {
		return nil, false, err
	}
	b, err := s.Root.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return b, err == nil, err
}
