package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
)

// tally counts the cases of one kind of fault.
type tally struct{ cases, cut, wrong, falseDone, unfinished int }

// fault is one kind of them. Of every 100 cases some share falls to it.
type fault struct {
	name  string
	share int
	one   func(context.Context, *tally) error
}

// kinds are all kinds of faults, in the order of the table.
func (b *bench) kinds() []fault {
	return []fault{
		{"kill -9 of a copy here at a random instant, up to three times", 16, b.killed},
		{"between hosts, by ssh: kill -9 of command, ssh, agent, sender or receiver, up to three times", 20, b.killedFar},
		{"on the wire: a bit flipped, data left out, repeated, exchanged, cut", 20, b.wired},
		{"on the wire: all connections cut, or half-open", 8, b.severed},
		{"on the wire: stalled for some seconds; strangers; a replay", 6, b.stalled},
		{"target full: blocks or inodes", 8, b.full},
		{quotaName, 3, b.quota},
		{badDiskName, 10, b.badDisk},
		{"source appended to, cut, replaced, deleted meanwhile", 6, b.changed},
		{"target edited after a copy was killed", 6, b.edited},
		{"one file of many unreadable", 2, b.unreadable},
		{"a bit flipped on the target after the copy", 3, b.flipped},
		{"mtimes before 1970 and after 2106, a day off", 2, b.ancient},
	}
}

// faults runs cases of every kind, drawn by their shares, then those that take a lab. A case
// ends with a copy that nothing disturbs, which has to be right by a comparison that is not
// linerate's.
func (b *bench) faults(ctx context.Context, n int, wanted *regexp.Regexp) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("faults are put in as root: they mount, and run copies as another user")
	}
	far, err := startFar(ctx, b.User, nil)
	if err != nil {
		fmt.Printf("no sshd (%v): copies between hosts go through an agent that is started here\n\n", err)
	} else {
		defer far.stop()
		b.far = far
	}
	kinds := slices.DeleteFunc(b.kinds(), func(k fault) bool { return !wanted.MatchString(k.name) })
	for name, why := range map[string]error{quotaName: b.noQuota(ctx), badDiskName: b.noFUSE()} {
		if why != nil {
			fmt.Printf("left out: %s: %v\n\n", name, why)
			kinds = slices.DeleteFunc(kinds, func(k fault) bool { return k.name == name })
		}
	}
	tallies := make([]tally, len(kinds))
	keep, err := b.portions()
	if err != nil {
		return err
	}
	defer func() {
		printTallies(kinds, tallies)
		err = errors.Join(err, b.printSum())
	}()
	for i := range n {
		k := b.draw(kinds)
		tallies[k].cases++
		if err := kinds[k].one(ctx, &tallies[k]); err != nil {
			return fmt.Errorf("case %d, %s: %w", i, kinds[k].name, err)
		}
		if err := keep(kinds, tallies); err != nil {
			return err
		}
		if (i+1)%50 == 0 {
			fmt.Fprintf(os.Stderr, "%s %d cases: %+v\n", time.Now().Format(time.TimeOnly), i+1, tallies)
		}
	}
	if b.labs == 0 {
		return nil
	}
	more, counts, err := b.labFaults(ctx, wanted)
	kinds, tallies = append(kinds, more...), append(tallies, counts...)
	return errors.Join(err, keep(kinds, tallies))
}

const quotaName = "target's quota reached"

// draw picks a kind by its share.
func (b *bench) draw(kinds []fault) int {
	all := 0
	for _, k := range kinds {
		all += k.share
	}
	at := b.rand.IntN(all)
	for i, k := range kinds {
		if at -= k.share; at < 0 {
			return i
		}
	}
	return 0
}

// tree makes a source with a journalled file, a middling one and small ones. One that no case
// has changed is taken again.
func (b *bench) tree() error {
	if err := errors.Join(os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755)); err != nil || b.fresh && b.rand.IntN(10) > 0 {
		return err
	}
	if err := errors.Join(os.RemoveAll(b.src), os.MkdirAll(filepath.Join(b.src, "d"), 0o755)); err != nil {
		return err
	}
	sizes := map[string]int64{"large": 65<<20 + int64(b.rand.IntN(4<<20)), "middle": 5 << 20}
	if b.rand.IntN(2) == 0 { // without a journal
		sizes["large"] = 9<<20 + int64(b.rand.IntN(4<<20))
	}
	for i := range 200 {
		sizes[fmt.Sprintf("d/f%d", i)] = int64(b.rand.IntN(40 << 10))
	}
	for name, size := range sizes {
		if _, err := b.write(filepath.Join(b.src, name), size); err != nil {
			return err
		}
	}
	b.fresh = true
	return nil
}

