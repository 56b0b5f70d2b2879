package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
)

// topology is two hosts and a cable between them, with the lines of each host's own.
const topology = `name: copies
title: two hosts that copy
hosts:
  client1:
%[1]s    interfaces:
      eth0: {address: 10.10.0.1/24, mtu: %[4]d}
  server1:
%[2]s    interfaces:
      eth0: {address: 10.10.0.2/24, mtu: %[4]d}
links:
  - {between: [client1.eth0, server1.eth0], rate: %[5]s, rtt: %[3]s}
flow: {from: [client1], to: server1, via: eth0}
`

// Rates of lines.
const (
	gigabit    = "1Gbit/s"
	tenGigabit = "10Gbit/s"
)

// inLab brings two hosts up, at the ends of a line of this rate, round trip and MTU.
func (b *bench) inLab(ctx context.Context, rate, rtt string, mtu int, more []string, work func(lab.Status) error) error {
	client := ""
	if len(more) > 0 && more[0] == "--kernel" {
		client = "    memory: 1GiB\n"
	}
	return b.inLabOf(ctx, fmt.Sprintf(topology, client, "", rtt, mtu, rate), more, work)
}

// inMountLab brings up a server of a kind with room for a file of so many MiB, and a client with a kernel
// of its own that has room for another; its file system of files in memory takes half of that.
func (b *bench) inMountLab(ctx context.Context, kind, rtt string, mib int, work func(lab.Status) error) error {
	const besides = 1024
	client := fmt.Sprintf("    memory: %dMiB\n", 2*mib+besides)
	server := fmt.Sprintf("    disks: {pool: {size: %dMiB}}\n    servers: [{kind: %s, disk: pool}]\n", mib+besides, kind)
	return b.inLabOf(ctx, fmt.Sprintf(topology, client, server, rtt, 1500, gigabit), []string{"--kernel", "client1"}, work)
}

func (b *bench) inLabOf(ctx context.Context, text string, more []string, work func(lab.Status) error) error {
	at := filepath.Join(b.Home, "copies.yaml")
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		return err
	}
	return b.Lab(ctx, append([]string{at, "--full-rate"}, more...), work)
}

// wan is copies over 16 ms at a rate, to a host's sshd. The time includes logging in, and
// for linerate that it takes itself there.
func (b *bench) wan(ctx context.Context, rate string) error {
	return b.inLab(ctx, rate, "16ms", 1500, []string{"--serve", "server1=ssh"}, func(lab.Status) error {
		conf, err := filepath.Glob(filepath.Join(b.Home, "linerate", "lab-*", "server1", "*", "ssh_config"))
		if err != nil || len(conf) != 1 {
			return fmt.Errorf("find the ssh configuration of the lab's server: %q, %w", conf, err)
		}
		bin := filepath.Join(b.Home, "wan")
		link := fmt.Sprintf("#!/bin/sh\nexec /usr/bin/ssh -F %s -c aes128-gcm@openssh.com \"$@\"\n", conf[0])
		if err := errors.Join(os.MkdirAll(bin, 0o755), os.WriteFile(filepath.Join(bin, "ssh"), []byte(link), 0o755)); err != nil {
			return err
		}
		arms := wanArms(bin, path.Dir(conf[0]))
		once := func(ctx context.Context, a arm) (figures, error) {
			f, err := b.once(ctx, a)
			return figures{took: f.took}, err // the server's processes are in a group of the lab
		}
		n, err := b.large(b.mib / 4)
		if err != nil {
			return err
		}
		if err := b.row(ctx, fmt.Sprintf("by ssh over 16 ms, %s, one file of %d MiB", rate, b.mib/4), n, 1, once, arms); err != nil {
			return err
		}
		if n, err = b.small(b.files/5, 16<<10); err != nil {
			return err
		}
		return b.row(ctx, fmt.Sprintf("by ssh over 16 ms, %s, %d files of 16 KiB", rate, b.files/5), n, b.files/5, once, arms)
	})
}

func wanArms(bin, keys string) []arm {
	in := func(b *bench, argv ...string) []string {
		// A user's directories of the bench, so that its lab is not this copy's.
		return append([]string{b.Binary, "lab", "exec", "client1", "--", "env", "PATH=" + bin + ":" + os.Getenv("PATH")}, argv...)
	}
	to := func(b *bench) string { return "10.10.0.2:" + b.dst }
	return []arm{
		{"linerate copy", "", func(b *bench) []string { return in(b, b.Binary, "copy", b.src+"/", to(b)) }},
		{"linerate copy --plain", "", func(b *bench) []string { return in(b, b.Binary, "copy", "--plain", b.src+"/", to(b)) }},
		{"rsync -aHAXS over ssh", "rsync", func(b *bench) []string { return in(b, "rsync", "-aHAXS", b.src+"/", to(b)) }},
		{"scp -rp", "scp", func(b *bench) []string { return in(b, "scp", "-rpq", "-S", bin+"/ssh", b.src+"/.", to(b)) }},
		{"rclone to sftp", "rclone", func(b *bench) []string {
			return in(b, b.rclone("--transfers", "8", b.src, ":sftp,host=10.10.0.2,user=root,key_file="+keys+"/user_key:"+b.dst)...)
		}},
	}
}

// onMounts are copies to and from a mount of a host with a kernel of its own, over a path of this round
// trip. The numbers of small files are those that an emulated kernel bears.
func onMounts(kind, rtt string, files, each int) part {
	return part{"mounts " + kind + " " + rtt, func(b *bench, ctx context.Context) error {
		return b.inMountLab(ctx, kind, rtt, b.mib, func(s lab.Status) error {
			return b.onMount(ctx, s, kind, rtt, files, each)
		})
	}}
}

