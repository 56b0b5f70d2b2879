package loop

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/explain"
	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
)

// A disk of a session to the server is what the server's directory is served
// as; of two it cannot be told which.
func TestFindExportOfADisk(t *testing.T) {
	portal := netip.AddrPortFrom(sendAddr, 3260)
	session := model.ISCSISession{Name: "session1", Target: "iqn.2026-01.lab:share", Conns: []model.ISCSIConn{{Portal: portal}}}
	client := &model.Facts{ISCSI: []model.ISCSISession{session}, Disks: []model.Disk{{Name: "vda"}, {Name: "sda", Session: "session1"}}}
	server := &model.Facts{
		NICs:   []model.NIC{{Name: "eth0", Addrs: []netip.Prefix{netip.PrefixFrom(sendAddr, 24)}}},
		Mounts: []model.Mount{{Source: "/dev/root", Point: "/", Type: "ext4", Dev: "8:1"}, {Source: "/dev/sdb", Point: "/srv", Type: "ext4", Dev: "8:16"}},
	}
	e := FindExport(client, server, "/srv/unit")
	if e.Disk != "sda" || e.Dir != "/dev/sda" || e.Mount.Type != iscsiType || e.Mount.Options["addr"] != sendAddr.String() || e.Device != "8:16" || e.Path != "/srv/unit" {
		t.Errorf("%+v", e)
	}
	if w := e.clientWatch(sendAddr); w.Disk != "sda" || w.Mount != "" || w.Share != "" || !slices.Equal(w.Ports, []uint16{3260}) {
		t.Errorf("%+v", w)
	}
	if w := e.serverWatch(recvAddr); w.Serves == nil || w.Serves.Disk != "8:16" || !w.FindOwners {
		t.Errorf("%+v", w)
	}
	client.Disks = append(client.Disks, model.Disk{Name: "sdb", Session: "session1"})
	if e := FindExport(client, server, "/srv/unit"); e.Disk != "" || e.Mount.Point != "" {
		t.Errorf("of two: %+v", e)
	}
	server.Mounts = append(server.Mounts, model.Mount{Source: "tank/srv", Point: "/tank", Type: "zfs", Dev: "0:45"})
	if e := FindExport(client, server, "/tank/x"); e.Device != "" {
		t.Errorf("a file system without a device of its own has %q", e.Device)
	}
}

// A transfer that runs is judged from both ends, without load.
func TestWatchExport(t *testing.T) {
	w := &world{value: original, mounts: []model.Mount{nfsMount}}
	c, said := climbing(w, &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas"})
	rec, err := c.WatchExport(t.Context(), time.Millisecond)
	if err != nil || rec == nil {
		t.Fatal(rec, err)
	}
	r := rec.Results
	if r.Verdict.Limiter != model.ReceiverWindow || len(r.Runs) != 1 || len(r.Runs[0].Samples) != 2 || r.Runs[0].Goodput < 100e6 || len(r.Ladder) == 0 {
		t.Errorf("%s: %d runs", r.Verdict.Line, len(r.Runs))
	}
	for _, s := range *said {
		if strings.HasPrefix(s, "load:") {
			t.Error(s)
		}
	}
	w.still = true
	if rec, err := c.WatchExport(t.Context(), time.Millisecond); err != nil || rec != nil {
		t.Errorf("idle: %+v, %v", rec, err)
	}
}

// Where nothing moves a target is read, if that is allowed.
func TestWatchReadsItself(t *testing.T) {
	t.Parallel()
	w := &world{value: original, still: true}
	var said []string
	watch := Watch{Agent: &fakeAgent{w: w, name: "client1", sender: false}, Host: "client1", For: time.Millisecond, Wait: 0,
		Target: Target{Name: "/mnt/nas", Peers: []netip.Addr{sendAddr}}, Now: time.Now,
		Progress: func(s string) { said = append(said, s) }}
	if _, err := inNoTime(t, watch.Run); err == nil {
		t.Error("an idle mount was judged without leave to read it")
	}
	if slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "load:") }) {
		t.Errorf("read without leave: %q", said)
	}
	watch.Read = &load.ReadSpec{Dir: "/mnt/nas", Cache: load.Dropped}
	rec, err := inNoTime(t, watch.Run)
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if len(r.Runs) != 1 || r.Runs[0].Goodput < 1.1e8 || r.Runs[0].Goodput > 1.3e8 || r.Verdict.Line == "" || len(r.Ladder) == 0 {
		t.Errorf("%+v", r)
	}
	if !slices.ContainsFunc(said, func(s string) bool {
		return strings.HasPrefix(s, "load: client1 reads /mnt/nas/films/large for at most")
	}) {
		t.Errorf("the load is not said: %q", said)
	}
}

