package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

const (
	ramDevice = "/dev/ram0"
	blkioDir  = "/run/blkio"
	// pageCache is emptied by a write of 1.
	pageCache = "/proc/sys/vm/drop_caches"
)

// ramDisk makes a file system on a disk of memory: unlike tmpfs it can be
// made as slow as a real disk.
func ramDisk(dir string, mb int) error {
	if err := insertModuleWith("brd", fmt.Sprintf("rd_nr=1 rd_size=%d", mb<<10)); err != nil {
		return err
	}
	if out, err := exec.Command("/usr/sbin/mkfs.ext4", "-q", "-O", "^has_journal", ramDevice).CombinedOutput(); err != nil {
		return fmt.Errorf("make file system on %s: %w: %s", ramDevice, err, out)
	}
	if err := unix.Mount(ramDevice, dir, "ext4", unix.MS_NOATIME, ""); err != nil {
		return fmt.Errorf("mount %s: %w", ramDevice, err)
	}
	if err := os.Mkdir(blkioDir, 0o755); err != nil {
		return err
	}
	return mount(blkioDir, "cgroup", "blkio")
}

// disk is how fast the server's disk is.
type disk struct {
	stop chan struct{} // ends the emptying of the page cache
	done chan struct{}
}

// throttle makes reads from the disk take bps bytes a second, and has the
// server forget what it read, as one does whose data is larger than its
// memory. 0 ends that.
func (d *disk) throttle(bps int64) error {
	if d.stop != nil {
		close(d.stop)
		<-d.done
		d.stop = nil
	}
	rule := fmt.Sprintf("1:0 %d", bps)
	if err := os.WriteFile(blkioDir+"/blkio.throttle.read_bps_device", []byte(rule), 0); err != nil {
		return fmt.Errorf("throttle disk: %w", err)
	}
	if bps > 0 {
		d.stop, d.done = make(chan struct{}), make(chan struct{})
		go d.forget(d.stop, d.done)
	}
	return nil
}

func (d *disk) forget(stop, done chan struct{}) {
	defer close(done)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if err := os.WriteFile(pageCache, []byte("1"), 0); err != nil {
				fmt.Fprintf(os.Stderr, "empty page cache: %v\n", err)
			}
		}
	}
}
