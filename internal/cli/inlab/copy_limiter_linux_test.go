package inlab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"linerate/internal/app/copy"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

// copyLab has a disk in memory and a slow one at each end of a path of 1 Gbit/s and 20 ms.
const copyLab = `name: copies
title: two hosts with disks
hosts:
  client1:
    interfaces:
      eth0: {address: 10.10.0.1/24}
    disks: {slow: {size: 1GiB, rate: 400Mbit/s}, fast: {size: 1GiB}}
  server1:
    interfaces:
      eth0: {address: 10.10.0.2/24}
    disks: {slow: {size: 1GiB, rate: 400Mbit/s}, fast: {size: 1GiB}}
links:
  - {between: [client1.eth0, server1.eth0], rate: 10Gbit/s, rtt: 20ms}
flow: {from: [client1], to: server1, via: eth0}
`

// held is a copy in that lab, and what is to be named.
type held struct {
	name, from, to string
	mib            string
	fault          []string
	args           []string
	want           model.LimiterID
	at             string
}

// What holds a copy back is put there, and then named: nothing of it is told to the copy. Each is tried
// again by itself, or skipped: one that others on this machine spoiled does not take the rest along.
func TestTheLimiterOfACopyInALab(t *testing.T) {
	labtest.Long(t)
	labtest.Needs(t, labtest.Root, labtest.Namespaces, "mkfs.ext4", "losetup", "findmnt", "mount")
	u := newLabUser(t, 0)
	file := filepath.Join(t.TempDir(), "copies.yaml")
	if err := os.WriteFile(file, []byte(copyLab), 0o644); err != nil {
		t.Fatal(err)
	}
	u.run(t, "lab", "up", file)
	for _, c := range []held{
		{"nothing", "fast", "fast", "300", nil, nil, model.None, ""},
		{"the target's disk", "fast", "slow", "20", nil, nil, model.TargetStorage, "lab:server1"},
		{"the source's disk", "slow", "fast", "40", nil, nil, model.SourceStorage, "lab:client1"},
		{"the window", "fast", "fast", "60", []string{"rcv-window-sysctl", "severe"}, nil, model.ReceiverWindow, "lab:server1"},
		{"the sender's CPU", "fast", "fast", "60", []string{"sender-cpu", "medium"}, nil, model.SenderCPU, "lab:client1"},
		{"the receiver's CPU", "fast", "fast", "60", []string{"receiver-cpu", "medium"}, nil, model.ReceiverCPU, "lab:server1"},
		{"--limit", "fast", "fast", "40", nil, []string{"--limit", "15MB"}, model.ApplicationSource, "lab:client1"},
		{"loss", "fast", "fast", "15", []string{"loss-random", "severe"}, nil, model.PathLoss, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			labtest.Tries(t, 3, func(t testing.TB) { c.isNamed(t, u) })
		})
	}
}

func (c held) isNamed(t testing.TB, u labUser) {
	t.Helper()
	from, to := disk(t, u, "client1", c.from), disk(t, u, "server1", c.to)
	if c.want == model.PathLoss { // bbr is not held back by so little of it
		u.run(t, "lab", "exec", "client1", "--", "sh", "-c", "echo reno >/proc/sys/net/ipv4/tcp_congestion_control")
	}
	u.run(t, "lab", "exec", "client1", "--", "sh", "-c", `head -c "$1"M /dev/urandom >"$0"/data; sync -f "$0"/data`, from, c.mib)
	after := func(args ...string) {
		if _, err := u.try(append([]string{"lab"}, args...)...); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		after("exec", "client1", "--", "rm", from+"/data")
		after("exec", "server1", "--", "rm", "-rf", to+"/copy")
	})
	if c.fault != nil {
		u.run(t, append([]string{"lab", "fault", "add"}, c.fault...)...)
		t.Cleanup(func() {
			for _, f := range u.status(t, "copies").Faults {
				after("fault", "remove", strconv.Itoa(f.Number))
			}
		})
	}
	l := copied(t, u, append([]string{"lab:client1:" + from + "/data", "lab:server1:" + to + "/copy"}, c.args...)...)
	t.Logf("%s: %s (%.2f) %q", c.name, l.Text, l.Confidence, l.Evidence)
	// Of reno on this path: less loss, or another control, makes it faster.
	either := c.want == model.PathLoss && l.ID == model.CongestionControl
	if !either && (l.ID != c.want || l.Host != c.at) {
		t.Errorf("%s: named %s at %q, want %s at %q", c.name, l.ID, l.Host, c.want, c.at)
	}
}

// disk is where a host's disk is mounted.
func disk(t testing.TB, u labUser, host, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(u.dir, "linerate", "lab-*", host, "disk-"+name))
	if err != nil || len(found) != 1 {
		t.Fatalf("disk %s of %s: %q, %v", name, host, found, err)
	}
	return found[0]
}

// copied is what held a copy back that is done.
func copied(t testing.TB, u labUser, args ...string) *copy.Limiter {
	t.Helper()
	var r copy.Result
	if err := json.Unmarshal([]byte(u.run(t, append([]string{"copy", "--json"}, args...)...)), &r); err != nil {
		t.Fatal(err)
	}
	if r.State != "done" || r.Limiter == nil {
		t.Fatalf("%s, limiter %v", r.State, r.Limiter)
	}
	return r.Limiter
}