// With leave to write, and only below what is watched, a file is written instead.
func TestWatchWritesItself(t *testing.T) {
	t.Parallel()
	w := &world{value: original, still: true}
	var said []string
	watch := Watch{Agent: &fakeAgent{w: w, name: "client1", sender: false}, Host: "client1", For: time.Millisecond, Wait: 0,
		Target: Target{Name: "/mnt/nas", Peers: []netip.Addr{sendAddr}}, Now: time.Now, Write: "/mnt/nas/scratch",
		Progress: func(s string) { said = append(said, s) }}
	rec, err := inNoTime(t, watch.Run)
	if err != nil {
		t.Fatal(err)
	}
	if r := rec.Results; len(r.Runs) != 1 || r.Runs[0].Label != "write" || r.Runs[0].Goodput != 8e9 || r.Verdict.Line == "" {
		t.Errorf("%+v", r)
	}
	if !slices.ContainsFunc(said, func(s string) bool {
		return strings.HasPrefix(s, "load: client1 writes /mnt/nas/scratch/linerate-write-1 for at most")
	}) {
		t.Errorf("the load is not said: %q", said)
	}
}

// The climb writes where it was told to, once, after the mount was read; nowhere
// else, and not without being told.
func TestClimbWrites(t *testing.T) {
	for _, c := range []struct {
		dir, how string
		written  bool
	}{
		{"/mnt/nas/scratch", "", true},
		{"/mnt/nas/inner/x", "does not lie on /mnt/nas", false}, // another mount
		{"/mnt/nasty", "does not lie on /mnt/nas", false},
		{"/home", "does not lie on /mnt/nas", false},
		{"", "", false},
	} {
		w := &world{value: original, mounts: []model.Mount{nfsMount, {Source: "/dev/sdz", Point: "/mnt/nas/inner", Type: "ext4"}}}
		climb, said := climbing(w, &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas"})
		climb.Write = c.dir
		rec, err := climb.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		writes := 0
		for _, s := range *said {
			if strings.Contains(s, " writes ") {
				writes++
			}
		}
		last := rec.Results.Ladder[len(rec.Results.Ladder)-1]
		noted := slices.ContainsFunc(rec.Results.Verdict.Notes, func(s string) bool { return strings.HasPrefix(s, "writing: ") })
		if (writes == 1) != c.written || (last.Rung == explain.RungWrite) != (c.dir != "") || noted != c.written {
			t.Errorf("%q: %d writes, last rung %+v, notes %q", c.dir, writes, last, rec.Results.Verdict.Notes)
		}
		if c.dir != "" && (last.Seen != c.written || !strings.Contains(last.How, c.how)) {
			t.Errorf("%q: %+v", c.dir, last)
		}
	}
}

// A file on a mount whose server is gone is never open.
func TestWorkerThatIsNeverReady(t *testing.T) {
	_, err := connectedWithin(t.Context(), neverReady{}, time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "is its server or disk gone?") {
		t.Errorf("%v", err)
	}
}

type neverReady struct{ measure.Worker }

func (neverReady) Connected(ctx context.Context) (worker.Event, error) {
	<-ctx.Done()
	return worker.Event{}, ctx.Err()
}
