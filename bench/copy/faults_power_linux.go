package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/move/movetest/powerlog"
)

const powerName = "in a lab: power lost, at each moment at which the disk has to keep everything, and between (dm-log-writes)"

// powerDisk is the size of the disk whose writes are logged.
const powerDisk = 384 << 20

// powerLost copies to a disk whose writes are logged, and looks at what it holds if the power fails: each
// moment is a case. A block of which the journal tells and which is not there counts as done that is not.
// At some moments the copy goes on.
func (b *bench) powerLost(ctx context.Context, t *tally) error {
	dir := filepath.Join(b.Home, "power")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	// In memory: the image is mounted again and again.
	if err := kit.Do(ctx, "mount", "-t", "tmpfs", "tmpfs", dir); err != nil {
		return err
	}
	err := b.powerLostIn(ctx, t, dir)
	return errors.Join(err, kit.Do(context.WithoutCancel(ctx), "umount", "-l", dir), os.Remove(dir))
}

func (b *bench) powerLostIn(ctx context.Context, t *tally, dir string) error {
	const tries = 3
	log, image := filepath.Join(dir, "disk-log"), filepath.Join(dir, "image")
	var err error
	for range tries {
		if err = b.logPower(ctx, dir); err != nil {
			return err
		}
		if err = powerlog.Replay(log, image, powerDisk, func(powerlog.Entry) error { return nil }); err != nil {
			return err
		}
		if err = powerlog.Same(image, filepath.Join(dir, "disk-data"), powerDisk); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("the log was never whole: %w", err)
	}
	moment := 0
	return powerlog.Replay(log, image, powerDisk, func(e powerlog.Entry) error {
		if !e.Begun || !e.Kept && e.Number%37 != 0 {
			return ctx.Err()
		}
		moment++
		do := func(argv ...string) error { return kit.Do(context.WithoutCancel(ctx), argv...) }
		return powerlog.Mounted(image, dir, do, func(root string) error { return b.powerMoment(ctx, t, moment, root) })
	})
}

// logPower copies a tree in a lab, past the page cache and through it, and keeps the disk and the log.
func (b *bench) logPower(ctx context.Context, dir string) error {
	if err := b.largeTree(); err != nil {
		return err
	}
	text := fmt.Sprintf(topology, "    disks: {data: {size: 384MiB}, log: {size: 640MiB}}\n", "", "200us", 1500, gigabit)
	return b.inLabOf(ctx, text, []string{"--kernel", "client1"}, func(lab.Status) error {
		if err := b.Inside(ctx, "client1", "sh", "-c", powerlog.Prepare); err != nil {
			return err
		}
		for _, how := range powerWays {
			// Slow enough that the journal is appended to several times.
			if _, err := b.Run(ctx, "copy", "--plain", "--limit", "20MB", "--direct", how, "lab:client1:"+b.src+"/", "lab:client1:/mnt/logged/"+how); err != nil {
				return err
			}
		}
		if err := b.Inside(ctx, "client1", "sh", "-c", powerlog.Finish); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(b.Home, "linerate", "lab-*", "client1", "kernel", "disk-[dl]*"))
		if err != nil || len(found) != 2 {
			return fmt.Errorf("find the lab's disks: %q, %w", found, err)
		}
		return kit.Do(ctx, append([]string{"cp", "--sparse=always", "-t", dir}, found...)...)
	})
}

// powerWays are the targets on the logged disk, by what --direct was.
var powerWays = []string{"yes", "no"}

// largeTree is a tree whose large file is journalled.
func (b *bench) largeTree() error {
	for {
		if err := b.tree(); err != nil {
			return err
		}
		st, err := os.Stat(filepath.Join(b.src, "large"))
		if err != nil || st.Size() >= 64<<20 {
			return err
		}
		b.fresh = false
	}
}

// powerMoment looks at the targets of one moment, which is a case if one of them is there.
func (b *bench) powerMoment(ctx context.Context, t *tally, moment int, root string) error {
	const all = 202 // files of the tree
	looked, cut := false, false
	for _, how := range powerWays {
		at := filepath.Join(root, how)
		if _, err := os.Stat(at); errors.Is(err, os.ErrNotExist) {
			continue
		}
		m, err := powerlog.Look(at, b.src)
		if err != nil {
			return err
		}
		for _, bad := range append(m.Wrong, m.Ahead...) {
			fmt.Printf("power lost, moment %d: %s\n", moment, bad)
		}
		looked = true
		t.wrong, t.falseDone = t.wrong+len(m.Wrong), t.falseDone+len(m.Ahead)
		cut = cut || m.Named < all
		if moment%10 != 0 {
			continue
		}
		dst := b.dst
		b.dst = at
		err = b.last(ctx, t)
		if b.dst = dst; err != nil {
			return err
		}
	}
	if looked {
		t.cases++
	}
	if cut {
		t.cut++
	}
	return nil
}
