package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/unit"
)

// DiskSpec is storage for a server.
type DiskSpec struct {
	Name string // a word; the disk is mounted at Dir/disk-NAME of the host
	Size unit.Bytes
	// Rate bounds reading and writing, each; 0 is as fast as memory.
	Rate unit.BitRate
}

// Disk is storage that is mounted in a host. It disappears with the host's mounts.
type Disk struct {
	host Host
	root kernel.Root
	dir  string
	back string // directory of the image; empty for a disk in memory
}

// ErrNoSlowDisk is the kind of the error if this machine cannot limit the rate of a disk.
var ErrNoSlowDisk = errors.New("no rate-limited disk here")

// MakeDisk mounts a disk in h. Without a rate it is a tmpfs. With one it is ext4 on a loop
// device over a file in memory, and the block layer limits the device's rate
// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst, and cgroup-v2.rst, io.max). Data
// that the page cache already has is not limited: see Forget. root is where /proc and /sys
// are.
func MakeDisk(ctx context.Context, h Host, root kernel.Root, spec DiskSpec) (*Disk, error) {
	d := &Disk{host: h, root: root, dir: filepath.Join(h.Dir(), "disk-"+spec.Name)}
	if err := d.make(ctx, spec); err != nil {
		return nil, errors.Join(fmt.Errorf("make disk %s on %s: %w", spec.Name, h.Name(), err), d.Close(context.WithoutCancel(ctx)))
	}
	return d, nil
}

func (d *Disk) make(ctx context.Context, spec DiskSpec) error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	if spec.Rate == 0 {
		return d.memory(ctx, d.dir, spec.Size)
	}
	for _, name := range []string{"mkfs.ext4", "losetup", "findmnt"} {
		if _, ok := program(name); !ok {
			return fmt.Errorf("%s is missing: %w", name, missing("e2fsprogs mount util-linux"))
		}
	}
	groups, err := d.limitFiles(ctx)
	if err != nil {
		return err
	}
	if err := d.loop(ctx, spec.Size); err != nil {
		return err
	}
	return d.limit(ctx, groups, spec.Rate)
}

func (d *Disk) memory(ctx context.Context, dir string, size unit.Bytes) error {
	return d.run(ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=0700", size), "linerate", dir)
}

func (d *Disk) run(ctx context.Context, argv ...string) error {
	if out, err := d.host.Run(ctx, argv...); err != nil {
		return fmt.Errorf("%s: %w: %s", argv[0], err, out)
	}
	return nil
}

// loop mounts an image through a loop device that detaches itself when it is unmounted, even
// if that happens because the host was killed.
func (d *Disk) loop(ctx context.Context, size unit.Bytes) error {
	const more = 16 << 20 // overhead of tmpfs
	d.back = d.dir + ".image"
	if err := os.MkdirAll(d.back, 0o700); err != nil {
		return err
	}
	if err := d.memory(ctx, d.back, size+more); err != nil {
		return err
	}
	image := filepath.Join(d.back, "image")
	for _, argv := range [][]string{
		{"truncate", "-s", strconv.FormatInt(int64(size), 10), image},
		{"mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", image},
		{"mount", "-t", "ext4", "-o", "loop,noatime", image, d.dir},
	} {
		if err := d.run(ctx, argv...); err != nil {
			return fmt.Errorf("%w: it takes root, ext4 and a free loop device: %w", ErrNoSlowDisk, err)
		}
	}
	return nil
}

// limitFiles finds the files that limit a device for the host's own cgroup and, on cgroup v1,
// for the root group, to which v1 accounts the write-back of dirty pages by kernel threads.
func (d *Disk) limitFiles(ctx context.Context) ([]limitFile, error) {
	text, err := d.host.Run(ctx, "cat", "/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find the host's cgroups: %w", err)
	}
	mounts, err := d.root.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	points := cgroupPoints(string(mounts))
	own := kernel.OwnCgroups(string(text))
	if files := v1Files(d.root, points["blkio"], own["blkio"]); files != nil {
		return files, nil
	}
	if v2, ok := points[""]; ok {
		f := limitFile{path.Join(v2, own[""], "io.max"), true}
		if _, err := d.root.ReadFile(f.path); err == nil {
			return []limitFile{f}, nil
		}
	}
	return nil, fmt.Errorf("%w: neither cgroup v1's blkio.throttle nor io.max of cgroup v2 in the host's group %q: give that group the io controller (+io in cgroup.subtree_control above it), or use a kernel host", ErrNoSlowDisk, own[""])
}

// limitFile accepts limits of devices: on v2 one file for both directions, on v1 one for each.
type limitFile struct {
	path string
	v2   bool
}

