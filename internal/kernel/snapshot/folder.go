package snapshot

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// ArchiveExt ends the name of a recording that is one file: the files of a folder in a tar archive,
// compressed by zstd.
const ArchiveExt = ".tar.zst"

// Bounds of such a file. A recording has at most two looks.
const (
	maxPacked  = maxArchive
	maxTar     = 2*maxArchive + 1<<20 // what it unpacks to
	maxEntries = 16
)

// File is one file of a recording.
type File struct {
	Name string // without a folder
	Data []byte
}

// Folder is what holds the files of a recording: a folder, or an archive of one.
type Folder struct {
	path   string
	packed []File // of an archive, which path names
}

// OpenFolder opens a recording. An archive is read whole: one that is damaged, too large, or has
// anything but plain files without a folder is an error of kind ErrDamaged.
func OpenFolder(path string) (Folder, error) {
	if !strings.HasSuffix(path, ArchiveExt) {
		return Folder{path: path}, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return Folder{path: path}, nil
	}
	b, err := ReadPlain(path, maxPacked)
	if err != nil {
		return Folder{}, fmt.Errorf("open the recording: %w", err)
	}
	files, err := parseArchive(b)
	if err != nil {
		return Folder{}, fmt.Errorf("open the recording %s: %w: %w", path, ErrDamaged, err)
	}
	return Folder{path, files}, nil
}

// Path is a file's name, for messages and for what opens it by itself.
func (d Folder) Path(name string) string { return filepath.Join(d.path, name) }

// Names are those of its files.
func (d Folder) Names() ([]string, error) {
	var names []string
	for _, f := range d.packed {
		names = append(names, f.Name)
	}
	if d.packed != nil {
		return names, nil
	}
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Read reads one of its files, of at most so many bytes; where it has none of the name the error is
// fs.ErrNotExist.
func (d Folder) Read(name string, most int64) ([]byte, error) {
	if d.packed == nil {
		return ReadPlain(d.Path(name), most)
	}
	i := slices.IndexFunc(d.packed, func(f File) bool { return f.Name == name })
	switch {
	case i < 0:
		return nil, &fs.PathError{Op: "open", Path: d.Path(name), Err: fs.ErrNotExist}
	case int64(len(d.packed[i].Data)) > most:
		return nil, fmt.Errorf("%s is larger than %d MiB: %w", d.Path(name), most>>20, ErrDamaged)
	}
	return d.packed[i].Data, nil
}

// Host reads one of its looks, as Load does.
func (d Folder) Host(name string) (*Host, error) {
	b, err := d.Read(name, maxArchive)
	if err != nil {
		return nil, fmt.Errorf("load a recorded host: %w", err)
	}
	h := Parse(b)
	if len(h.Files) == 0 || len(h.Files) > maxMembers {
		return nil, fmt.Errorf("load a recorded host: %s holds %d files: %w", d.Path(name), len(h.Files), ErrDamaged)
	}
	return h, h.complete()
}

// parseArchive unpacks an archive, never nil.
func parseArchive(b []byte) ([]File, error) {
	z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	files, left, room := []File{}, &io.LimitedReader{R: z, N: maxTar}, int64(maxTar)
	for r := tar.NewReader(left); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, bounded(left, err)
		}
		known := slices.ContainsFunc(files, func(f File) bool { return f.Name == h.Name })
		switch {
		case len(files) == maxEntries:
			return nil, fmt.Errorf("it has more than %d files", maxEntries)
		case h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%q is no plain file", h.Name)
		case h.Name == "" || strings.ContainsAny(h.Name, `/\:`+"\x00") || strings.HasPrefix(h.Name, ".") || known:
			return nil, fmt.Errorf("%q is no name of a file of a recording", h.Name)
		}
		// A sparse file of a few bytes may be of any size.
		if room -= h.Size; room < 0 {
			return nil, errTooLarge
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, bounded(left, err)
		}
		files = append(files, File{h.Name, data})
	}
}

var errTooLarge = fmt.Errorf("it unpacks to more than %d MiB", maxTar>>20)

// bounded says of an error whether it comes from the bound.
func bounded(left *io.LimitedReader, err error) error {
	if left.N <= 0 {
		return errTooLarge
	}
	return err
}

// WriteArchive writes files into a new archive that their owner alone may read, and tells its size. It
// is whole or not there; one that is there already is fs.ErrExist.
func WriteArchive(path string, files []File) (int, error) {
	b, err := packArchive(files)
	if err != nil {
		return 0, fmt.Errorf("pack the recording: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".linerate-*")
	if err != nil {
		return 0, err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
	if err == nil {
		// Looked at as late as can be: not every file system has links, which would refuse by themselves.
		if _, err = os.Lstat(path); err == nil {
			err = &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		} else if errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(f.Name()))
	}
	return len(b), nil
}

// packArchive is the archive: the same files give the same bytes, and nothing tells who made it.
func packArchive(files []File) ([]byte, error) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4<<20))
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: 0o600, Size: int64(len(f.Data))}))
		_, e := w.Write(f.Data)
		err = errors.Join(err, e)
	}
	err = errors.Join(err, w.Close(), z.Close())
	return b.Bytes(), err
}