func (b *bench) killed(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	for range 1 + b.rand.IntN(3) {
		cmd := b.Command(ctx, "copy", b.src+"/", b.dst)
		if err := cmd.Start(); err != nil {
			return err
		}
		kill := time.AfterFunc(time.Duration(b.rand.IntN(600))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err == nil {
			kill.Stop()
			break
		}
		kill.Stop()
		t.cut++
		wrong, err := b.wrong(false)
		if err != nil {
			return err
		}
		t.wrong += wrong
	}
	return b.last(ctx, t)
}

// killedFar has the copy go through ssh, agents and movers, and kills one of its processes:
// the command, ssh or what sshd started, an agent, or an end.
func (b *bench) killedFar(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	for range 1 + b.rand.IntN(3) {
		cmd := b.Command(ctx, "copy", "--delete", b.src+"/", b.far.name()+":"+b.dst)
		if err := cmd.Start(); err != nil {
			return err
		}
		pick := b.rand.IntN(1 << 20)
		kill := time.AfterFunc(time.Duration(b.rand.IntN(900))*time.Millisecond, func() {
			all := append(family(cmd.Process.Pid), b.far.family()...)
			_ = unix.Kill(all[pick%len(all)], unix.SIGKILL) // it may have ended
		})
		err := cmd.Wait()
		kill.Stop()
		if err == nil {
			break
		}
		t.cut++
		if err := b.alone(ctx); err != nil {
			return err
		}
		wrong, err := b.wrong(false)
		if err != nil {
			return err
		}
		t.wrong += wrong
	}
	return b.last(ctx, t)
}

// alone waits until no process of a copy writes to the target any more: after the command was
// killed, the others end once their connections to it are closed.
func (b *bench) alone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		fd, err := unix.Open(b.dst, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		free := true
		if j, err := os.Open(filepath.Join(b.dst, ".linerate.journal")); err == nil {
			free = kernel.LockOpened(j) == nil
			_ = j.Close() // was only looked at
		}
		_ = unix.Close(fd) // likewise
		if free {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("a copy whose command was killed still holds its target after a minute")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// family is a process and its descendants.
func family(pid int) []int {
	out := []int{pid}
	for i := 0; i < len(out); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", out[i]))
		for _, t := range tasks {
			b, _ := os.ReadFile(t) // one that has ended has none
			for _, f := range strings.Fields(string(b)) {
				if n, err := strconv.Atoi(f); err == nil {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// edited changes what a killed copy has left before the next one goes on.
func (b *bench) edited(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	cmd := b.Command(ctx, "copy", b.src+"/", b.dst)
	if err := cmd.Start(); err != nil {
		return err
	}
	kill := time.AfterFunc(time.Duration(100+b.rand.IntN(500))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	if err := cmd.Wait(); err != nil {
		t.cut++
	}
	kill.Stop()
	err := filepath.WalkDir(b.dst, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(d.Name(), "journal") || b.rand.IntN(3) > 0 {
			return err
		}
		switch b.rand.IntN(3) {
		case 0:
			return os.Remove(path)
		case 1: // cut, which changes its time too
			return os.Truncate(path, 1)
		}
		return os.WriteFile(path, []byte("another"), 0o644)
	})
	if err != nil {
		return err
	}
	return b.last(ctx, t)
}

// full gives the target too little room, then enough.
func (b *bench) full(ctx context.Context, t *tally) (err error) {
	if err := b.tree(); err != nil {
		return err
	}
	room, inodes := 1+b.rand.IntN(69), 10000
	if b.rand.IntN(2) == 0 {
		room, inodes = 200, 5+b.rand.IntN(190)
	}
	if err := unix.Mount("tmpfs", b.dst, "tmpfs", 0, fmt.Sprintf("size=%dm,nr_inodes=%d", room, inodes)); err != nil {
		return fmt.Errorf("mount a small tmpfs (as root): %w", err)
	}
	defer func() { err = errors.Join(err, unix.Unmount(b.dst, 0)) }()
	cmd := b.Command(ctx, "copy", b.src+"/", b.dst)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.cases-- // there was room for it, if it says the truth
		missing, merr := b.missing()
		if merr != nil {
			return merr
		}
		if missing > 0 {
			t.falseDone++
			fmt.Printf("done on %d MiB and %d inodes:\n%s\n", room, inodes, out)
		}
	} else {
		t.cut++
	}
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	if err := unix.Mount("tmpfs", b.dst, "tmpfs", unix.MS_REMOUNT, "size=200m,nr_inodes=10000"); err != nil {
		return err
	}
	return b.last(ctx, t)
}

// changed changes the source while it is copied.
func (b *bench) changed(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	b.fresh = false
	for i := range 50 {
		if err := os.WriteFile(b.changing(i), version(0), 0o644); err != nil {
			return err
		}
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	var failed error
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			if failed = b.change(i); failed != nil {
				return
			}
		}
	})
	cmd := b.Command(ctx, "copy", b.src+"/", b.dst)
	out, err := cmd.CombinedOutput()
	close(stop)
	wait.Wait()
	if failed != nil {
		return failed
	}
	if err != nil {
		t.cut++
		var ee *exec.ExitError
		if !errors.As(err, &ee) || ee.ExitCode() != 6 {
			return fmt.Errorf("exit code of a copy whose source changed: %w: %s", err, out)
		}
	}
	wrong, err := b.wrong(true)
	if err != nil {
		return err
	}
	t.wrong += wrong
	return b.last(ctx, t)
}

// changing is one of the files that are changed.
func (b *bench) changing(i int) string {
	return filepath.Join(b.src, "d", fmt.Sprintf("f%d", i%50))
}

// version is what a file holds after a change: one byte, and a length that tell which.
func version(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 1000+i) }

// isVersion tells whether a content is one whole version, or the empty one that a file has
// while it is written anew.
func isVersion(b []byte) bool {
	return len(b) == 0 || len(b) >= 1000 && bytes.Equal(b, version(len(b)-1000))
}

// change makes one change.
func (b *bench) change(i int) error {
	path, content := b.changing(i), version(i)
	switch i % 4 {
	case 0:
		return errors.Join(os.WriteFile(path+".new", content, 0o644), os.Rename(path+".new", path))
	case 1:
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case 2:
		if err := os.Truncate(path, 0); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.WriteFile(path, content, 0o644)
}

// last copies once more, undisturbed, and compares.
func (b *bench) last(ctx context.Context, t *tally) error {
	cmd := b.Command(ctx, "copy", "--delete", b.src+"/", b.dst)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	wrong, werr := b.wrong(false)
	if werr != nil {
		return werr
	}
	missing, merr := b.missing()
	if merr != nil {
		return merr
	}
	switch bad := wrong+missing > 0; {
	case err == nil && bad:
		t.falseDone++
	case err != nil:
		t.unfinished++
		fmt.Printf("the last copy failed: %v\n%s\n", err, out)
	}
	return nil
}

// wrong counts files that have their names in the target and another content than the
// source; of files that are being changed, those that are no whole version.
func (b *bench) wrong(changing bool) (n int, err error) {
	err = filepath.WalkDir(b.dst, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(d.Name(), "linerate") {
			return err
		}
		rel, err := filepath.Rel(b.dst, path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(filepath.Join(b.src, rel))
		same := err == nil && bytes.Equal(got, want)
		if !same && !(changing && isVersion(got)) {
			n++
			fmt.Printf("wrong: %s, %d bytes, the source has %d (%v)\n", path, len(got), len(want), err)
		}
		return nil
	})
	return n, err
}

// missing counts entries of the source that the target does not have, or has with another mode
// or time, and leftovers.
func (b *bench) missing() (n int, err error) {
	err = filepath.WalkDir(b.src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(b.src, path)
		if err != nil {
			return err
		}
		was, err := d.Info()
		if err != nil {
			return err
		}
		switch is, serr := os.Lstat(filepath.Join(b.dst, rel)); {
		case serr != nil:
			n++
			fmt.Printf("missing: %s\n", rel)
		case !is.ModTime().Equal(was.ModTime()) || is.Mode() != was.Mode():
			n++
			fmt.Printf("not kept: %s: %v %v, the source has %v %v\n", rel, is.Mode(), is.ModTime(), was.Mode(), was.ModTime())
		}
		return nil
	})
	if err != nil {
		return n, err
	}
	err = filepath.WalkDir(b.dst, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "linerate") {
			n++
			fmt.Printf("left: %s\n", path)
		}
		return err
	})
	return n, err
}
