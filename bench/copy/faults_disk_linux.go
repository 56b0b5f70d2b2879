package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"linerate/internal/move/movetest/baddisk"
)

const badDiskName = "a disk of either end that cannot read, write or make durable, or is full (FUSE)"

// noFUSE is why this machine can mount no file system of a program.
func (b *bench) noFUSE() error {
	at, below := filepath.Join(b.Home, "fuse"), filepath.Join(b.Home, "fuse.below")
	if err := errors.Join(os.Mkdir(at, 0o755), os.Mkdir(below, 0o755)); err != nil {
		return err
	}
	defer func() { _, _ = os.Remove(at), os.Remove(below) }() // they go with the bench's home anyway
	d, err := baddisk.Mount(at, below)
	if err != nil {
		return err
	}
	return d.Close()
}

// diskFault draws what goes wrong, and at which end.
func (b *bench) diskFault() (source bool, f baddisk.Fault) {
	f = baddisk.Fault{Name: []string{"large", "middle", fmt.Sprintf("f%d", b.rand.IntN(200)), ""}[b.rand.IntN(4)], Err: syscall.EIO}
	place := func() {
		f.From = b.rand.Int64N(9 << 20)
		if f.Name != "large" {
			f.From = b.rand.Int64N(5 << 20)
		}
		if f.Name != "large" && f.Name != "middle" {
			f.From = 0
		}
		f.To = f.From + 1
	}
	switch b.rand.IntN(6) {
	case 0, 1:
		source, f.Op = true, baddisk.Read
		place()
	case 2:
		f.Op = baddisk.Write
		place()
	case 3:
		f.Op, f.After, f.Times = baddisk.Sync, b.rand.IntN(3), 1
	case 4: // from some time on: the disk is full, or gone
		f.Op, f.Name, f.After = baddisk.Write, "", b.rand.IntN(150)
		f.Err = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT}[b.rand.IntN(3)]
	case 5: // no inode is left
		f.Op, f.Name, f.After, f.Err = baddisk.Create, "", 3+b.rand.IntN(150), []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}[b.rand.IntN(2)]
	}
	return source, f
}

// badDisk has the disk of one end fail in the middle. Whatever is not in the target then was named,
// or the copy has said that it stopped; what has its name is right, by what the disk holds.
func (b *bench) badDisk(ctx context.Context, t *tally) (err error) {
	if err := b.tree(); err != nil {
		return err
	}
	at := filepath.Join(b.Home, "bad")
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(at)) }()
	source, f := b.diskFault()
	from, to, below := b.src, at, b.dst
	if source {
		from, to, below = at, b.dst, b.src
	}
	d, err := baddisk.Mount(at, below)
	if err != nil {
		return err
	}
	d.Set(f)
	how := []string{"copy", "--json", from + "/", to}
	if b.rand.IntN(2) == 0 { // by an agent and two movers; sshd does not see what is mounted here
		how[len(how)-1] = "localhost:" + to
	}
	out, ran := b.Command(ctx, how...).Output()
	failed := d.Failed()
	if err := errors.Join(b.alone(ctx), d.Close()); err != nil {
		return err
	}
	switch {
	case ran != nil:
		t.cut++
	case failed == 0:
		t.cases-- // it had no such operation
	}
	if bad, err := b.unnamed(out, ran); err != nil || bad {
		t.falseDone++
		fmt.Printf("%+v: exit %v, %v:\n%s\n", f, ran, err, out)
	}
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	return b.last(ctx, t)
}

// unnamed tells whether a copy keeps silent about a file that is not in the target. One that stopped
// has said so, and why.
func (b *bench) unnamed(out []byte, ran error) (bool, error) {
	var said struct {
		State  string `json:"state"`
		Error  string `json:"error"`
		Losses []struct {
			What string `json:"what"`
			Path string `json:"path"`
		} `json:"losses"`
	}
	if len(out) == 0 { // it did not begin, and has said why
		var ended *exec.ExitError
		return !errors.As(ran, &ended) || len(ended.Stderr) == 0, nil
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return true, err
	}
	if said.State == "stopped" {
		return ran == nil || said.Error == "", nil
	}
	silent := false
	err := filepath.WalkDir(b.src, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(b.src, path)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(b.dst, rel)); err == nil {
			return nil
		}
		for _, l := range said.Losses {
			if l.What == "failed" && l.Path == rel {
				return nil
			}
		}
		silent = true
		fmt.Printf("not copied and not named: %s\n", rel)
		return nil
	})
	return silent || ran == nil && len(said.Losses) > 0, err
}
