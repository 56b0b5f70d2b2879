package inlab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/lab/uml"
	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// powerLab is a host with a kernel of its own, a disk, and one that the writes to it are
// logged on.
const powerLab = `name: power
title: a host whose disk's writes are logged
hosts:
  client1:
    interfaces:
      eth0: {address: 10.10.0.1/24}
    disks: {data: {size: 256MiB}, log: {size: 512MiB}}
  server1:
    interfaces:
      eth0: {address: 10.10.0.2/24}
links:
  - {between: [client1.eth0, server1.eth0], rate: 1Gbit/s, rtt: 200us}
flow: {from: [client1], to: server1, via: eth0}
`

// prepareLog has every write to /mnt/logged noted on the other disk, in the order in which a
// power loss may keep them (Documentation/admin-guide/device-mapper/log-writes.rst).
const prepareLog = `set -e
umount /dev/ubdb /dev/ubdc
modprobe dm-log-writes
dmsetup create logged --table "0 $(cat /sys/block/ubdb/size) log-writes /dev/ubdb /dev/ubdc"
dmsetup mknodes
mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/logged
mkdir -p /mnt/logged /tmp/source/d
mount /dev/mapper/logged /mnt/logged
sync
`

// Power may fail at any moment of a copy: whatever of its writes the disk has then, what has
// its name is whole and right, and the journal of large files tells of no block that is not
// there.
func TestPowerLossAtEveryPointOfACopy(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	labtest.Needs(t, labtest.Root, labtest.Namespaces, "linux.uml", "dmsetup", "modprobe", "mkfs.ext4", "mount", "umount", "losetup")
	src := filepath.Join(t.TempDir(), "source")
	powerSource(t, src)
	if _, err := uml.Find("/"); err != nil {
		t.Skip(err)
	}
	binary := built.Program(t, "linerate", "linerate/cmd/linerate")
	const tries = 3
	for try := range tries {
		data, log := logged(t, binary, src)
		if err := whole(t, data, log); err == nil {
			replay(t, log, src, true)
			return
		} else if t.Logf("try %d: %v", try+1, err); try == tries-1 {
			t.Error("the log was never whole, so that it proves nothing")
		}
	}
}

// logged copies src twice in the lab, which is down by then, and returns what the disk holds
// and the log of the writes to it.
func logged(t *testing.T, binary, src string) (data, log string) {
	t.Helper()
	u := newLabUser(t, 0)
	u.exe = binary
	file := filepath.Join(t.TempDir(), "power.yaml")
	if err := os.WriteFile(file, []byte(powerLab), 0o644); err != nil {
		t.Fatal(err)
	}
	u.run(t, "lab", "up", file, "--kernel", "client1")
	in := func(script string, args ...string) {
		u.run(t, append([]string{"lab", "exec", "client1", "--", "sh", "-c", script}, args...)...)
	}
	in(prepareLog)
	in(`dmsetup message logged 0 mark begun`)
	// Slow enough that the journal is appended to several times.
	// Through the page cache data reach the disk long after they were written, unless they are
	// waited for.
	for _, how := range []string{"yes", "no"} {
		u.run(t, "copy", "--plain", "--limit", "20MB", "--direct", how, "lab:client1:"+src+"/", "lab:client1:/mnt/logged/direct-"+how)
	}
	in(`umount /mnt/logged && dmsetup remove logged && sync`)
	found, err := filepath.Glob(filepath.Join(u.dir, "linerate", "lab-*", "client1", "kernel", "disk-[dl]*"))
	if err != nil || len(found) != 2 {
		t.Fatalf("%q, %v", found, err)
	}
	kept := t.TempDir()
	for _, path := range found {
		if out, err := exec.Command("cp", "--sparse=always", path, kept).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	u.run(t, "lab", "down")
	return filepath.Join(kept, "disk-data"), filepath.Join(kept, "disk-log")
}

// whole holds the log against the disk: the writes of a log that lost none make the very disk.
// dm-log-writes loses some where it finds no memory for them, and goes on.
func whole(t *testing.T, data, log string) error {
	t.Helper()
	image, err := os.Open(replay(t, log, "", false))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	disk, err := os.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	const piece = 1 << 20
	a, b := make([]byte, piece), make([]byte, piece)
	for at := int64(0); at < powerDisk; at += piece {
		if _, err := image.ReadAt(a, at); err != nil {
			t.Fatal(err)
		}
		if _, err := disk.ReadAt(b, at); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("the log lacks writes: what it tells differs from the disk within the MiB at %d", at)
		}
	}
	return nil
}

// powerDisk is the size of the disk whose writes are logged.
const powerDisk = 256 << 20

