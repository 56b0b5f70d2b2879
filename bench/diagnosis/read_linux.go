package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// readRole makes this program the application that reads.
const readRole = "judge-read"

// readMain reads a file over and over, past the page cache, and prints how many
// bytes came in how many nanoseconds. args: path, for how long, how long of
// that does not count, bytes per second (0 is as fast as it goes).
func readMain(args []string, stdout io.Writer) error {
	if len(args) != 4 {
		return fmt.Errorf("read: want path, time, warm-up and rate, got %q", args)
	}
	d, err1 := time.ParseDuration(args[1])
	warmup, err2 := time.ParseDuration(args[2])
	rate, err3 := strconv.ParseInt(args[3], 10, 64)
	f, err4 := os.Open(args[0])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer f.Close()
	bytes, took, err := readFor(f, d, warmup, rate)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	_, err = fmt.Fprintln(stdout, bytes, took.Nanoseconds())
	return err
}

func readFor(f *os.File, d, warmup time.Duration, rate int64) (int64, time.Duration, error) {
	if err := again(f); err != nil { // an earlier reader may have left pages behind
		return 0, 0, err
	}
	buf := make([]byte, 256<<10)
	began := time.Now()
	counting, from := began, int64(0)
	for total := int64(0); ; {
		n, err := f.Read(buf)
		total += int64(n)
		if errors.Is(err, io.EOF) {
			err = again(f)
		}
		if err != nil {
			return 0, 0, err
		}
		now := time.Now()
		if counting.Equal(began) && now.Sub(began) >= warmup {
			counting, from = now, total
		}
		if now.Sub(began) >= d {
			return total - from, now.Sub(counting), nil
		}
		if rate > 0 { // a reader that is busy with something else in between
			time.Sleep(time.Until(began.Add(time.Duration(float64(total) / float64(rate) * 1e9))))
		}
	}
}

// again goes to the start of the file and forgets what of it is cached.
func again(f *os.File) error {
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("forget cached pages: %w", err)
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}
