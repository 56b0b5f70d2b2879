package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"linerate/bench/kit"
)

// nobody is the user of copies that are not root's.
const nobody = 65534

// asNobody is a copy that runs without root's rights.
func (b *bench) asNobody(ctx context.Context, args ...string) *exec.Cmd {
	cmd := b.Command(ctx, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	home := filepath.Join(b.Home, "nobody")
	cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+home, "HOME="+home, "XDG_DATA_HOME="+home)
	return cmd
}

// forNobody lets that user into the bench's home.
func (b *bench) forNobody() error {
	home := filepath.Join(b.Home, "nobody")
	return errors.Join(os.Chmod(b.Home, 0o711), os.MkdirAll(home, 0o700), os.Chown(home, nobody, nobody), os.Chown(b.dst, nobody, nobody))
}

// unreadable has one file of 10,000 that the user may not read: all others are copied, it is named, and
// the exit code says so.
func (b *bench) unreadable(ctx context.Context, t *tally) error {
	if err := errors.Join(b.manySmall(), b.forNobody()); err != nil {
		return err
	}
	name := smallName(b.rand.IntN(manySmall))
	path := filepath.Join(b.src, name)
	if err := os.Chmod(path, 0); err != nil {
		return err
	}
	// What it keeps differs in owners, which are not compared here.
	out, ran := b.asNobody(ctx, "copy", b.src+"/", b.dst).CombinedOutput()
	if err := os.Chmod(path, 0o644); err != nil {
		return err
	}
	t.cut++
	var ee *exec.ExitError
	if !errors.As(ran, &ee) || ee.ExitCode() != 6 || !strings.Contains(string(out), name) {
		t.falseDone++
		fmt.Printf("with %s unreadable: %v\n%s\n", name, ran, out)
	}
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	for i := range manySmall {
		if other := smallName(i); other != name {
			if _, err := os.Lstat(filepath.Join(b.dst, other)); err != nil {
				t.unfinished++
				fmt.Printf("not copied beside an unreadable file: %v\n", err)
			}
		}
	}
	return b.last(ctx, t)
}

const manySmall = 10000

func smallName(i int) string { return fmt.Sprintf("d%02d/f%05d", i%100, i) }

// manySmall makes the source many files of some bytes.
func (b *bench) manySmall() error {
	b.fresh = false
	if err := errors.Join(os.RemoveAll(b.src), os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755)); err != nil {
		return err
	}
	for i := range manySmall {
		path := filepath.Join(b.src, smallName(i))
		if i < 100 { // each of them makes its directory
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, version(b.rand.IntN(500)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// flipped changes a bit of a file in the target and nothing else of it: a comparison finds it,
// and a copy with --verify full mends it.
func (b *bench) flipped(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	if _, err := b.Run(ctx, "copy", b.src+"/", b.dst); err != nil {
		return err
	}
	path := filepath.Join(b.dst, []string{"large", "middle"}[b.rand.IntN(2)])
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	one, at := make([]byte, 1), b.rand.Int64N(st.Size())
	_, err = f.ReadAt(one, at)
	one[0] ^= 1 << b.rand.IntN(8)
	if err == nil {
		_, err = f.WriteAt(one, at)
	}
	if err := errors.Join(err, f.Sync(), f.Close(), os.Chtimes(path, time.Time{}, st.ModTime())); err != nil {
		return err
	}
	t.cut++
	var ee *exec.ExitError
	if out, err := b.Command(ctx, "copy", "--check", b.src+"/", b.dst).CombinedOutput(); !errors.As(err, &ee) || ee.ExitCode() != 5 {
		t.falseDone++
		fmt.Printf("a bit of %s at %d was not found: %v\n%s\n", path, at, err, out)
	}
	if _, err := b.Run(ctx, "copy", "--verify", "full", b.src+"/", b.dst); err != nil {
		return err
	}
	return b.last(ctx, t)
}

// ancient gives files times that few tools keep, and some of yesterday and tomorrow.
func (b *bench) ancient(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	b.fresh = false
	for i := range 200 {
		at := time.Unix(b.rand.Int64N(17_000_000_000)-2_000_000_000, b.rand.Int64N(1e9)) // 1906 to 2445
		if i%5 == 0 {
			at = time.Now().Add(time.Duration(b.rand.Int64N(int64(96*time.Hour))) - 48*time.Hour)
		}
		path := filepath.Join(b.src, "d", fmt.Sprintf("f%d", i))
		// Chtimes goes by nanoseconds since 1970, which end in 2262.
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Sec: at.Unix(), Nsec: int64(at.Nanosecond())}, {Sec: at.Unix(), Nsec: int64(at.Nanosecond())}}, 0); err != nil {
			return err
		}
	}
	return b.last(ctx, t)
}

