package qemu

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// libDirs are the directories that the loader searches by default.
func libDirs() []string {
	return []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
}

// packInit packs the program of the first process with the libraries that it is linked with; a
// static program has none. They have to be in the archive because the first process mounts all
// other files.
func packInit(a *archive, program string) error {
	needs, err := linkedWith(program)
	if err != nil {
		return fmt.Errorf("read init: %w", err)
	}
	made := map[string]bool{}
	for _, file := range needs {
		packDirs(a, made, path.Dir(file[1:]))
		if err := packFile(a, file[1:], file); err != nil {
			return err
		}
	}
	return packFile(a, initName, program)
}

func packDirs(a *archive, made map[string]bool, dir string) {
	if dir == "." || made[dir] {
		return
	}
	packDirs(a, made, path.Dir(dir))
	made[dir] = true
	a.dir(dir)
}

func packFile(a *archive, name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	a.file(name, 0o755, st.Size(), io.NewSectionReader(f, 0, st.Size()))
	return a.err
}

// linkedWith lists the loader and the libraries that a program is linked with, and their own
// libraries in turn.
func linkedWith(program string) ([]string, error) {
	var out []string
	for todo := []string{program}; len(todo) > 0; todo = todo[1:] {
		loader, libs, err := readELF(todo[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", todo[0], err)
		}
		if loader != "" && !path.IsAbs(loader) {
			return nil, fmt.Errorf("%s: its loader is %q", todo[0], loader)
		}
		for _, lib := range libs {
			file, ok := findLibrary(lib)
			if !ok {
				return nil, fmt.Errorf("%s: it is linked with %s, which is in none of %s; build it with CGO_ENABLED=0", todo[0], lib, strings.Join(libDirs(), " "))
			}
			if !slices.Contains(out, file) {
				out, todo = append(out, file), append(todo, file)
			}
		}
		if loader != "" && !slices.Contains(out, loader) {
			out = append(out, loader)
		}
	}
	return out, nil
}

func readELF(file string) (loader string, libs []string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 {
		return "", nil, fmt.Errorf("it is for %s, the machine is %s", f.Machine, elf.EM_X86_64)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
		if err != nil {
			return "", nil, err
		}
		loader = string(bytes.TrimRight(b, "\x00"))
	}
	if f.Section(".dynamic") == nil {
		return loader, nil, nil
	}
	libs, err = f.ImportedLibraries()
	return loader, libs, err
}

func findLibrary(name string) (string, bool) {
	for _, dir := range libDirs() {
		file := path.Join(dir, name)
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
			return file, true
		}
	}
	return "", false
}
