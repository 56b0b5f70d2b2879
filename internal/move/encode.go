package move

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds of a decoded entry, each at least what Linux lets a file system hold.
const (
	MaxPath   = 1 << 20 // paths beyond PATH_MAX are walked part by part
	MaxTarget = 1 << 16
	MaxXattrs = 1 << 14
	MaxValue  = 1 << 16
)

// AppendEntry appends the encoding of an entry: numbers as varints, strings and values
// after their lengths, in the order of the fields.
func AppendEntry(b []byte, e *Entry) []byte {
	b = binary.AppendUvarint(b, e.ID)
	b = appendString(b, e.Path)
	for _, n := range []uint64{uint64(e.Kind), uint64(e.Mode), uint64(e.UID), uint64(e.GID)} {
		b = binary.AppendUvarint(b, n)
	}
	for _, n := range []int64{e.Mtime.Sec, e.Mtime.Nsec, e.Ctime.Sec, e.Ctime.Nsec, e.Size} {
		b = binary.AppendVarint(b, n)
	}
	flags := uint64(0)
	if e.Linked {
		flags |= 1
	}
	if e.Sparse {
		flags |= 2
	}
	if e.Stood {
		flags |= 4
	}
	for _, n := range []uint64{e.Node.Dev, e.Node.Ino, uint64(e.Links), uint64(e.Major), uint64(e.Minor), flags} {
		b = binary.AppendUvarint(b, n)
	}
	b = appendString(appendString(b, e.Target), e.First)
	b = binary.AppendUvarint(b, uint64(len(e.Xattrs)))
	for _, x := range e.Xattrs {
		b = appendString(appendString(b, x.Name), string(x.Value))
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errShort is an encoding that ends too early or holds a number out of its bounds.
var errShort = errors.New("cut short or out of bounds")

// reader takes an encoding apart; after an error every further value is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) uvarint(limit uint64) uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > limit {
		r.b, r.err = nil, errShort
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.b, r.err = nil, errShort
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) text(limit uint64) string {
	n := r.uvarint(limit)
	if n > uint64(len(r.b)) {
		r.b, r.err = nil, errShort
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

// DecodeEntry is the inverse of AppendEntry; rest is what follows. An entry whose numbers,
// kinds or paths could not have come from a scan is refused.
func DecodeEntry(b []byte) (e *Entry, rest []byte, err error) {
	const u32, u64 = 1<<32 - 1, 1<<64 - 1
	r := &reader{b: b}
	e = &Entry{ID: r.uvarint(u64), Path: r.text(MaxPath), Kind: Kind(r.uvarint(uint64(BlockDevice)))}
	e.Mode, e.UID, e.GID = uint32(r.uvarint(0o7777)), uint32(r.uvarint(u32)), uint32(r.uvarint(u32))
	e.Mtime = Time{r.varint(), r.varint()}
	e.Ctime = Time{r.varint(), r.varint()}
	e.Size = r.varint()
	e.Node = Node{r.uvarint(u64), r.uvarint(u64)}
	e.Links, e.Major, e.Minor = uint32(r.uvarint(u32)), uint32(r.uvarint(u32)), uint32(r.uvarint(u32))
	flags := r.uvarint(7)
	e.Linked, e.Sparse, e.Stood = flags&1 != 0, flags&2 != 0, flags&4 != 0
	e.Target, e.First = r.text(MaxTarget), r.text(MaxPath)
	for range r.uvarint(MaxXattrs) {
		if r.err != nil {
			break
		}
		e.Xattrs = append(e.Xattrs, Xattr{r.text(256), []byte(r.text(MaxValue))})
	}
	if r.err != nil {
		return nil, nil, fmt.Errorf("decode entry: %w", r.err)
	}
	return e, r.b, e.Check()
}

// Check says why an entry that was received is refused.
func (e *Entry) Check() error {
	if err := CheckPath(e.Path); err != nil {
		return err
	}
	nsec := func(t Time) bool { return t.Nsec >= 0 && t.Nsec < 1e9 }
	switch {
	case e.Kind == 0 || e.Kind > BlockDevice:
		return fmt.Errorf("entry %s is of kind %d", Quote(e.Path), e.Kind)
	case e.Path == "" && e.Kind != Directory:
		return fmt.Errorf("the root is a %v", e.Kind)
	case e.Size < 0 || !nsec(e.Mtime) || !nsec(e.Ctime):
		return fmt.Errorf("entry %s has a size of %d and nanoseconds of %d and %d", Quote(e.Path), e.Size, e.Mtime.Nsec, e.Ctime.Nsec)
	case e.Linked:
		return CheckPath(e.First)
	}
	return nil
}
