package inlab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/lab/uml"
	"linerate/internal/move/movetest/powerlog"
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
		dir := t.TempDir()
		mounted(t, dir, "-t", "tmpfs", "tmpfs") // in memory: the image is mounted again and again
		image := filepath.Join(dir, "image")
		if err := powerlog.Replay(log, image, powerDisk, func(powerlog.Entry) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := powerlog.Same(image, data, powerDisk); err == nil {
			replay(t, log, image, src)
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
	in(powerlog.Prepare)
	// Slow enough that the journal is appended to several times.
	// Through the page cache data reach the disk long after they were written, unless they are
	// waited for.
	for _, how := range []string{"yes", "no"} {
		u.run(t, "copy", "--plain", "--limit", "20MB", "--direct", how, "lab:client1:"+src+"/", "lab:client1:/mnt/logged/direct-"+how)
	}
	in(powerlog.Finish)
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

// replay looks at what the log has, wherever the disk was told to keep everything, and at some places
// between.
func replay(t *testing.T, log, image, src string) {
	t.Helper()
	p := &powerPoints{image: image, src: src}
	err := powerlog.Replay(log, image, powerDisk, func(e powerlog.Entry) error {
		if e.Begun && (e.Kept || e.Number%37 == 0) {
			p.look(t, fmt.Sprintf("entry %d of %d", e.Number, e.Of))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.look(t, "the end")
	t.Logf("%d moments looked at, %d with a journal that told of blocks (%d in all), %d files under their names at the end", p.looked, p.told, p.blocks, p.named)
	if p.looked < 20 || p.told < 3 || p.named != 2*62 {
		t.Error("too little was looked at to prove anything")
	}
}

// powerPoints are what the disk holds if the power fails, moment by moment.
type powerPoints struct {
	image, src                  string
	looked, told, blocks, named int
}

func (p *powerPoints) look(t *testing.T, when string) {
	t.Helper()
	p.looked++
	p.named = 0
	told := false
	err := powerlog.Mounted(p.image, filepath.Dir(p.image), do, func(at string) error {
		for _, how := range []string{"yes", "no"} {
			root := filepath.Join(at, "direct-"+how)
			if !is(root) {
				continue
			}
			m, err := powerlog.Look(root, p.src)
			if err != nil {
				return err
			}
			for _, bad := range append(m.Wrong, m.Ahead...) {
				t.Errorf("%s: %s", when, bad)
			}
			p.named, p.blocks = p.named+m.Named, p.blocks+m.Blocks
			told = told || m.Blocks > 0
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if told {
		p.told++
	}
}

// do runs a program whose output matters only in an error.
func do(argv ...string) error {
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%q: %w: %s", argv, err, out)
	}
	return nil
}

func is(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
