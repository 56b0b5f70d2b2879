package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
)

// killedMiB is the large file of copies to a mount that are killed: they take some 5 s.
const killedMiB = 512

// mountKill names the kind of fault in which copies to a mount of a kind of server are killed.
func mountKill(kind string) string {
	return "in a lab: kill -9 of a copy to a mount of " + strings.ToUpper(kind) + ", up to three times"
}

// inKillLab brings up a server of a kind and a client, with a kernel of its own, that has mounted it.
func (b *bench) inKillLab(kind string) func(context.Context, func(lab.Status) error) error {
	return func(ctx context.Context, work func(lab.Status) error) error {
		return b.inMountLab(ctx, kind, "200us", killedMiB, func(s lab.Status) error {
			dir, err := b.attach(ctx, s, kind)
			if err != nil {
				return err
			}
			b.fresh = false // the next kind takes another source
			if _, err := b.smallIn(100, 50, 16<<10); err != nil {
				return err
			}
			if _, err := b.write(filepath.Join(b.src, "large"), killedMiB<<20); err != nil {
				return err
			}
			return errors.Join(work(s), b.Inside(context.WithoutCancel(ctx), "client1", "umount", dir))
		})
	}
}

// killAfter runs a copy, kills it after some seconds, and says how it ended and what it had written.
const killAfter = `"$@" >/tmp/said 2>&1 & p=$!
sleep "$0"
n=$(awk '/^wchar/ {print $2}' /proc/$p/io 2>/dev/null)
kill -9 $p 2>/dev/null
wait $p
echo $? ${n:-0}
`

// undisturbed runs a copy that may say that owners and modes were not kept, as it does on SMB.
const undisturbed = `"$@" >/tmp/told 2>/tmp/said || [ $? = 6 ] || { cat /tmp/said >&2; exit 1; }
cat /tmp/told
`

// compareNamed names the files below a directory that differ from those of the source.
const compareNamed = `cd "$0" && find . -type f ! -name '*linerate*' -exec sh -c 'cmp -s "$1" "$0/$1" || echo "$1"' "$1" {} \;`

// killedOnMount kills copies to the mount of a client, whose kernel keeps what they had open, and what they
// had not sent, for a while. In half of the cases the next copy begins at once, else names are compared before.
func (b *bench) killedOnMount(kind string) func(context.Context, *tally) error {
	to := mountAt(kind) + "/t"
	return func(ctx context.Context, t *tally) error {
		const anew = `rm -rf "$0" && mkdir "$0" && sync && echo 3 >/proc/sys/vm/drop_caches`
		if err := b.Inside(ctx, "client1", "sh", "-c", anew, to); err != nil {
			return err
		}
		had := int64(0)
		for range 1 + b.rand.IntN(3) {
			after := time.Duration(300+b.rand.IntN(4500)) * time.Millisecond
			script := []string{"sh", "-c", killAfter, fmt.Sprint(after.Seconds())}
			out, err := b.onClient(ctx, script, b.mountCopy(to)).Output()
			if err != nil {
				return err
			}
			status, wrote := 0, int64(0)
			if _, err := fmt.Sscan(string(out), &status, &wrote); err != nil {
				return fmt.Errorf("read how a copy ended: %w: %q", err, out)
			}
			if had += wrote; status != killedStatus {
				t.ended(false, endedWith(status), fmt.Sprintf("kill after %v", after), nil)
				break
			}
			t.cut++
			if b.rand.IntN(2) == 0 {
				if err := b.namedRight(ctx, t, to); err != nil {
					return err
				}
			}
		}
		if t.cut == 0 {
			t.cases--
		}
		return b.lastOnMount(ctx, t, to, had)
	}
}

// killedStatus is what a shell has as the status of a command that SIGKILL ended.
const killedStatus = 128 + 9

// endedWith is why a copy ended with a status; nil: it did its work, as far as a mount keeps it.
func endedWith(status int) error {
	if status == 0 || status == 6 {
		return nil
	}
	return fmt.Errorf("exit status %d", status)
}

// mountCopy is a copy to a mount, with directories that a client can write to.
func (b *bench) mountCopy(to string, more ...string) []string {
	user := []string{"env", "HOME=/tmp", "XDG_RUNTIME_DIR=/tmp", "XDG_DATA_HOME=/tmp"}
	return slices.Concat(user, []string{b.Binary, "copy", b.src + "/", to}, more)
}

// onClient is a command on the client.
func (b *bench) onClient(ctx context.Context, argv ...[]string) *exec.Cmd {
	return b.Command(ctx, append([]string{"lab", "exec", "client1", "--"}, slices.Concat(argv...)...)...)
}

// namedRight counts files that have their names on a mount and another content than the source.
func (b *bench) namedRight(ctx context.Context, t *tally, to string) error {
	out, err := b.onClient(ctx, []string{"sh", "-c", compareNamed, to, b.src}).Output()
	if err != nil {
		return fmt.Errorf("compare what has its name: %w", err)
	}
	if len(out) > 0 {
		t.wrong++
		fmt.Printf("wrong on a mount after a kill: %s\n", out)
	}
	return nil
}

// lastOnMount copies once more, undisturbed, and compares; had is what those before have written.
func (b *bench) lastOnMount(ctx context.Context, t *tally, to string, had int64) error {
	var last struct {
		told
		Losses []struct{ What, Path, Detail string }
	}
	begun := time.Now()
	err := kit.Decode(b.onClient(ctx, []string{"sh", "-c", undisturbed, "-"}, b.mountCopy(to, "--json")), &last)
	for _, l := range last.Losses {
		if l.What == "failed" {
			err = errors.Join(err, fmt.Errorf("%s: %s", l.Path, l.Detail))
		}
	}
	fmt.Fprintf(os.Stderr, "written until the last kill: %d MiB; the next copy kept %d, and sent %d in %.1f s\n",
		had>>20, last.Moved.Resumed>>20, last.Moved.Bytes>>20, time.Since(begun).Seconds())
	if err != nil {
		t.unfinished++
		fmt.Printf("the last copy to a mount failed: %v\n", err)
		return ctx.Err()
	}
	if err := b.Inside(ctx, "client1", "sh", "-c", `diff -rq "$0" "$1" >&2`, b.src, to); err != nil {
		t.falseDone++
		fmt.Printf("done on a mount: %v\n", err)
	}
	return ctx.Err()
}
