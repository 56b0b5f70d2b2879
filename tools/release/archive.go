package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// file is one of an archive: where it lies, and its path there.
type file struct {
	from, to string
	mode     int64
}

// contents are the files of an archive for a system.
func (r *release) contents(t target) ([]file, error) {
	var all []file
	for _, p := range programs(t) {
		name := p
		if t.os == "windows" {
			name += ".exe"
		}
		all = append(all, file{r.built(t, p), name, 0o755})
	}
	all = append(all, []file{
		{filepath.Join(r.root, "LICENSE"), "LICENSE", 0o644},
		{filepath.Join(r.root, "README.md"), "README.md", 0o644},
	}...)
	if t.os == "windows" {
		return all, nil
	}
	pages, err := filepath.Glob(filepath.Join(r.work, "man", "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("find manual pages: %d (%w)", len(pages), err)
	}
	for _, p := range pages {
		all = append(all, file{p, "man/man1/" + filepath.Base(p), 0o644})
	}
	for _, c := range []string{"linerate.bash", "_linerate", "linerate.fish"} {
		all = append(all, file{filepath.Join(r.work, c), "completions/" + c, 0o644})
	}
	return all, nil
}

// archiveName is the name of an archive without its ending, and of the directory in it.
func archiveName(version string, t target) string {
	return strings.Join([]string{"linerate", version, t.os, t.arch}, "_")
}

// archive makes the tar.gz of a system, or the zip of Windows.
func (r *release) archive(t target) error {
	files, err := r.contents(t)
	if err != nil {
		return err
	}
	base := archiveName(r.version, t)
	name, write := base+".tar.gz", r.tarball
	if t.os == "windows" {
		name, write = base+".zip", r.zipfile
	}
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return fmt.Errorf("make archive: %w", err)
	}
	r.add(name)
	if err := errors.Join(write(f, base, files), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (r *release) tarball(w io.Writer, base string, files []file) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		head := &tar.Header{Name: base + "/" + f.to, Mode: f.mode, Size: int64(len(data)), ModTime: r.date, Format: tar.FormatPAX}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		if _, err := t.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func (r *release) zipfile(w io.Writer, base string, files []file) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		head := &zip.FileHeader{Name: base + "/" + f.to, Method: zip.Deflate, Modified: r.date}
		head.SetMode(os.FileMode(f.mode))
		part, err := z.CreateHeader(head)
		if err != nil {
			return err
		}
		if _, err := part.Write(data); err != nil {
			return err
		}
	}
	return z.Close()
}
