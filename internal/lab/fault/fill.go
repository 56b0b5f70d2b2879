package fault

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

const (
	// fillKey fills the disk that a host serves, fill.NAME its disk NAME.
	fillKey = "fill"
	// fillFile is what fills a disk.
	fillFile = ".linerate-lab-fill"
	// fullest: a file system that is fuller refuses what a load has to write.
	fullest = 97
)

// fillOf tells whether a key fills a disk, and which; "": the first one.
func fillOf(key string) (disk string, ok bool) {
	name, disk, named := strings.Cut(key, ".")
	return disk, name == fillKey && named == (disk != "")
}

// percentKey reads "80%".
func percentKey(text string) (string, int, error) {
	n, err := whole(strings.TrimSuffix(strings.TrimSpace(text), "%"), 1, fullest)
	if err != nil {
		return "", 0, fmt.Errorf("%s %s: want how full the disk is to be, 1%% to %d%%", fillKey, text, fullest)
	}
	return strconv.Itoa(n) + "%", n, nil
}

// fill makes a disk of a host percent full, as df counts it: used of used and available. The
// space is given to one file, whose blocks are not written.
func fill(host, disk string, percent int) effect {
	return named("the fill of a disk of "+host, func(ctx context.Context, l Lab) (Undo, error) {
		m, err := diskOf(ctx, l, host, disk)
		if err != nil {
			return nil, err
		}
		file := path.Join(m.point, fillFile)
		if _, err := l.Run(ctx, host, "test", "!", "-e", file); err != nil {
			return nil, fmt.Errorf("%s is filled already, or cannot be read: take the earlier fill out first", m.point)
		}
		used, available, err := space(ctx, l, host, m.point)
		if err != nil {
			return nil, err
		}
		more := (used+available)*int64(percent)/100 - used
		if more <= 0 {
			return nil, fmt.Errorf("%s is %d%% full already, which is not below %d%%", m.point, 100*used/max(1, used+available), percent)
		}
		remove := func(ctx context.Context) error {
			_, err := l.Run(ctx, host, "rm", "-f", file)
			return err
		}
		if _, err := l.Run(ctx, host, "fallocate", "-l", strconv.FormatInt(more, 10), file); err != nil {
			_ = remove(context.WithoutCancel(ctx)) // the first error is what matters
			return nil, err
		}
		return remove, nil
	})
}

// diskOf is the mount of a host's disk: the lab mounts it at …/disk-NAME, and below /srv where
// the host has a kernel of its own.
func diskOf(ctx context.Context, l Lab, host, disk string) (mountEntry, error) {
	what := "disk"
	if disk != "" {
		what += " " + disk
	}
	return findMountIf(ctx, l, host, what, func(m mountEntry) bool {
		dir, base := path.Split(m.point)
		name, ours := strings.CutPrefix(base, "disk-")
		image := strings.HasSuffix(base, ".image") // the memory that a disk lies in
		return (ours && !image || dir == "/srv/") && (disk == "" || name == disk)
	})
}

// space is how many bytes of a file system are used, and available to programs.
func space(ctx context.Context, l Lab, host, dir string) (used, available int64, err error) {
	out, err := l.Run(ctx, host, "stat", "-f", "-c", "%S %b %f %a", dir)
	if err != nil {
		return 0, 0, err
	}
	var size, blocks, free, usable int64
	if _, err := fmt.Sscan(string(out), &size, &blocks, &free, &usable); err != nil || size <= 0 || blocks < free || usable < 0 || blocks > 1<<62/size {
		return 0, 0, fmt.Errorf("read how full %s of %s is: stat says %q", dir, host, strings.TrimSpace(string(out)))
	}
	return size * (blocks - free), size * usable, nil
}