// quota gives the user too little of a file system that has room, then enough.
func (b *bench) quota(ctx context.Context, t *tally) (err error) {
	if err := b.tree(); err != nil {
		return err
	}
	image := filepath.Join(b.Home, "image")
	defer os.Remove(image)
	if err := mountQuota(ctx, image, b.dst); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Unmount(b.dst, unix.MNT_DETACH)) }()
	if err := errors.Join(os.Remove(filepath.Join(b.dst, "lost+found")), b.forNobody()); err != nil {
		return err
	}
	if err := setQuota(b.dst, uint64(1+b.rand.IntN(12))<<10); err != nil { // no tree is so small
		return err
	}
	// Owners are not nobody's to keep: the source is made its own.
	if err := kit.Do(ctx, "chown", "-R", fmt.Sprint(nobody, ":", nobody), b.src); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kit.Do(context.WithoutCancel(ctx), "chown", "-R", "0:0", b.src)) }()
	out, ran := b.asNobody(ctx, "copy", b.src+"/", b.dst).CombinedOutput()
	if t.cut++; ran == nil || !bytes.Contains(out, []byte("quota exceeded")) {
		t.falseDone++
		fmt.Printf("beyond its quota it ended with %v:\n%s\n", ran, out)
	}
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	if err := setQuota(b.dst, 0); err != nil {
		return err
	}
	return b.last(ctx, t)
}

// noQuota is why this machine has no quotas to be reached: its kernel, or a program.
func (b *bench) noQuota(ctx context.Context) error {
	at := filepath.Join(b.Home, "quota")
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	image := at + ".image"
	defer func() { _, _ = os.Remove(image), os.Remove(at) }() // they go with the bench's home anyway
	if err := mountQuota(ctx, image, at); err != nil {
		return err
	}
	return errors.Join(setQuota(at, 1), unix.Unmount(at, unix.MNT_DETACH))
}

// mountQuota mounts a new file system that counts what users have.
func mountQuota(ctx context.Context, image, at string) error {
	for _, argv := range [][]string{
		{"truncate", "-s", "200M", image}, {"mkfs.ext4", "-q", "-F", "-O", "quota", "-E", "quotatype=usrquota", image}, {"mount", "-o", "loop,usrquota", image, at},
	} {
		if err := kit.Do(ctx, argv...); err != nil {
			_ = unix.Unmount(at, unix.MNT_DETACH) // mount may have been interrupted after it had mounted
			return err
		}
	}
	return nil
}

// setQuota bounds what nobody may have on a file system, in KiB; 0: no bound (quotactl(2)).
func setQuota(dir string, kib uint64) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	device := ""
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == dir {
			device = f[0]
		}
	}
	special, err := unix.BytePtrFromString(device)
	if err != nil {
		return err
	}
	const setquota, blocks = 0x800008 << 8, 1 // Q_SETQUOTA of USRQUOTA, QIF_BLIMITS
	limits := make([]byte, 72)                // struct if_dqblk
	binary.NativeEndian.PutUint64(limits, kib)
	binary.NativeEndian.PutUint32(limits[64:], blocks)
	if _, _, e := unix.Syscall6(unix.SYS_QUOTACTL, setquota, uintptr(unsafe.Pointer(special)), nobody, uintptr(unsafe.Pointer(&limits[0])), 0, 0); e != 0 {
		return fmt.Errorf("set quota on %s: %w", device, e)
	}
	return nil
}
