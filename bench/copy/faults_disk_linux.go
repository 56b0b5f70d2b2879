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

// quotaOnDisk has a user's quota reached, at a write or where a file is made.
func (b *bench) quotaOnDisk(ctx context.Context, t *tally) error {
	f := baddisk.Fault{Op: baddisk.Write, After: b.rand.IntN(150), Err: syscall.EDQUOT}
	if b.rand.IntN(3) == 0 {
		f.Op, f.After = baddisk.Create, 3+b.rand.IntN(150)
	}
	return b.onBadDisk(ctx, t, false, f)
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
		f.Err = []syscall.Errno{syscall.EIO, syscall.ENOSPC}[b.rand.IntN(2)]
	case 5: // no inode is left
		f.Op, f.Name, f.After, f.Err = baddisk.Create, "", 3+b.rand.IntN(150), syscall.ENOSPC
	}
	return source, f
}

// badDisk has the disk of one end fail in the middle. Whatever is not in the target then was named,
// or the copy has said that it stopped; what has its name is right, by what the disk holds.
func (b *bench) badDisk(ctx context.Context, t *tally) error {
	source, f := b.diskFault()
	return b.onBadDisk(ctx, t, source, f)
}

func (b *bench) onBadDisk(ctx context.Context, t *tally, source bool, f baddisk.Fault) error {
	if err := b.tree(); err != nil {
		return err
	}
	below := b.dst
	if source {
		below = b.src
	}
	d, at, err := b.mountDisk(below)
	if err != nil {
		return err
	}
	from, to := b.src, at
	if source {
		from, to = at, b.dst
	}
	d.Set(f)
	how := []string{"copy", "--json", from + "/", to}
	if b.rand.IntN(2) == 0 { // by an agent and two movers
		how[len(how)-1] = b.far.name() + ":" + to
	}
	out, ran := b.Command(ctx, how...).Output()
	failed := d.Failed()
	if err := errors.Join(b.aloneIn(ctx, to), unmountDisk(ctx, d, at)); err != nil {
		return err
	}
	if failed == 0 {
		t.cases-- // it had no such operation
	}
	t.ended(failed > 0, ran, fmt.Sprintf("%+v", f), out)
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
