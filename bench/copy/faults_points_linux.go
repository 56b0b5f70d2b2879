package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bench/kit"
	"linerate/internal/move/mover"
	"linerate/internal/move/movetest/baddisk"
)

// point is a moment of a copy that the disk of one of its ends sees.
type point struct {
	end  string // whose disk
	name string
	op   baddisk.Op
	of   string // part of the file's name
	most int    // it is drawn how many times a copy gets there before, up to this many
}

// points are those at which a target has something else than before, and those of a source. A file of a
// target has ".linerate-" in its name until it is whole.
func points() []point {
	return []point{
		{target, "open", baddisk.Create, "", 150},
		{target, "write", baddisk.Write, ".linerate-", 220},
		{target, "fdatasync", baddisk.Sync, ".linerate-", 150},
		{target, "append", baddisk.Write, "journal", 4},
		{target, "rename", baddisk.Rename, "", 150},
		{target, "dirsync", baddisk.SyncDir, "", 3},
		{source, "open", baddisk.Open, "", 150},
		{source, "read", baddisk.Read, "", 220},
	}
}

const (
	atPoint = "kill -9 at the "
	target  = "target's"
	source  = "source's"
)

// pointKinds are the kinds of faults at each point.
func (b *bench) pointKinds() (kinds []fault) {
	for _, p := range points() {
		name := atPoint + p.end + " " + p.name + " of " + strings.Join(victims, ", ") + " (FUSE)"
		kinds = append(kinds, fault{name, 4, func(ctx context.Context, t *tally) error { return b.killedAt(ctx, t, p) }})
	}
	return kinds
}

// victims are the processes of a copy: a copy here is one, one between hosts is the others.
var victims = []string{"copy here", "command", "ssh", "agent", "sender", "receiver"}

