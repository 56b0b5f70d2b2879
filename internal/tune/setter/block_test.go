package setter_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// blockTree is a host with a SCSI disk, two paths to a second one, an NVMe
// disk and a loop device. Queues behave as the kernel's: nr_requests is chosen
// anew with each scheduler and at least 4, read-ahead is in pages, a request no
// larger than the hardware takes.
func blockTree(t *testing.T) *settertest.Tree {
	files := map[string]string{
		"/sys/devices/pci0000:00/0000:00:1f.2/host1/block/sda/device/wwid":  "t10.ATA     LR DISK  001\n",
		"/sys/devices/pci0000:00/0000:00:1f.2/host2/block/sdb/device/wwid":  "naa.600\n",
		"/sys/devices/pci0000:00/0000:00:1f.3/host3/block/sdc/device/wwid":  "naa.600\n",
		"/sys/devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n1/wwid":      "eui.0025\n",
		"/sys/devices/pci0000:00/0000:00:06.0/virtio1/block/vda/capability": "0\n",
		"/sys/devices/virtual/block/loop0/loop/x":                           "0\n",
		"/sys/block/sda":     "-> ../devices/pci0000:00/0000:00:1f.2/host1/block/sda",
		"/sys/block/sdb":     "-> ../devices/pci0000:00/0000:00:1f.2/host2/block/sdb",
		"/sys/block/sdc":     "-> ../devices/pci0000:00/0000:00:1f.3/host3/block/sdc",
		"/sys/block/nvme0n1": "-> ../devices/pci0000:00/0000:00:05.0/nvme/nvme0/nvme0n1",
		"/sys/block/vda":     "-> ../devices/pci0000:00/0000:00:06.0/virtio1/block/vda",
		"/sys/block/loop0":   "-> ../devices/virtual/block/loop0",
	}
	dirs := map[string]string{}
	for name, link := range files {
		if to, ok := strings.CutPrefix(link, "-> ../"); ok {
			dirs[strings.TrimPrefix(name, "/sys/block/")] = "/sys/" + to
		}
	}
	for _, dir := range dirs {
		for file, content := range map[string]string{
			"queue/scheduler": "none [mq-deadline] kyber \n", "queue/nr_requests": "64\n", "mq/0/nr_tags": "32\n",
			"queue/read_ahead_kb": "128\n", "queue/max_sectors_kb": "1280\n", "queue/max_hw_sectors_kb": "32767\n", "queue/rq_affinity": "1\n", "queue/nomerges": "0\n",
		} {
			files[dir+"/"+file] = content
		}
	}
	tree := settertest.NewTree(t, files)
	for name := range dirs {
		at := "/sys/block/" + name + "/queue/"
		tree.Takes[at+"scheduler"] = func(old, written string) (string, error) {
			shown, err := choice("none", "mq-deadline", "kyber")(old, written)
			if err != nil || shown == old {
				return old, err
			}
			requests := "64\n"
			if strings.Contains(shown, "[none]") {
				requests = "32\n"
			}
			return shown, tree.Root.WriteFile(at+"nr_requests", []byte(requests))
		}
		tree.Takes[at+"nr_requests"] = number(func(n int) int { return max(n, 4) })
		tree.Takes[at+"read_ahead_kb"] = number(func(n int) int { return n / 4 * 4 })
		tree.Takes[at+"max_sectors_kb"] = func(_, written string) (string, error) {
			if len(strings.TrimSpace(written)) > 5 {
				return "", syscall.EINVAL
			}
			return written, nil
		}
	}
	return tree
}

