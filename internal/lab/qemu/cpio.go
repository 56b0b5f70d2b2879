package qemu

import (
	"fmt"
	"io"
)

// File types of an archive's members, as in the mode of a file.
const (
	typeDir  = 0o040000
	typeFile = 0o100000
	typeChar = 0o020000
)

// archive writes a cpio archive of the kind that the kernel unpacks ("newc"):
// a header of hexadecimal fields, the name, the content, each padded to 4 bytes.
// The first error is kept; Close returns it.
type archive struct {
	w   io.Writer
	n   int64 // bytes written
	ino uint32
	err error
}

const cpioTrailer = "TRAILER!!!"

// maxCPIO is the longest content whose length fits the header's eight hexadecimal digits.
const maxCPIO = 1<<32 - 1

func (a *archive) dir(name string) { a.member(name, typeDir|0o755, 0, 0, 0, nil) }

func (a *archive) charDevice(name string, major, minor uint32) {
	a.member(name, typeChar|0o600, major, minor, 0, nil)
}

func (a *archive) file(name string, perm uint32, size int64, r io.Reader) {
	a.member(name, typeFile|perm, 0, 0, size, r)
}

// Close ends the archive; it does not close the writer.
func (a *archive) Close() error {
	a.ino = 0
	a.header(cpioTrailer, 0, 1, 0, 0, 0)
	return a.err
}

func (a *archive) member(name string, mode, major, minor uint32, size int64, r io.Reader) {
	if a.err == nil && size > maxCPIO {
		a.err = fmt.Errorf("%s is too large for an archive: %d bytes", name, size)
	}
	a.ino++
	links := 1
	if mode&typeDir != 0 {
		links = 2
	}
	a.header(name, mode, links, size, major, minor)
	if a.err != nil || r == nil {
		return
	}
	n, err := io.Copy(a.w, io.LimitReader(r, size))
	a.n += n
	switch {
	case err != nil:
		a.err = fmt.Errorf("%s: %w", name, err)
	case n != size:
		a.err = fmt.Errorf("%s: %w: %d of %d bytes", name, io.ErrUnexpectedEOF, n, size)
	}
	a.pad()
}

func (a *archive) header(name string, mode uint32, links int, size int64, major, minor uint32) {
	if a.err != nil {
		return
	}
	// magic, ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor,
	// rdevmajor, rdevminor, namesize (with its NUL), check
	n, err := fmt.Fprintf(a.w, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		a.ino, mode, 0, 0, links, 0, size, 0, 0, major, minor, len(name)+1, 0, name)
	a.n += int64(n)
	a.err = err
	a.pad()
}

func (a *archive) pad() {
	if rest := a.n % 4; rest != 0 && a.err == nil {
		var n int
		n, a.err = a.w.Write(make([]byte, 4-rest))
		a.n += int64(n)
	}
}
