package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"linerate/bench/kit"
	"linerate/internal/lab"
)

// inQuotaLab brings up a host whose kernel counts what users have on a disk of its own, also where that of
// this machine does not.
func (b *bench) inQuotaLab(ctx context.Context, work func(lab.Status) error) error {
	// Its kernel keeps what it has once seen of a directory's rights.
	if err := os.Chmod(b.Home, 0o711); err != nil {
		return err
	}
	text := fmt.Sprintf(topology, "    memory: 1GiB\n    disks: {data: {size: 200MiB}}\n", "", "200us", 1500, gigabit)
	return b.inLabOf(ctx, text, []string{"--kernel", "client1"}, func(s lab.Status) error {
		// What sets quotas there is this program.
		self, err := os.Executable()
		if err == nil {
			err = kit.Do(ctx, "cp", self, b.quotaProgram())
		}
		if err != nil {
			return err
		}
		const prepare = `set -e
umount /dev/ubdb
modprobe quota_v2
mkfs.ext4 -q -F -I 256 -O quota -E quotatype=usrquota /dev/ubdb
mkdir -p /mnt/quota /tmp/nobody
chown 65534:65534 /tmp/nobody
mount -o usrquota /dev/ubdb /mnt/quota
rmdir /mnt/quota/lost+found
`
		if err := b.Inside(ctx, "client1", "sh", "-c", prepare); err != nil {
			return err
		}
		return work(s)
	})
}

func (b *bench) quotaProgram() string { return filepath.Join(b.Home, "bench") }

// labQuota gives a user too little of that disk, then enough. The target is looked at by programs of that
// host, as nobody else sees it.
func (b *bench) labQuota(ctx context.Context, t *tally) (err error) {
	if err := errors.Join(b.tree(), b.forNobody()); err != nil {
		return err
	}
	owned := func(by string) error { return kit.Do(context.WithoutCancel(ctx), "chown", "-R", by, b.src) }
	if err := owned(fmt.Sprint(nobody, ":", nobody)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owned("0:0")) }()
	const anew = `echo 3 >/proc/sys/vm/drop_caches; rm -rf /mnt/quota/to; mkdir /mnt/quota/to && chown 65534:65534 /mnt/quota/to`
	if err := b.Inside(ctx, "client1", "sh", "-c", anew); err != nil {
		return err
	}
	limit := func(kib int) error {
		return b.Inside(ctx, "client1", b.quotaProgram(), "-dir", "/mnt/quota", "-quota-kib", fmt.Sprint(kib))
	}
	copied := func() ([]byte, error) {
		return b.insideAsNobody(ctx, b.Binary, "copy", "--delete", b.src+"/", "/mnt/quota/to").CombinedOutput()
	}
	kib := (1 + b.rand.IntN(12)) << 10
	if err := limit(kib); err != nil {
		return err
	}
	out, ran := copied()
	if t.cut++; ran == nil || !bytes.Contains(out, []byte("quota exceeded")) {
		t.falseDone++
		fmt.Printf("beyond a quota of %d KiB it ended with %v:\n%s\n", kib, ran, out)
	}
	wrong, err := b.insideAsNobody(ctx, "sh", "-c", compareNamed, "/mnt/quota/to", b.src).Output()
	if err != nil {
		return fmt.Errorf("compare what has its name: %w", err)
	}
	if len(wrong) > 0 {
		t.wrong++
		fmt.Printf("wrong within a quota of %d KiB: %s\n", kib, wrong)
	}
	if err := limit(0); err != nil {
		return err
	}
	if out, err := copied(); err != nil {
		t.unfinished++
		fmt.Printf("the last copy failed: %v\n%s\n", err, out)
		return nil
	}
	if out, err := b.insideAsNobody(ctx, "diff", "-r", b.src, "/mnt/quota/to").CombinedOutput(); err != nil {
		t.falseDone++
		fmt.Printf("done, and not the same: %v\n%s\n", err, out)
	}
	return nil
}

// insideAsNobody is a command on the lab's host, without root's rights.
func (b *bench) insideAsNobody(ctx context.Context, argv ...string) *exec.Cmd {
	as := []string{"lab", "exec", "client1", "--", "setpriv", "--reuid", fmt.Sprint(nobody), "--regid", fmt.Sprint(nobody), "--clear-groups",
		"env", "HOME=/tmp/nobody", "XDG_RUNTIME_DIR=/tmp/nobody", "XDG_DATA_HOME=/tmp/nobody"}
	return b.Command(ctx, append(as, argv...)...)
}
