package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	one   func(context.Context, *tally) error // counts one case, which its tally has already
}

// kinds are all kinds of faults, in the order of the table.
func (b *bench) kinds() []fault {
	return slices.Concat([]fault{
		{"kill -9 of a copy here at a random instant, up to three times", 14, b.killed},
		{"between hosts, by ssh: kill -9 of command, ssh, agent, sender or receiver, up to three times", 14, b.killedFar},
	}, b.pointKinds(), []fault{
		{"on the wire: a bit flipped, data left out, repeated, exchanged, cut", 16, b.wired},
		{"on the wire: all connections cut", 5, b.severed},
		{"on the wire: half-open, they carry nothing any more", 3, b.halfOpen},
		{"on the wire: stalled for 0.5 to 3 s", 3, b.stalled},
		{"on the wire: stalled for 61 s", 1, b.stalledLong},
		{"on the wire: strangers come to the port", 3, b.visited},
		{"on the wire: what the dialler began with comes again", 3, b.replayed},
		{"in memory: a bit of a block flips between its hash and the comparison, once or always", 6, b.inMemory},
		{"target full: blocks or inodes", 6, b.full},
		{quotaName, 3, b.quota},
		{"quota reached, as the target's disk says (FUSE)", 3, b.quotaOnDisk},
		{badDiskName, 8, b.badDisk},
		{spoiledDiskName, 5, b.spoiledDisk},
		{"source appended to, cut, replaced, deleted meanwhile", 5, b.changed},
		{"target edited after a copy was killed", 5, b.edited},
		{"one file of 10,000 unreadable", 1, b.unreadable},
		{"a bit flipped on the target after the copy", 3, b.flipped},
		{"mtimes before 1970 and after 2106, a day off", 2, b.ancient},
	})
}