// shareDisks makes a directory whose mounts the bench's sshd sees too.
func (b *bench) shareDisks(ctx context.Context) (stop func() error, err error) {
	b.disks = filepath.Join(b.Home, "disks")
	if err := os.Mkdir(b.disks, 0o755); err != nil {
		return nil, err
	}
	stop = func() error { return kit.Do(context.WithoutCancel(ctx), "umount", "-l", b.disks) }
	if err := kit.Do(ctx, "mount", "--bind", b.disks, b.disks); err != nil {
		return nil, err
	}
	if err := kit.Do(ctx, "mount", "--make-shared", b.disks); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// mountDisk mounts a disk that fails as it is told, over a directory; closed it is to be by unmountDisk.
func (b *bench) mountDisk(below string) (d *baddisk.Disk, at string, err error) {
	if at, err = os.MkdirTemp(b.disks, "disk-"); err != nil {
		return nil, "", err
	}
	if d, err = baddisk.Mount(at, below); err != nil {
		return nil, "", errors.Join(err, os.Remove(at))
	}
	return d, at, nil
}

// unmountDisk waits for the last process of a copy that has ended or was killed.
func unmountDisk(ctx context.Context, d *baddisk.Disk, at string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	d.Set()
	for {
		err := d.Close()
		if err == nil {
			return os.Remove(at)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a copy that has ended still holds its target: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// killedAt kills one process of a copy when one of its disks is at a point; the request of that moment is done
// before or after it, or, of those that cannot see its end, not at all.
func (b *bench) killedAt(ctx context.Context, t *tally, p point) error {
	if err := b.tree(); err != nil {
		return err
	}
	victim := victims[b.rand.IntN(len(victims))]
	below := b.dst
	if p.end == source {
		below = b.src
	}
	d, at, err := b.mountDisk(below)
	if err != nil {
		return err
	}
	from, writes := b.src, at
	if p.end == source {
		from, writes = at, b.dst
	}
	to, push := writes, b.rand.IntN(2) == 0
	switch {
	case victim == victims[0]:
	case push:
		to = b.far.name() + ":" + to
	default:
		from = b.far.name() + ":" + from
	}
	cmd := b.Command(ctx, "copy", from+"/", to)
	killed := false
	meet := func() { killed = b.kill(victim, cmd.Process.Pid, push) }
	f := baddisk.Fault{Op: p.op, Name: p.of, After: b.rand.IntN(1 + b.rand.IntN(p.most)), Times: 1, Meet: meet}
	if b.rand.IntN(2) == 0 && (victim == victims[0] || victim == "receiver" && p.end == target || victim == "sender" && p.end == source) {
		f.Err = syscall.EIO // who asked is dead: the request is lost with it
	}
	d.Set(f)
	// Set before the process runs: the disk is asked only by it.
	out, ran := cmd.CombinedOutput()
	if err := errors.Join(b.aloneIn(ctx, writes), unmountDisk(ctx, d, at)); err != nil {
		return fmt.Errorf("%s: %w", victim, err)
	}
	if !killed {
		t.cases-- // the copy was over before
	}
	if err := b.afterKill(t, killed, ran, fmt.Sprintf("%s killed at the %s %s %d", victim, p.end, p.name, f.After+1), out); err != nil {
		return err
	}
	return b.last(ctx, t)
}

// afterKill judges what a copy has left of which a process was killed, if there was one to kill.
func (b *bench) afterKill(t *tally, killed bool, ran error, what string, out []byte) error {
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	if t.ended(killed, ran, what, out); ran != nil {
		return nil
	}
	missing, err := b.missing()
	if err == nil && len(missing) > 0 {
		t.falseDone++
		fmt.Printf("%s: done, and it was not:\n%s\n", what, out)
	}
	return err
}

// kill kills one process of the copy whose command is pid, and tells whether it was there.
func (b *bench) kill(victim string, pid int, push bool) bool {
	here, there := family(pid), b.far.family()
	sends, receives := here, there
	if !push {
		sends, receives = there, here
	}
	var dies int
	switch victim {
	case "ssh":
		dies = running(here, func(argv []string) bool { return filepath.Base(argv[0]) == "ssh" })
	case "agent":
		dies = running(there, func(argv []string) bool { return len(argv) > 1 && argv[1] == "agent" })
	case "sender":
		dies = running(sends, isMover)
	case "receiver":
		dies = running(receives, isMover)
	default:
		dies = pid
	}
	return dies > 0 && unix.Kill(dies, unix.SIGKILL) == nil
}

func isMover(argv []string) bool { return len(argv) > 1 && argv[1] == mover.Role }

// running is the first of some processes whose command line is so; 0: none is.
func running(pids []int, is func(argv []string) bool) int {
	for _, pid := range pids {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		var argv []string
		for _, a := range bytes.Split(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
			argv = append(argv, string(a))
		}
		if is(argv) {
			return pid
		}
	}
	return 0
}

const spoiledDiskName = "a disk of the target that keeps another bit than was written, copied with --verify full (FUSE)"

// spoiledDisk has the target's disk keep another bit than it was given, and say nothing. A copy that
// verifies in full finds it by itself, and mends it or names the file.
func (b *bench) spoiledDisk(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	d, at, err := b.mountDisk(b.dst)
	if err != nil {
		return err
	}
	f := baddisk.Fault{Op: baddisk.Write, Flip: true, Name: []string{"large", "middle", fmt.Sprintf("f%d.", b.rand.IntN(200))}[b.rand.IntN(3)]}
	if b.rand.IntN(2) == 0 {
		f.Times = 1
	}
	switch f.Name {
	case "large":
		f.From = b.rand.Int64N(9 << 20)
	case "middle":
		f.From = b.rand.Int64N(5 << 20)
	}
	f.To = f.From + 1
	d.Set(f)
	to := at
	if b.rand.IntN(2) == 0 {
		to = b.far.name() + ":" + at
	}
	out, ran := b.Command(ctx, "copy", "--json", "--verify", "full", b.src+"/", to).Output()
	failed := d.Failed()
	if err := errors.Join(b.aloneIn(ctx, at), unmountDisk(ctx, d, at)); err != nil {
		return err
	}
	if failed == 0 {
		t.cases-- // the file is empty
	}
	t.ended(failed > 0, ran, fmt.Sprintf("%+v", f), out)
	bad, err := b.unnamed(out, ran)
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return err
	}
	if bad {
		t.falseDone++
		fmt.Printf("%+v: exit %v:\n%s\n", f, ran, out)
	}
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	return b.last(ctx, t)
}
