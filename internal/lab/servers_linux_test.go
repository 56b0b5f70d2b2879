package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/lab/server"
	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

// Real servers of a lab answer real clients in another of its hosts, over the
// lab's links, from a disk of the rate that was asked for, and nothing of them
// is left. The lab's directory may lie where servers have a directory of their
// own (/run).
func TestServersOfALab(t *testing.T) {
	needRights(t)
	labtest.Needs(t, labtest.Root, "ssh", "sshd", "scp", "ganesha.nfsd", "ganesha-vfs", "rpcbind", "nfs-cp", "smbd", "smbclient", "tgtd", "unshare", "mount")
	dir, err := os.MkdirTemp("/run", "linerate-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	topo, err := topology.Find("nas")
	if err != nil {
		t.Fatal(err)
	}
	if topo, err = topo.Serve(map[string][]string{"nas1": {"ssh", "nfs", "smb", "iscsi"}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	l, err := Up(ctx, topo.Scaled(false), selfOptions(filepath.Join(dir, "labs")))
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
	client := serverHost{l, "client1"}
	in := filepath.Join(t.TempDir(), "in")
	want := bytes.Repeat([]byte("what a NAS is for\n"), 200_000)
	if err := os.WriteFile(in, want, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range l.servers {
		if s.kind == "iscsi" {
			continue // its probe has logged in; see package server for blocks
		}
		out := in + "-" + s.kind
		before := carried(ctx, t, l)
		for _, argv := range [][]string{s.Put(in, "file-"+s.kind), s.Get("file-"+s.kind, out)} {
			if text, err := client.Run(ctx, argv...); err != nil {
				t.Fatalf("%s: %q: %v: %s", s.kind, argv, err, text)
			}
		}
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes came back of %d (%v)", s.kind, len(got), len(want), err)
		}
		if n := carried(ctx, t, l) - before; n < unit.Bytes(2*len(want)) {
			t.Errorf("%s: the NAS's link carried %d bytes for two copies of %d", s.kind, n, len(want))
		}
	}
	slowOrSaid(ctx, t, l)
}

// carried is what went over the link of nas1, both ways.
func carried(ctx context.Context, t *testing.T, l *Lab) unit.Bytes {
	t.Helper()
	st, _, err := l.LinkStats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := st.Links["nas1-switch"]
	return unit.Bytes(c[0].WireBytes + c[1].WireBytes)
}

// slowOrSaid: the pool takes as long as its rate says, or the lab says that it
// could not be slowed.
func slowOrSaid(ctx context.Context, t *testing.T, l *Lab) {
	t.Helper()
	if strings.Contains(strings.Join(l.LeftOut(), "\n"), "disk pool of nas1") {
		t.Log(l.LeftOut())
		return
	}
	const size = 100 << 20 // at 800 Mbit/s: a second
	began := time.Now()
	file := filepath.Join(l.StateDir("nas1"), "disk-pool", "big")
	argv := []string{"dd", "if=/dev/zero", "of=" + file, "bs=1M", "count=100", "oflag=direct", "status=none"}
	if out, err := (serverHost{l, "nas1"}).Run(ctx, argv...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rate := unit.BitRate(float64(size) * 8 / time.Since(began).Seconds())
	// It may be slower on a busy machine, not faster.
	if limit := 800 * unit.Mbit; rate > limit*11/10 {
		t.Errorf("the pool took %v where its rate is %v", rate, limit)
	}
}