// faults runs cases of every kind, drawn by their shares, then those that take a lab. A case
// ends with a copy that nothing disturbs, which has to be right by a comparison that is not
// linerate's.
func (b *bench) faults(ctx context.Context, n int, wanted *regexp.Regexp) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("faults are put in as root: they mount, and run copies as another user")
	}
	stop, err := b.shareDisks(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	far, err := startFar(ctx, b.User, nil)
	if err != nil {
		fmt.Printf("no sshd (%v): copies between hosts go through an agent that is started here\n\n", err)
	} else {
		defer far.stop()
		b.far = far
	}
	kinds := slices.DeleteFunc(b.kinds(), func(k fault) bool { return !wanted.MatchString(k.name) })
	kinds = b.possible(kinds, quotaName, b.noQuota(ctx))
	kinds = b.possible(kinds, "(FUSE)", b.noFUSE())
	if b.far == nil {
		kinds = b.possible(kinds, atPoint, errors.New("agents are on no other host"))
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
	if len(kinds) == 0 {
		n = 0 // only those that take a lab are wanted
	}
	for i := range n {
		k := b.draw(kinds)
		ran := kinds[k].run(ctx, &tallies[k])
		if err := errors.Join(ran, keep(kinds, tallies)); err != nil {
			return fmt.Errorf("case %d: %w", i, err)
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

// run runs one case. One that did not come to its end is none, but what it has found counts; of one that was
// interrupted, only wrong files: its copies end otherwise for that alone.
func (k fault) run(ctx context.Context, t *tally) error {
	c := tally{cases: 1}
	err := k.one(ctx, &c)
	if err == nil {
		err = ctx.Err()
	}
	switch {
	case ctx.Err() != nil:
		c = tally{wrong: c.wrong}
	case err != nil:
		c.cases, c.cut = 0, 0
	}
	*t = t.plus(c)
	if err != nil {
		return fmt.Errorf("%s: %w", k.name, err)
	}
	return nil
}

// ended counts a copy that has ended: cut by the fault that it met, or failed of itself.
func (t *tally) ended(met bool, ran error, what string, out []byte) {
	switch {
	case ran == nil:
	case met:
		t.cut++
	default:
		t.unfinished++
		fmt.Printf("%s: it was not met, and the copy failed: %v\n%s\n", what, ran, out)
	}
}

const quotaName = "target's quota reached"

// possible leaves out, by name, the kinds that this machine cannot have, if it cannot.
func (b *bench) possible(kinds []fault, named string, why error) []fault {
	return slices.DeleteFunc(kinds, func(k fault) bool {
		out := why != nil && strings.Contains(k.name, named)
		if out {
			b.leaveOut(k.name, why.Error())
		}
		return out
	})
}

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
	return b.cutOften(ctx, t, b.instant, func() (*exec.Cmd, func() bool) {
		cmd := b.Command(ctx, "copy", b.src+"/", b.dst)
		return cmd, func() bool { return cmd.Process.Kill() == nil }
	})
}

// killedFar has the copy go through ssh, agents and movers, and kills one of its processes:
// the command, ssh or what sshd started, an agent, or an end.
func (b *bench) killedFar(ctx context.Context, t *tally) error {
	instant := func() time.Duration { return time.Duration(b.rand.IntN(900)) * time.Millisecond }
	return b.cutOften(ctx, t, instant, func() (*exec.Cmd, func() bool) {
		cmd, pick := b.Command(ctx, "copy", "--delete", b.src+"/", b.far.name()+":"+b.dst), b.rand.IntN(1<<20)
		return cmd, func() bool {
			all := append(family(cmd.Process.Pid), b.far.family()...)
			return unix.Kill(all[pick%len(all)], unix.SIGKILL) == nil // it may have ended
		}
	})
}

// instant is one of a copy here, after its begin. Each doubling of the time has the same chance: a copy takes
// 50 ms where both its ends are in memory and nothing else runs, and more than 500 on a busy machine.
func (b *bench) instant() time.Duration {
	const first, doublings = 5 * time.Millisecond, 7
	return time.Duration(float64(first) * math.Exp2(doublings*b.rand.Float64()))
}

// cutOften has up to three copies killed at an instant, until one is not cut by that. Where none was, it is
// no case.
func (b *bench) cutOften(ctx context.Context, t *tally, instant func() time.Duration, begin func() (cmd *exec.Cmd, kill func() bool)) error {
	if err := b.tree(); err != nil {
		return err
	}
	for range 1 + b.rand.IntN(3) {
		cmd, kill := begin()
		cut, err := b.cutShort(ctx, t, cmd, instant(), kill)
		if err != nil {
			return err
		}
		if !cut {
			break
		}
	}
	if t.cut == 0 {
		t.cases--
	}
	return b.last(ctx, t)
}

// cutShort runs a copy, kills a process of it after some time, and judges what it has left. It tells whether
// the copy was cut by that: a process that is about to exit can be killed, and has done its work.
func (b *bench) cutShort(ctx context.Context, t *tally, cmd *exec.Cmd, after time.Duration, kill func() bool) (cut bool, err error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return false, err
	}
	met := make(chan bool, 1)
	timer := time.AfterFunc(after, func() { met <- kill() })
	ran := cmd.Wait()
	killed := !timer.Stop() && <-met
	if err := b.alone(ctx); err != nil {
		return false, err
	}
	return killed && ran != nil, b.afterKill(t, killed, ran, fmt.Sprintf("kill after %v", after), out.Bytes())
}

// alone waits until no process of a copy writes to the target any more: after the command was
// killed, the others end once their connections to it are closed.
func (b *bench) alone(ctx context.Context) error {
	return b.aloneIn(ctx, b.dst)
}

// aloneIn does so of any target.
func (b *bench) aloneIn(ctx context.Context, dir string) error {
	// Also once the bench is interrupted: what its copies hold cannot be unmounted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for {
		free := true
		if j, err := os.Open(filepath.Join(dir, ".linerate.journal")); err == nil {
			free = kernel.LockOpened(j) == nil
			_ = j.Close() // was only looked at
		}
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

// edited changes what a killed copy has left before the next one goes on. It is a case if the copy was
// cut and there was something to change.
func (b *bench) edited(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	cmd := b.Command(ctx, "copy", b.src+"/", b.dst)
	const start = 20 * time.Millisecond // until then it has made nothing
	kill := func() bool { return cmd.Process.Kill() == nil }
	cut, err := b.cutShort(ctx, t, cmd, start+b.instant(), kill)
	if err != nil {
		return err
	}
	edits := 0
	err = filepath.WalkDir(b.dst, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(d.Name(), "journal") || b.rand.IntN(3) > 0 {
			return err
		}
		edits++
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
	if !cut || edits == 0 {
		t.cases, t.cut = 0, 0
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
	defer func() { err = errors.Join(err, unix.Unmount(b.dst, unix.MNT_DETACH)) }()
	out, ran := b.Command(ctx, "copy", b.src+"/", b.dst).CombinedOutput()
	t.ended(bytes.Contains(out, []byte("no space left")), ran, fmt.Sprintf("%d MiB and %d inodes", room, inodes), out)
	if ran == nil {
		t.cases-- // there was room for it, if it says the truth
		missing, merr := b.missing()
		if merr != nil {
			return merr
		}
		if len(missing) > 0 {
			t.falseDone++
			fmt.Printf("done on %d MiB and %d inodes:\n%s\n", room, inodes, out)
		}
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
	switch bad := wrong+len(missing) > 0; {
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

// missing are entries of the source that the target does not have, or has with another mode
// or time, and leftovers: the former by their paths within the tree.
func (b *bench) missing() (paths []string, err error) {
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
			paths = append(paths, rel)
			fmt.Printf("missing: %s\n", rel)
		case !is.ModTime().Equal(was.ModTime()) || is.Mode() != was.Mode():
			paths = append(paths, rel)
			fmt.Printf("not kept: %s: %v %v, the source has %v %v\n", rel, is.Mode(), is.ModTime(), was.Mode(), was.ModTime())
		}
		return nil
	})
	if err != nil {
		return paths, err
	}
	err = filepath.WalkDir(b.dst, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "linerate") {
			paths = append(paths, path)
			fmt.Printf("left: %s\n", path)
		}
		return err
	})
	return paths, err
}