func powerSource(t *testing.T, src string) {
	t.Helper()
	write := func(name string, n int) {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte((i*2654435761 + n) >> 13)
		}
		path := filepath.Join(src, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("large", 68<<20+321)
	write("middle", 3<<20+7)
	for i := range 60 {
		write(fmt.Sprintf("d%d/f%d", i%4, i), 100+i*613)
	}
}

// Flags of an entry of the log (drivers/md/dm-log-writes.c).
const (
	logFlush   = 1
	logFUA     = 2
	logDiscard = 4
	logMark    = 8
	logMagic   = 0x6a736677736872
)

// replay writes what the log has to an image, entry by entry, and looks at it, if it is to,
// wherever the disk was told to keep everything, and at some places between.
func replay(t *testing.T, path, src string, looks bool) (filled string) {
	t.Helper()
	log, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	head := make([]byte, 512)
	if _, err := io.ReadFull(log, head); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint64(head); got != logMagic {
		t.Fatalf("the log begins with %#x", got)
	}
	entries, sector := binary.LittleEndian.Uint64(head[16:]), int64(binary.LittleEndian.Uint32(head[24:]))
	dir := t.TempDir()
	// In memory: the image is mounted again and again.
	mounted(t, dir, "-t", "tmpfs", "tmpfs")
	image, err := os.OpenFile(filepath.Join(dir, "image"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if err := image.Truncate(powerDisk); err != nil {
		t.Fatal(err)
	}
	p := &powerPoint{dir: dir, src: src}
	at, begun := sector, false
	for i := range entries {
		if _, err := log.ReadAt(head[:32], at); err != nil {
			t.Fatal(err)
		}
		to, n := int64(binary.LittleEndian.Uint64(head)), int64(binary.LittleEndian.Uint64(head[8:]))
		flags, more := binary.LittleEndian.Uint64(head[16:]), n*sector
		at += sector
		switch {
		case flags&logMark != 0:
			begun, more = true, 0
		case flags&logDiscard != 0:
			more = 0
		}
		if looks && begun && (flags&(logFlush|logFUA) != 0 || i%37 == 0) {
			p.look(t, fmt.Sprintf("entry %d of %d", i, entries))
		}
		if more > 0 {
			if _, err := io.Copy(io.NewOffsetWriter(image, to*sector), io.NewSectionReader(log, at, more)); err != nil {
				t.Fatal(err)
			}
			at += more
		}
	}
	if !looks {
		return image.Name()
	}
	p.look(t, "the end")
	t.Logf("%d entries of the log; %d moments looked at, %d with a journal that told of blocks (%d in all), %d files under their names at the end", entries, p.looked, p.told, p.blocks, p.named)
	if p.looked < 20 || p.told < 3 || p.named != 2*62 {
		t.Error("too little was looked at to prove anything")
	}
	return image.Name()
}

// powerPoint is what the disk holds if the power fails at one moment.
type powerPoint struct {
	dir, src                    string
	looked, told, blocks, named int
}

func (p *powerPoint) look(t *testing.T, when string) {
	t.Helper()
	p.looked++
	// A mount writes: to a copy of it. Each has a name and an inode of its own: the loop device of
	// the one before may still hold that, and mount would take it again with what it has cached.
	copied, at := filepath.Join(p.dir, fmt.Sprintf("copied-%d", p.looked)), filepath.Join(p.dir, "at")
	defer os.Remove(copied)
	if out, err := exec.Command("cp", "--sparse=always", filepath.Join(p.dir, "image"), copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "loop", copied, at).CombinedOutput(); err != nil {
		t.Fatalf("%s: mount: %v: %s", when, err, out)
	}
	defer func() {
		// Lazily: a program that another test starts at this moment has our files open until it runs.
		if out, err := exec.Command("umount", "-l", at).CombinedOutput(); err != nil {
			t.Fatalf("umount: %v: %s", err, out)
		}
	}()
	p.named = 0
	for _, how := range []string{"yes", "no"} {
		if root := filepath.Join(at, "direct-"+how); is(root) {
			p.files(t, when, root)
			p.journal(t, when, root)
		}
	}
}

func is(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// files compares what has its name with the source.
func (p *powerPoint) files(t *testing.T, when, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(d.Name(), "linerate") {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		got, gerr := os.ReadFile(path)
		want, werr := os.ReadFile(filepath.Join(p.src, rel))
		if gerr != nil || werr != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %s has %d bytes, the source %d, and they differ (%v, %v)", when, rel, len(got), len(want), gerr, werr)
		}
		p.named++
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

// journal holds what the journal tells against what the temporary files hold.
func (p *powerPoint) journal(t *testing.T, when, root string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, journal.Name))
	if err != nil {
		return // not there yet, or not any more
	}
	j, err := journal.Read(b)
	if err != nil {
		return // a next copy begins anew
	}
	some := false
	for name, f := range j.Files {
		temp := filepath.Join(root, filepath.Dir(name), "."+filepath.Base(name)+".linerate-"+j.Run)
		st, err := os.Stat(temp)
		if err != nil {
			if len(f.Blocks) > 0 { // it has its name by then, and is compared as that
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Errorf("%s: the journal tells of %d blocks of %s, which is not there", when, len(f.Blocks), name)
				}
			}
			continue
		}
		got, err := os.ReadFile(temp)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range f.Blocks {
			from, to := i*move.BlockSize, min((i+1)*move.BlockSize, f.Source.Size)
			if to > st.Size() {
				t.Errorf("%s: block %d of %s ends at %d, the file at %d", when, i, name, to, st.Size())
				continue
			}
			if x.Leaf.Hash != move.Sum(move.Fast, []move.Extent{{Offset: from, Length: to - from}}, got[from:to]) {
				t.Errorf("%s: block %d of %s is not as the journal says", when, i, name)
			}
			some = true
			p.blocks++
		}
	}
	if some {
		p.told++
	}
}

// mounted mounts something for the time of a test. A loop device lets its image go some time
// after it was unmounted.
func mounted(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}
