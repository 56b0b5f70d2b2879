package server

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// fillFile is what Fill makes and Unfill removes.
const fillFile = ".linerate-fill"

// Fill takes space on the file system of dir in h until percent of it is in
// use. One that is fuller already is an error.
func Fill(ctx context.Context, h Host, dir string, percent int) error {
	if percent < 1 || percent > 100 {
		return fmt.Errorf("fill %s: %d%% is not between 1 and 100", dir, percent)
	}
	out, err := h.Run(ctx, "df", "-B1", "--output=size,used,avail", dir)
	if err != nil {
		return fmt.Errorf("fill %s on %s: %w", dir, h.Name(), err)
	}
	n, err := fillSize(string(out), percent)
	if err != nil {
		return fmt.Errorf("fill %s on %s: %w", dir, h.Name(), err)
	}
	if _, err := h.Run(ctx, "fallocate", "-l", strconv.FormatInt(n, 10), filepath.Join(dir, fillFile)); err != nil {
		return fmt.Errorf("fill %s on %s: %w", dir, h.Name(), err)
	}
	return nil
}

// fillSize reads df's table and returns how many bytes are to be taken.
func fillSize(df string, percent int) (int64, error) {
	lines := strings.Split(strings.TrimSpace(df), "\n")
	var size, used, avail int64
	if _, err := fmt.Sscan(lines[len(lines)-1], &size, &used, &avail); err != nil || size <= 0 || used < 0 || avail < 0 {
		return 0, fmt.Errorf("parse df %q", df)
	}
	want := size/100*int64(percent) - used
	if want <= 0 {
		return 0, fmt.Errorf("%d of %d bytes are in use: it is %d%% full already", used, size, used*100/size)
	}
	return min(want, avail), nil
}

// Unfill gives back what Fill took.
func Unfill(ctx context.Context, h Host, dir string) error {
	if _, err := h.Run(ctx, "rm", "-f", filepath.Join(dir, fillFile)); err != nil {
		return fmt.Errorf("unfill %s on %s: %w", dir, h.Name(), err)
	}
	return nil
}

// Forget makes the machine forget what it has cached of a file in h, so that
// the disk is read again.
func Forget(ctx context.Context, h Host, file string) error {
	// dd(1): no data, only the advice; what is dirty must be written first.
	if _, err := h.Run(ctx, "sync", file); err != nil {
		return fmt.Errorf("forget %s on %s: %w", file, h.Name(), err)
	}
	if _, err := h.Run(ctx, "dd", "if="+file, "iflag=nocache", "count=0", "status=none"); err != nil {
		return fmt.Errorf("forget %s on %s: %w", file, h.Name(), err)
	}
	return nil
}
