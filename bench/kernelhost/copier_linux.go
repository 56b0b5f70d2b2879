package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// copierArg makes a process of the bench the application that copies.
const copierArg = "kernelhost-copier"

// copierMain reads a file over and over, past the page cache, and prints
// "nanoseconds bytes" every 100 ms. args: path, bytes per second (0 is as fast
// as it goes).
func copierMain(args []string) {
	if err := copier(args); err != nil {
		fmt.Fprintf(os.Stderr, "copy: %v\n", err)
		os.Exit(1)
	}
}

func copier(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want path and rate, got %q", args)
	}
	rate, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	if err := again(f); err != nil { // an earlier copy may have left pages behind
		return err
	}
	buf := make([]byte, 256<<10)
	began, told := time.Now(), time.Now()
	var total int64
	for {
		n, err := f.Read(buf)
		total += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			if err := again(f); err != nil {
				return err
			}
		case err != nil:
			return err
		}
		if rate > 0 { // a reader that is busy with something else in between
			time.Sleep(time.Until(began.Add(time.Duration(float64(total) / float64(rate) * 1e9))))
		}
		if time.Since(told) >= 100*time.Millisecond {
			told = time.Now()
			fmt.Printf("%d %d\n", told.UnixNano(), total)
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

// copies is the copy that runs in a guest, if one does.
type copies struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	points [][2]int64
	done   chan struct{}
}

type copyArgs struct {
	Path string `json:"path"`
	Rate int64  `json:"rate"` // bytes/s; 0 is unlimited
}

type copyResult struct {
	Bytes int64         `json:"bytes"`
	Took  time.Duration `json:"took"`
}

func (c *copies) start(a copyArgs) error {
	cmd := exec.Command(guestBin+"/kernelhost", copierArg, a.Path, strconv.FormatInt(a.Rate, 10))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmd, c.points, c.done = cmd, nil, make(chan struct{})
	go c.follow(out, c.done)
	return nil
}

func (c *copies) follow(out io.Reader, done chan struct{}) {
	defer close(done)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var p [2]int64
		if _, err := fmt.Sscan(lines.Text(), &p[0], &p[1]); err != nil {
			fmt.Fprintf(os.Stderr, "copy printed %q: %v\n", lines.Text(), err)
			continue
		}
		c.mu.Lock()
		c.points = append(c.points, p)
		c.mu.Unlock()
	}
}

// stop ends the copy and tells what it moved, its first second left out.
func (c *copies) stop() (copyResult, error) {
	c.mu.Lock()
	cmd, done := c.cmd, c.done
	c.cmd = nil
	c.mu.Unlock()
	if cmd == nil {
		return copyResult{}, nil
	}
	if err := cmd.Process.Kill(); err != nil {
		return copyResult{}, fmt.Errorf("end copy: %w", err)
	}
	<-done
	_ = cmd.Wait() // it was killed
	for i, p := range c.points {
		if p[0]-c.points[0][0] >= int64(time.Second) {
			last := c.points[len(c.points)-1]
			return copyResult{Bytes: last[1] - c.points[i][1], Took: time.Duration(last[0] - p[0])}, nil
		}
	}
	return copyResult{}, fmt.Errorf("copy: it moved nothing that could be measured")
}