func v1Files(root kernel.Root, point, own string) []limitFile {
	if point == "" {
		return nil
	}
	var out []limitFile
	for i, group := range []string{"/", own} {
		if i > 0 && (group == "" || group == "/") {
			continue
		}
		for _, f := range []string{"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"} {
			file := path.Join(point, group, f)
			if _, err := root.ReadFile(file); err == nil {
				out = append(out, limitFile{file, false})
			}
		}
	}
	return out
}

// cgroupPoints maps each v1 controller, and "" for v2, to where it is mounted
// (proc_pid_mountinfo(5)).
func cgroupPoints(mountinfo string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(mountinfo) {
		left, right, _ := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 3 {
			continue
		}
		switch r[0] {
		case "cgroup2":
			out[""] = l[4]
		case "cgroup":
			for c := range strings.SplitSeq(r[2], ",") {
				out[c] = l[4]
			}
		}
	}
	return out
}

// limit limits the device's rate, after writing down how to remove the limit: a limit outlives
// the mount, and the next user of the loop device would get it.
func (d *Disk) limit(ctx context.Context, files []limitFile, rate unit.BitRate) error {
	out, err := d.host.Run(ctx, "findmnt", "-n", "-o", "MAJ:MIN", "--mountpoint", d.dir)
	if err != nil {
		return fmt.Errorf("find loop device: %w", err)
	}
	dev, perSecond := strings.TrimSpace(string(out)), int64(rate/8)
	var undo, do []rule
	for _, f := range files {
		if f.v2 {
			undo = append(undo, rule{f.path, dev + " rbps=max wbps=max"})
			do = append(do, rule{f.path, fmt.Sprintf("%s rbps=%d wbps=%d", dev, perSecond, perSecond)})
			continue
		}
		undo = append(undo, rule{f.path, dev + " 0"})
		do = append(do, rule{f.path, fmt.Sprintf("%s %d", dev, perSecond)})
	}
	if err := os.WriteFile(d.record(), []byte(formatRules(undo)), 0o600); err != nil {
		return fmt.Errorf("note limit: %w", err)
	}
	return writeRules(d.root, do)
}

func (d *Disk) record() string { return d.dir + recordSuffix }

const recordSuffix = ".limit"

// rule is one line to write into a file of the cgroup tree.
type rule struct{ file, text string }

func formatRules(rules []rule) string {
	var b strings.Builder
	for _, r := range rules {
		b.WriteString(r.file + "\t" + r.text + "\n")
	}
	return b.String()
}

func parseRules(text string) ([]rule, error) {
	var out []rule
	for line := range strings.Lines(text) {
		file, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !path.IsAbs(file) {
			return nil, fmt.Errorf("parse noted limit %q", line)
		}
		out = append(out, rule{file, value})
	}
	return out, nil
}

// writeRules writes as many rules as it can. A cgroup that no longer exists has no limits.
func writeRules(root kernel.Root, rules []rule) error {
	var errs []error
	for _, r := range rules {
		if err := root.WriteFile(r.file, []byte(r.text)); err != nil && !kernel.IsGone(err) {
			errs = append(errs, fmt.Errorf("limit disk: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Dir is where the disk is mounted in the host.
func (d *Disk) Dir() string { return d.dir }

// Close unmounts the disk and removes its limit. Close the servers on it first.
func (d *Disk) Close(ctx context.Context) error {
	errs := []error{d.unmount(ctx, d.dir)}
	if d.back != "" {
		errs = append(errs, d.unmount(ctx, d.back))
	}
	return errors.Join(append(errs, releaseDisk(d.root, d.record()))...)
}

func (d *Disk) unmount(ctx context.Context, dir string) error {
	if _, err := d.host.Run(ctx, "mountpoint", "-q", dir); err != nil {
		return nil // the disk was not mounted
	}
	return d.run(ctx, "umount", dir)
}

// ReleaseDisks removes the limits of disks below the host directory dir when the host was
// killed before it could. Call it before removing dir.
func ReleaseDisks(root kernel.Root, dir string) error {
	records, err := filepath.Glob(filepath.Join(dir, "disk-*"+recordSuffix))
	if err != nil {
		return fmt.Errorf("find noted limits: %w", err)
	}
	var errs []error
	for _, r := range records {
		errs = append(errs, releaseDisk(root, r))
	}
	return errors.Join(errs...)
}

func releaseDisk(root kernel.Root, record string) error {
	b, err := os.ReadFile(record)
	if kernel.IsGone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read noted limit: %w", err)
	}
	rules, err := parseRules(string(b))
	if err != nil {
		return err
	}
	if err := writeRules(root, rules); err != nil {
		return err
	}
	return os.Remove(record)
}