func TestBlockConforms(t *testing.T) {
	for name, c := range map[string]settertest.Case{
		"scheduler":      {A: "mq-deadline", B: "none", Messy: " mq-deadline\n", Bad: []string{"[none]", "none kyber", "NONE", "none;x", "queue=none", "a/b"}},
		"nr_requests":    {A: "64", B: "256", Messy: "64 ", Rounds: map[string]string{"1": "4"}, Bad: []string{"0", "-4", "65537", "lots"}},
		"read_ahead_kb":  {A: "128", B: "4096", Messy: "128\n", Rounds: map[string]string{"1023": "1020"}, Bad: []string{"-1", "4M", "4194305"}},
		"max_sectors_kb": {A: "1280", B: "4096", Messy: "1280\n", Bad: []string{"0", "-1", "99999999999"}},
		"rq_affinity":    {A: "1", B: "2", Messy: "1 ", Bad: []string{"3", "-1", "on"}},
		"nomerges":       {A: "0", B: "2", Messy: "0 ", Bad: []string{"3", "-1", "yes"}},
	} {
		targets := []string{"wwid:t10.ATA_LR_DISK_001"}
		if name == "read_ahead_kb" {
			targets = append(targets, "at:pci0000:00/0000:00:1f.3/host3", "wwid:eui.0025", "at:pci0000:00/0000:00:06.0/virtio1", "block:loop0")
		}
		for _, target := range targets {
			t.Run(name+" of "+target, func(t *testing.T) {
				tree := blockTree(t)
				c.Setter = setter.NewBlock(tree)
				c.At = setter.Place{Setting: "linux.block." + name, Target: target}
				c.BadAt, c.Absent = nil, nil
				for _, bad := range []string{"", "sda", "wwid:", "block:../x", "block:a/b", "disk:1", "wwid:a b", "at:x\ny"} {
					c.BadAt = append(c.BadAt, setter.Place{Setting: c.At.Setting, Target: bad})
				}
				c.BadAt = append(c.BadAt, setter.Place{Setting: "linux.block.", Target: target}, setter.Place{Setting: "linux.block.write_cache", Target: target})
				// Two paths share naa.600: it is not one device's id.
				for _, absent := range []string{"wwid:naa.600", "wwid:none", "block:sdz", "at:pci0000:00", "dm:x", "serial:y"} {
					c.Absent = append(c.Absent, setter.Place{Setting: c.At.Setting, Target: absent})
				}
				if name == "scheduler" {
					// A shell writes to a plain file, which then shows no choice.
					c.Refuse, c.Vanish = tree.Refuse, tree.VanishAt("/sys/block")
					c.Rest = func() string { return tree.All() }
					settertest.Conform(t, c)
					return
				}
				conformOn(t, tree, "/sys/block", c)
			})
		}
	}
}

// A disk that has an id is not written to by its name, which may be another's
// when it is put back.
func TestBlockByNameOnlyWithoutAnID(t *testing.T) {
	tree := blockTree(t)
	b := setter.NewBlock(tree)
	before := tree.All()
	for _, name := range []string{"sda", "sdc", "nvme0n1", "vda"} {
		at := setter.Place{Setting: "linux.block.read_ahead_kb", Target: "block:" + name}
		if v, err := b.Read(t.Context(), at, ""); v != "128" || err != nil {
			t.Errorf("%s: read %q, %v", at, v, err)
		}
		if err := b.Write(t.Context(), at, "4096"); !errors.Is(err, setter.ErrValue) || !strings.Contains(err.Error(), ": name it ") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if tree.All() != before {
		t.Error("something was written")
	}
}

// A scheduler chooses nr_requests anew: one set by hand would be lost.
func TestSchedulerKeepsRequests(t *testing.T) {
	tree := blockTree(t)
	b := setter.NewBlock(tree)
	sched, requests := setter.Place{Setting: setter.BlockScheduler, Target: "wwid:eui.0025"}, setter.Place{Setting: "linux.block.nr_requests", Target: "wwid:eui.0025"}
	before := tree.All()
	must := func(at setter.Place, v string) {
		t.Helper()
		if err := b.Write(context.Background(), at, v); err != nil {
			t.Fatal(err)
		}
	}
	must(requests, "200")
	if err := b.Write(context.Background(), sched, "none"); !errors.Is(err, setter.ErrSideEffect) || !strings.Contains(err.Error(), "nr_requests to 64") {
		t.Errorf("error %v", err)
	}
	must(sched, "mq-deadline") // it is that already: nothing is lost
	must(requests, "64")
	must(sched, "none")
	must(requests, "16")
	if err := b.Write(context.Background(), sched, "kyber"); !errors.Is(err, setter.ErrSideEffect) || !strings.Contains(err.Error(), "nr_requests to 32") {
		t.Errorf("error %v", err)
	}
	must(requests, "32")
	must(sched, "mq-deadline")
	if after := tree.All(); after != before {
		t.Errorf("there and back:\n%s\nbefore:\n%s", after, before)
	}
}

func TestBlockShellScheduler(t *testing.T) {
	tree := blockTree(t)
	sh, err := setter.NewBlock(tree).Shell(setter.Place{Setting: setter.BlockScheduler, Target: "at:pci0000:00/0000:00:06.0/virtio1"}, "none")
	if err != nil {
		t.Fatal(err)
	}
	if got := runShell(t, "/bin", "set -fu; "+sh.Read); got != "mq-deadline" {
		t.Errorf("read %q:\n%s", got, sh.Read)
	}
	runShell(t, "/bin", "set -fu; value=none; "+sh.Write)
	if b, err := tree.ReadFile("/sys/block/vda/queue/scheduler"); err != nil || string(b) != "none\n" {
		t.Errorf("%q, %v", b, err)
	}
}
