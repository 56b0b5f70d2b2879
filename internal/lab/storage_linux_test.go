package lab

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/lab/server"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/uml"
)

// A kernel's own clients mount what kernels and user-space servers serve, and
// what is written there is what is read after the caches were emptied.
func TestStorageOfKernels(t *testing.T) {
	labtest.Long(t)
	needRights(t)
	if _, err := uml.Find("/"); errors.Is(err, uml.ErrMissing) || errors.Is(err, uml.ErrCPU) {
		t.Skip(err)
	}
	labtest.Needs(t, "mount.cifs", "iscsistart", "modprobe", "findmnt", "mount", "mkfs.ext4", "tgtd", "smbd", "unshare")
	topo, err := topology.Find("nas")
	if err == nil {
		topo, err = topo.WithKinds(map[string]topology.Kind{"client1": topology.Kernel, "client2": topology.Kernel})
	}
	if err == nil {
		topo, err = topo.Serve(map[string][]string{"nas1": {"nfs", "smb"}, "client2": {"nfs", "iscsi"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	l, err := Up(ctx, topo.Scaled(false), plainOptions(t, filepath.Join(t.TempDir(), "state")))
	if errors.Is(err, server.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, s := range l.servers {
		t.Run(s.host+" "+s.kind, func(t *testing.T) {
			c := kernelClient{ctx, t, l}
			if s.kind == "iscsi" {
				c.initiator(l.Addr(s.host).String())
				return
			}
			dir := "/mnt/" + s.host + "-" + s.kind
			c.run("mkdir", "-p", dir)
			c.run(s.Mount(dir)...)
			c.copyTo(filepath.Join(dir, "file"))
			options := c.run("findmnt", "-n", "-o", "FSTYPE,OPTIONS", dir)
			if want := map[string]string{"nfs": "nfs4", "smb": "cifs"}[s.kind]; !strings.HasPrefix(options, want) || s.kind == "nfs" && !strings.Contains(options, "vers=4.2") {
				t.Errorf("mounted as %s", options)
			}
			c.run("umount", dir)
		})
	}
}

// kernelClient is client1, which does what its user types.
type kernelClient struct {
	ctx context.Context
	t   *testing.T
	l   *Lab
}

func (c kernelClient) run(argv ...string) string {
	c.t.Helper()
	out, err := c.l.Run(c.ctx, "client1", argv...)
	if err != nil {
		c.t.Fatalf("%q: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// copyTo writes there what cannot be made up, and reads it back past the
// cache.
func (c kernelClient) copyTo(path string) {
	c.t.Helper()
	c.run("sh", "-c", `head -c 3000000 /dev/urandom >/tmp/sent && dd if=/tmp/sent of="$0" bs=1M conv=fsync status=none && echo 3 >/proc/sys/vm/drop_caches`, path)
	if out := c.run("sh", "-c", `head -c 3000000 "$0" | cmp - /tmp/sent && echo same`, path); out != "same" {
		c.t.Errorf("%s: %s", path, out)
	}
}

// initiator logs in at the target and uses its unit.
func (c kernelClient) initiator(addr string) {
	c.t.Helper()
	c.run("modprobe", "-a", "iscsi_tcp", "sd_mod")
	c.run("iscsistart", "-i", "iqn.2026-01.lab.linerate:client1", "-t", "iqn.2026-01.lab.linerate:share", "-g", "1", "-a", addr, "-p", "3260")
	disk := c.run("sh", "-c", "for i in $(seq 100); do ls /sys/block | grep -m1 ^sd && exit; sleep 0.1; done; exit 1")
	c.copyTo("/dev/" + disk)
}
