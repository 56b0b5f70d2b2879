// Package powerlog says what a disk may hold if the power fails in the middle of a copy: it replays what
// dm-log-writes has noted of the writes to it, and holds the target of each moment against the source. It
// is for tests and benches, and takes root. It shares no code with what it tests but the reader of the
// journal and the hash of a block.
package powerlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// Prepare is the script that has every write to /mnt/logged noted on the other disk of a host of a lab
// with two, in the order in which a power loss may keep them
// (Documentation/admin-guide/device-mapper/log-writes.rst).
const Prepare = `set -e
umount /dev/ubdb /dev/ubdc
modprobe dm-log-writes
echo "0 $(cat /sys/block/ubdb/size) log-writes /dev/ubdb /dev/ubdc" | dmsetup create logged
dmsetup mknodes
mkfs.ext4 -q -F -I 256 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/logged
mkdir -p /mnt/logged /tmp/source/d
mount /dev/mapper/logged /mnt/logged
sync
dmsetup message logged 0 mark begun
`

// Finish is the script that ends the log.
const Finish = `umount /mnt/logged && dmsetup remove logged && sync`

// Flags of an entry of the log (drivers/md/dm-log-writes.c).
const (
	logFlush   = 1
	logFUA     = 2
	logDiscard = 4
	logMark    = 8
	logMagic   = 0x6a736677736872
)

// Entry is one of the log.
type Entry struct {
	Number, Of uint64
	// Begun: the copy has begun by then. Kept: the disk is told to keep everything.
	Begun, Kept bool
}

// Replay makes an image of a size, in bytes, and writes what a log has to it, entry by entry; look is called before each.
func Replay(path, image string, size int64, look func(Entry) error) error {
	log, err := os.Open(path)
	if err != nil {
		return err
	}
	defer log.Close()
	out, err := os.OpenFile(image, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := out.Truncate(size); err != nil {
		return errors.Join(err, out.Close())
	}
	return errors.Join(replay(log, out, look), out.Close())
}

func replay(log, image *os.File, look func(Entry) error) error {
	head := make([]byte, 512)
	if _, err := log.ReadAt(head, 0); err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if got := binary.LittleEndian.Uint64(head); got != logMagic {
		return fmt.Errorf("read log: it begins with %#x", got)
	}
	e := Entry{Of: binary.LittleEndian.Uint64(head[16:])}
	sector := int64(binary.LittleEndian.Uint32(head[24:]))
	for at := sector; e.Number < e.Of; e.Number++ {
		if _, err := log.ReadAt(head[:32], at); err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		to, n := int64(binary.LittleEndian.Uint64(head)), int64(binary.LittleEndian.Uint64(head[8:]))
		flags, more := binary.LittleEndian.Uint64(head[16:]), n*sector
		at += sector
		e.Begun = e.Begun || flags&logMark != 0
		if flags&(logMark|logDiscard) != 0 {
			more = 0
		}
		e.Kept = flags&(logFlush|logFUA) != 0
		if err := look(e); err != nil {
			return err
		}
		if _, err := io.Copy(io.NewOffsetWriter(image, to*sector), io.NewSectionReader(log, at, more)); err != nil {
			return fmt.Errorf("replay entry %d: %w", e.Number, err)
		}
		at += more
	}
	return nil
}

// Same compares an image that was replayed with the disk: the writes of a log that lost none make the very
// disk. dm-log-writes loses some where it finds no memory for them, and goes on.
func Same(image, disk string, size int64) error {
	a, err := os.Open(image)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := os.Open(disk)
	if err != nil {
		return err
	}
	defer b.Close()
	const piece = 1 << 20
	one, two := make([]byte, piece), make([]byte, piece)
	for at := int64(0); at < size; at += piece {
		_, aerr := a.ReadAt(one, at)
		_, berr := b.ReadAt(two, at)
		if err := errors.Join(aerr, berr); err != nil {
			return err
		}
		if !bytes.Equal(one, two) {
			return fmt.Errorf("the log lacks writes: what it tells differs from the disk within the MiB at %d", at)
		}
	}
	return nil
}

// Mounted mounts a copy of an image, since a mount writes, for the time of work. Each copy has a name and
// an inode of its own: the loop device of the one before may still hold that, and mount would take it again
// with what it has cached. dir is for the copy and its mount; do runs a program.
func Mounted(image, dir string, do func(argv ...string) error, work func(root string) error) (err error) {
	at, err := os.MkdirTemp(dir, "moment-")
	if err != nil {
		return err
	}
	copied, root := filepath.Join(at, "image"), filepath.Join(at, "root")
	defer func() { err = errors.Join(err, os.RemoveAll(at)) }()
	if err := errors.Join(os.Mkdir(root, 0o755), do("cp", image, copied), do("mount", "-o", "loop", copied, root)); err != nil {
		return err
	}
	// Lazily: a program that is started at this moment has our files open until it runs.
	defer func() { err = errors.Join(do("umount", "-l", root), err) }()
	return work(root)
}

// Moment is what the target of a copy holds if the power fails at one moment.
type Moment struct {
	Named  int      // files that have their names
	Blocks int      // of files that have not, of which the journal tells
	Wrong  []string // files under their names that are not the source's, and how
	Ahead  []string // what the journal tells of and is not there
}

// Look looks at the target of a copy of src.
func Look(root, src string) (m Moment, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(d.Name(), "linerate") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		got, gerr := os.ReadFile(path)
		want, werr := os.ReadFile(filepath.Join(src, rel))
		if gerr != nil || werr != nil || !bytes.Equal(got, want) {
			m.Wrong = append(m.Wrong, fmt.Sprintf("%s has %d bytes, the source %d, and they differ (%v, %v)", rel, len(got), len(want), gerr, werr))
		}
		m.Named++
		return nil
	})
	if err != nil {
		return m, err
	}
	b, err := os.ReadFile(filepath.Join(root, journal.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil // not there yet, or not any more
	}
	if err != nil {
		return m, err
	}
	j, err := journal.Read(b)
	if err != nil {
		return m, nil // a next copy begins anew
	}
	for name, f := range j.Files {
		if err := m.hold(root, name, j.Run, f); err != nil {
			return m, err
		}
	}
	return m, nil
}

// hold holds what the journal tells of one file against its temporary file.
func (m *Moment) hold(root, name, run string, f *journal.File) error {
	temp := filepath.Join(root, filepath.Dir(name), "."+filepath.Base(name)+".linerate-"+run)
	got, err := os.ReadFile(temp)
	if errors.Is(err, fs.ErrNotExist) {
		// It has its name by then, and is compared as that.
		if _, err := os.Stat(filepath.Join(root, name)); err != nil && len(f.Blocks) > 0 {
			m.Ahead = append(m.Ahead, fmt.Sprintf("%d blocks of %s, which is not there", len(f.Blocks), name))
		}
		return nil
	}
	if err != nil {
		return err
	}
	how := move.Fast
	if f.Full {
		how = move.Full
	}
	for i, x := range f.Blocks {
		from, to := i*move.BlockSize, min((i+1)*move.BlockSize, f.Source.Size)
		if to > int64(len(got)) {
			m.Ahead = append(m.Ahead, fmt.Sprintf("block %d of %s ends at %d, the file at %d", i, name, to, len(got)))
			continue
		}
		if x.Leaf.Hash != move.Sum(how, []move.Extent{{Offset: from, Length: to - from}}, got[from:to]) {
			m.Ahead = append(m.Ahead, fmt.Sprintf("block %d of %s is not as the journal says", i, name))
		}
		m.Blocks++
	}
	return nil
}
