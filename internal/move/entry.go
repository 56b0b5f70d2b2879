// Package move is the data mover's vocabulary: what a tree is made of (Entry), how a
// file's data are cut and hashed (Block, Root), what could not be kept (Loss), and the two
// ends of a copy (Source, Sink), whatever lies between them. It opens no file and no
// connection; tree reads, place writes, local and wire bring them together. It refuses to
// read names as text: they are bytes, never normalised, and only a Quote is for people.
package move

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind of an entry of a tree.
type Kind uint8

// The kinds.
const (
	File Kind = iota + 1
	Directory
	Symlink
	Fifo
	Socket
	CharDevice
	BlockDevice
)

// String names a kind as messages do.
func (k Kind) String() string {
	names := [...]string{"unknown", "file", "directory", "symlink", "fifo", "socket", "character device", "block device"}
	if int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// Time is a file's time: seconds since 1970, which may be below zero, and nanoseconds from
// 0 to 999,999,999. Nanoseconds in one int64 would end in 2262, ext4 ends in 2446.
type Time struct {
	Sec  int64 `json:"sec"`
	Nsec int64 `json:"nsec"`
}

// Node names an inode of one host.
type Node struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// Xattr is an extended attribute; ACLs and security labels come as such.
type Xattr struct {
	Name  string
	Value []byte
}

// Entry is one entry of a tree, as statx saw it.
type Entry struct {
	ID     uint64 // its place in the order of the scan, from 1 on; unique in a run
	Path   string // bytes, below the root, parts joined by '/'; "" is the root itself
	Kind   Kind
	Mode   uint32 // the lowest 12 bits of st_mode
	UID    uint32
	GID    uint32
	Mtime  Time
	Ctime  Time  // of the source: part of its identity, never set
	Size   int64 // Bytes; of a file only
	Node   Node  // of the source
	Links  uint32
	Major  uint32 // of a device
	Minor  uint32
	Target string // of a symlink: bytes
	Xattrs []Xattr
	First  string // the path of an entry with the same inode that came before, if there is one
	Linked bool   // First counts: this is a further name (First may be "" only for the root)
	Sparse bool   // a file that has less allocated than its size
	Stood  bool   // of a directory, in its target's own list: it was there before the copy
}

// Identity is what tells whether a file is the same and unchanged: after a change of
// content ctime differs even where mtime was set back.
type Identity struct {
	Node  Node
	Size  int64
	Mtime Time
	Ctime Time
}

// Identity of an entry.
func (e *Entry) Identity() Identity {
	return Identity{Node: e.Node, Size: e.Size, Mtime: e.Mtime, Ctime: e.Ctime}
}

// Extent is a range of a file that holds data.
type Extent struct{ Offset, Length int64 }

// CheckPath says why a path that was received is refused: a sink writes to no path that
// this refuses. Paths are relative, without empty, "." and ".." parts, parts of at most 255
// bytes, and hold no NUL.
func CheckPath(path string) error {
	if path == "" {
		return nil
	}
	if strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("path %s holds a NUL", Quote(path))
	}
	for rest, more := path, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, "/")
		switch {
		case part == "" || part == "." || part == "..":
			return fmt.Errorf("path %s has the part %q", Quote(path), part)
		case len(part) > 255:
			return fmt.Errorf("path %s has a part of %d bytes", Quote(path), len(part))
		}
	}
	return nil
}

// Quote is a name as people can read it on one line: as it is where it is plain, else in
// Go's quotes, from which the bytes can be had back.
func Quote(name string) string {
	plain := utf8.ValidString(name) && name != ""
	for _, r := range name {
		plain = plain && strconv.IsPrint(r) && r != '"' && r != '\\'
	}
	if plain {
		return name
	}
	return strconv.Quote(name)
}