// mountAt is where a client mounts a server of a kind.
func mountAt(kind string) string { return "/mnt/" + kind }

// attach has the client mount what a server of the lab serves.
func (b *bench) attach(ctx context.Context, s lab.Status, kind string) (dir string, err error) {
	dir = mountAt(kind)
	for _, server := range s.Servers {
		if server.Kind != kind {
			continue
		}
		for _, argv := range kit.Attach(server, "10.10.0.2", dir, 1).Attach {
			if err := b.Inside(ctx, "client1", argv...); err != nil {
				return "", err
			}
		}
	}
	return dir, nil
}

// onMount runs all rows of one mount; each is how many files each of 8 directories has.
func (b *bench) onMount(ctx context.Context, s lab.Status, kind, rtt string, files, each int) error {
	dir, err := b.attach(ctx, s, kind)
	if err != nil {
		return err
	}
	for _, work := range []struct {
		name  string
		files int
		fill  func() (int64, error)
	}{
		{fmt.Sprintf("one file of %d MiB", b.mib), 1, func() (int64, error) { return b.large(b.mib) }},
		{fmt.Sprintf("%d files of 64 KiB", files), files, func() (int64, error) { return b.small(files, 64<<10) }},
		{fmt.Sprintf("%d files of 64 KiB in 8 directories", 8*each), 8 * each, func() (int64, error) { return b.smallIn(8*each, each, 64<<10) }},
	} {
		n, err := work.fill()
		if err != nil {
			return err
		}
		// From the mount: what the last copy to it has left there, or linerate's, if that one failed.
		for _, way := range []struct{ name, from, to string }{{"to", b.src, dir + "/t"}, {"from", dir + "/t", "/tmp/t"}} {
			once := func(ctx context.Context, a arm) (figures, error) { return b.inside(ctx, a, dir, way.to) }
			if way.name == "from" && b.same(ctx, way.from) != nil {
				if _, err := b.inside(ctx, mountArms(b.src, way.from)[0], dir, way.from); err != nil {
					return err
				}
			}
			if err := b.row(ctx, fmt.Sprintf("%s a mount of %s at %s, %s", way.name, strings.ToUpper(kind), rtt, work.name), n, work.files, once, mountArms(way.from, way.to)); err != nil {
				return err
			}
		}
	}
	return b.Inside(ctx, "client1", "umount", dir)
}

func mountArms(from, to string) []arm {
	durable := func(argv ...string) []string {
		return append([]string{"sh", "-c", `"$@" && sync -f "$0"`, to}, argv...)
	}
	return []arm{
		{"linerate copy", "", func(b *bench) []string {
			// On SMB owners are not kept, which every file says: exit code 6.
			return []string{"sh", "-c", `"$@" >/tmp/said 2>&1 || [ $? = 6 ] || { cat /tmp/said >&2; exit 1; }`, "-", "env", "HOME=/tmp", "XDG_RUNTIME_DIR=/tmp", "XDG_DATA_HOME=/tmp", b.Binary, "copy", from + "/", to}
		}},
		{"cp -a", "cp", func(*bench) []string {
			// On SMB owners are not kept here either; what was copied is compared.
			return durable("sh", "-c", `cp -a "$0/." "$1" 2>/dev/null; true`, from, to)
		}},
		{"rsync -a", "rsync", func(*bench) []string {
			return durable("sh", "-c", `rsync -a "$0/" "$1" 2>/dev/null || [ $? = 23 ]`, from, to)
		}},
		{"rclone copy -M", "rclone", func(b *bench) []string { return durable(b.rclone("-M", "--links", from, to)...) }},
	}
}

// inside runs one program on the client, with its caches dropped and an absent target. What it has copied is
// held against the source then, whatever it says.
func (b *bench) inside(ctx context.Context, a arm, mount, to string) (f figures, err error) {
	script := `rm -rf "$1"; mkdir "$1"; sync; echo 3 >/proc/sys/vm/drop_caches; mount -o remount "$0" 2>/dev/null; true`
	if err := b.Inside(ctx, "client1", "sh", "-c", script, mount, to); err != nil {
		return f, err
	}
	begun := time.Now()
	err = b.Inside(ctx, "client1", a.argv(b)...)
	f.took = time.Since(begun)
	if err == nil {
		err = b.same(ctx, to)
	}
	return f, err
}

// compareTrees holds a tree on the client against another: the names and data of all files, or of a large one
// its size, every 64th MiB and the last, since all of it would take as long as a copy.
const compareTrees = `exec >&2
a="$0/large" b="$1/large"
[ -e "$a" ] || exec diff -rq "$0" "$1"
size=$(stat -c %s "$a") at=0 mib=1048576
[ "$size" = "$(stat -c %s "$b")" ] || { echo "$b is not of $size bytes"; exit 1; }
while [ $at -lt $size ]; do
	cmp -i $at -n $mib "$a" "$b" || exit 1
	at=$((at + 64*mib))
done
cmp -i $((size - mib)) "$a" "$b"
`

// same holds a copy on the client against the source.
func (b *bench) same(ctx context.Context, to string) error {
	if err := b.Inside(ctx, "client1", "sh", "-c", compareTrees, b.src, to); err != nil {
		return fmt.Errorf("compare what was copied: %w", err)
	}
	return nil
}
