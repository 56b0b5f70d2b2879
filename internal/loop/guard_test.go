package loop

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// nicLoad is what an interface carries per second; everything grows at an
// even pace.
type nicLoad struct {
	own, foreignIn, foreignOut unit.BitRate
	errors, drops, packets     int64 // per second
	old                        bool  // a kernel without bytes_sent
}

func (b nicLoad) at(d time.Duration) model.Sample {
	s := d.Seconds()
	bytes := func(r unit.BitRate) int64 { return int64(float64(r) / 8 * s) }
	own := bytes(b.own)
	segs := own / 1448
	c := model.Conn{Local: netip.AddrPortFrom(sendAddr, 40000), Remote: netip.AddrPortFrom(recvAddr, 5201), BytesSent: own, BytesAcked: own, SegsOut: segs, SegsIn: segs / 2}
	if b.old {
		c.BytesSent = 0
	}
	n := model.NICCount{Name: "eth0", TxBytes: own + segs*66 + bytes(b.foreignOut), RxBytes: segs/2*66 + bytes(b.foreignIn),
		TxErrors: int64(float64(b.errors) * s), RxDropped: int64(float64(b.drops) * s), TxPackets: int64(float64(b.packets) * s)}
	return model.Sample{HostAt: time.Unix(100, 0).Add(d), NICs: []model.NICCount{{Name: "lo", RxBytes: 1e12}, n}, Conns: []model.Conn{c}}
}

func guardOf(link unit.BitRate) *guard {
	f := &model.Facts{NICs: []model.NIC{{Name: "lo"}, {Name: "eth0", Addrs: []netip.Prefix{netip.PrefixFrom(sendAddr, 24)}}}}
	g := newGuard(link, &namedAddr{"client1", f, sendAddr})
	g.begin()
	return g
}

func TestGuard(t *testing.T) {
	for _, tc := range []struct {
		name string
		link unit.BitRate
		b    nicLoad
		want string // empty: the load goes on
	}{
		{"ours alone", unit.Gbit, nicLoad{own: 940 * unit.Mbit}, ""},
		{"ours alone, old kernel", unit.Gbit, nicLoad{own: 940 * unit.Mbit, old: true}, ""},
		{"nothing", unit.Gbit, nicLoad{}, ""},
		{"a little of others'", unit.Gbit, nicLoad{own: 800 * unit.Mbit, foreignOut: 90 * unit.Mbit}, ""},
		{"much of others', out", unit.Gbit, nicLoad{own: 700 * unit.Mbit, foreignOut: 120 * unit.Mbit}, "120 Mbit/s of other traffic on eth0 of client1"},
		{"much of others', in", unit.Gbit, nicLoad{own: 700 * unit.Mbit, foreignIn: 120 * unit.Mbit}, "(120 Mbit/s in, 0 bit/s out), more than 10% of the link"},
		{"others before we load", unit.Gbit, nicLoad{foreignIn: 500 * unit.Mbit}, "500 Mbit/s of other traffic"},
		{"link not known, ours alone", 0, nicLoad{own: 940 * unit.Mbit}, ""},
		{"link not known, a login", 0, nicLoad{foreignIn: 2 * unit.Mbit}, ""},
		{"link not known, others", 0, nicLoad{foreignIn: 50 * unit.Mbit}, "state it with --line-rate"},
		{"errors", unit.Gbit, nicLoad{own: 900 * unit.Mbit, errors: 50}, "errors rise on eth0 of client1"},
		{"one error", unit.Gbit, nicLoad{own: 900 * unit.Mbit, errors: 2}, ""},
		{"drops", unit.Gbit, nicLoad{own: 900 * unit.Mbit, drops: 2000, packets: 80000}, "drops rise on eth0 of client1: 2"},
		{"few drops", unit.Gbit, nicLoad{own: 900 * unit.Mbit, drops: 200, packets: 80000}, ""},
	} {
		g := guardOf(tc.link)
		got := ""
		for at := time.Duration(0); at <= 3*time.Second && got == ""; at += 100 * time.Millisecond {
			if why := g.see("client1", tc.b.at(at)); why != nil {
				got = why.Why
				if at < guardSpan {
					t.Errorf("%s: stopped after %v: %s", tc.name, at, got)
				}
			}
		}
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// What a connection moved before it was first seen is ours as well: it began since
// the reading before, which on a busy host is long ago.
func TestGuardCountsABeginningConnection(t *testing.T) {
	g := guardOf(unit.Gbit)
	before := nicLoad{}.at(0)
	before.Conns = nil
	g.see("client1", before)
	for at := 500 * time.Millisecond; at < 3*time.Second; at += 100 * time.Millisecond {
		if why := g.see("client1", nicLoad{own: 940 * unit.Mbit}.at(at)); why != nil {
			t.Fatal(why)
		}
	}
}

// The next rung has connections of its own; the counters of the last one are
// nothing of it. A host that is not watched is none of its business.
func TestGuardBeginsAnew(t *testing.T) {
	g := guardOf(unit.Gbit)
	b := nicLoad{own: 900 * unit.Mbit}
	for at := time.Duration(0); at < 2*time.Second; at += 100 * time.Millisecond {
		g.see("client1", b.at(at))
	}
	g.begin()
	for at := 5 * time.Second; at < 7*time.Second; at += 100 * time.Millisecond {
		if why := g.see("client1", b.at(at)); why != nil {
			t.Fatal(why)
		}
	}
	if why := g.see("server1", nicLoad{foreignIn: 1e9}.at(time.Second)); why != nil {
		t.Error(why)
	}
}

func TestFindExport(t *testing.T) {
	server := &model.Facts{
		NICs:   []model.NIC{{Name: "lo", Addrs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}}, {Name: "eth0", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}}},
		Mounts: []model.Mount{{Point: "/", Type: "ext4"}, {Point: "/export", Type: "xfs", Source: "/dev/md0"}, {Point: "/export/ram", Type: "tmpfs"}, {Point: "/brd", Type: "ext4", Source: "/dev/ram0"}},
	}
	nfs := func(source, point, addr string) model.Mount {
		return model.Mount{Source: source, Point: point, Type: "nfs4", Options: map[string]string{"addr": addr}}
	}
	for _, tc := range []struct {
		name     string
		mounts   []model.Mount
		dir      string
		at, path string // on the client, on the server
		ram      bool
	}{
		{"mounted", []model.Mount{nfs("nas:/export", "/mnt/nas", "10.0.0.2")}, "/export", "/mnt/nas", "/export", false},
		{"below what is mounted", []model.Mount{nfs("nas:/export", "/mnt/nas", "10.0.0.2")}, "/export/ram/x/", "/mnt/nas/ram/x", "/export/ram/x", true},
		{"above what is mounted", []model.Mount{nfs("nas:/export/a", "/mnt/a", "10.0.0.2")}, "/export", "/mnt/a", "/export/a", false},
		{"the root of NFSv4", []model.Mount{nfs("nas:/", "/mnt/all", "10.0.0.2")}, "/brd", "/mnt/all/brd", "/brd", true},
		{"the deeper one", []model.Mount{nfs("nas:/export/a", "/mnt/a", "10.0.0.2"), nfs("nas:/export", "/mnt/nas", "10.0.0.2")}, "/export/a/b", "/mnt/a/b", "/export/a/b", false},
		{"by an address the user named", []model.Mount{nfs("nas:/export", "/mnt/nas", "10.9.9.9")}, "/export", "/mnt/nas", "/export", false},
		{"IPv6 source", []model.Mount{nfs("[fd00::2]:/export", "/mnt/nas", "10.0.0.2")}, "/export", "/mnt/nas", "/export", false},
		{"a root of its own", []model.Mount{nfs("nas:/ram", "/mnt/r", "10.0.0.2")}, "/export/ram/x", "/mnt/r/x", "/export/ram/x", true},
		{"another server's", []model.Mount{nfs("other:/export", "/mnt/o", "10.0.0.3")}, "/export", "", "/export", false},
		{"a name that begins alike", []model.Mount{nfs("nas:/export", "/mnt/nas", "10.0.0.2")}, "/exports", "", "/exports", false},
		{"loopback is no server", []model.Mount{nfs("localhost:/export", "/mnt/nas", "127.0.0.1")}, "/export", "", "/export", false},
		{"a share", []model.Mount{{Source: "//nas/media", Point: "/mnt/m", Type: "cifs", Options: map[string]string{"addr": "10.0.0.2"}}}, "/media/films", "/mnt/m/films", "/media/films", false},
		{"nothing", nil, "/export/ram", "", "/export/ram", true},
	} {
		e := FindExport(&model.Facts{Mounts: tc.mounts}, server, tc.dir, netip.MustParseAddr("10.9.9.9"))
		if e.Dir != tc.at || e.Path != tc.path || e.RAM != tc.ram || (e.Mount.Point == "") != (tc.at == "") {
			t.Errorf("%s: %+v, want %s as %s, RAM %v", tc.name, e, tc.path, tc.at, tc.ram)
		}
	}
}

// Where the server gives NFSv4 a root of its own (fsid=0), a client's name of a directory is
// not the server's: each is read by the name that it has there.
func TestFindExportBelowARoot(t *testing.T) {
	server := &model.Facts{
		NFSD:   model.Known(model.NFSD{Threads: 8, Root: "/srv/nfs"}),
		NICs:   []model.NIC{{Name: "eth0", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}}},
		Mounts: []model.Mount{{Point: "/", Type: "ext4", Dev: "8:1"}, {Point: "/srv/nfs/share", Type: "xfs", Dev: "8:16"}},
	}
	for _, tc := range []struct{ source, kind, dir, at, path, device string }{
		{"nas:/", "nfs4", "/share", "/mnt/share", "/srv/nfs/share", "8:16"},
		{"nas:/", "nfs4", "/srv/nfs/share", "/mnt/share", "/srv/nfs/share", "8:16"},
		{"nas:/share", "nfs4", "/share/a", "/mnt/a", "/srv/nfs/share/a", "8:16"},
		{"nas:/share", "nfs4", "/", "/mnt", "/srv/nfs/share", "8:16"},
		{"nas:/share", "nfs4", "/other", "", "/other", "8:1"},
		{"nas:/srv/nfs/share", "nfs", "/srv/nfs/share", "/mnt", "/srv/nfs/share", "8:16"},
	} {
		m := model.Mount{Source: tc.source, Point: "/mnt", Type: tc.kind, Options: map[string]string{"addr": "10.0.0.2"}}
		e := FindExport(&model.Facts{Mounts: []model.Mount{m}}, server, tc.dir)
		if e.Dir != tc.at || e.Path != tc.path || e.Device != tc.device {
			t.Errorf("%+v: %+v", tc, e)
		}
	}
}

// Samba and NFS-Ganesha serve a directory by a name of its own: what is named is found by
// either name, with the mount that is of that share, and read on the server where it lies.
func TestFindExportOfAShare(t *testing.T) {
	server := &model.Facts{
		Shares: []model.Share{{Protocol: "nfs", Name: "/share", Path: "/tank/data"}, {Protocol: "smb", Name: "/Media", Path: "/tank/media"}},
		NICs:   []model.NIC{{Name: "eth0", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}}},
		Mounts: []model.Mount{{Point: "/", Type: "ext4", Dev: "8:1"}, {Point: "/tank", Type: "xfs", Dev: "8:16"}},
	}
	for _, tc := range []struct{ source, kind, dir, at, path, device string }{
		{"nas:/share", "nfs4", "/share", "/mnt", "/tank/data", "8:16"},
		{"nas:/share", "nfs4", "/tank/data/a", "/mnt/a", "/tank/data/a", "8:16"},
		{"nas:/", "nfs4", "/share/a", "/mnt/share/a", "/tank/data/a", "8:16"},
		{"//nas/media", "cifs", "/MEDIA/Films", "/mnt/Films", "/tank/media/Films", "8:16"},
		{"//nas/media", "cifs", "/tank/media", "/mnt", "/tank/media", "8:16"},
		{"//nas/media", "cifs", "/share", "", "/tank/data", "8:16"}, // another share's
		{"nas:/share", "nfs4", "/shared", "", "/shared", "8:1"},
	} {
		m := model.Mount{Source: tc.source, Point: "/mnt", Type: tc.kind, Options: map[string]string{"addr": "10.0.0.2"}}
		e := FindExport(&model.Facts{Mounts: []model.Mount{m}}, server, tc.dir)
		if e.Dir != tc.at || e.Path != tc.path || e.Device != tc.device {
			t.Errorf("%+v: %+v", tc, e)
		}
	}
	if e := FindExport(&model.Facts{}, server, "/share"); e.Path != "/tank/data" || e.Name != "/share" || e.Mount.Point != "" {
		t.Errorf("not mounted: %+v", e)
	}
}

// What a connection moved last before it ended is not known, and nothing that passed
// meanwhile is foreign. Its port may be another connection's by then.
func TestGuardAtTheEndOfAConnection(t *testing.T) {
	for _, tc := range []struct {
		name    string
		after   func(*model.Sample)
		foreign unit.BitRate // all the time
		want    string
	}{
		{"it is gone", func(s *model.Sample) { s.Conns = nil }, 0, ""},
		{"another took its port", func(s *model.Sample) {
			s.Conns[0] = model.Conn{Local: s.Conns[0].Local, Remote: s.Conns[0].Remote, Inode: 7}
		}, 0, ""},
		{"it is gone, and others load the link", func(s *model.Sample) { s.Conns = nil }, 300 * unit.Mbit, "300 Mbit/s of other traffic"},
	} {
		g, got := guardOf(unit.Gbit), ""
		see := func(s model.Sample) {
			if why := g.see("client1", s); why != nil && got == "" {
				got = why.Why
			}
		}
		load := nicLoad{own: 650 * unit.Mbit, foreignOut: tc.foreign}
		for at := time.Duration(0); at <= 2*time.Second; at += 100 * time.Millisecond {
			see(load.at(at))
		}
		end := load.at(2300 * time.Millisecond) // a late one
		tc.after(&end)
		see(end)
		for at := 2400 * time.Millisecond; at < 4*time.Second; at += 100 * time.Millisecond {
			s := load.at(2300 * time.Millisecond)
			s.HostAt = load.at(at).HostAt
			tc.after(&s)
			see(s)
		}
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// A busy host reads its connections, and its interfaces some time later: what passed between
// is ours, as is what had waited in its queueing discipline. Others are seen nevertheless.
func TestGuardOfABusyHost(t *testing.T) {
	for _, tc := range []struct {
		name    string
		spread  time.Duration // of every fifth reading
		backlog int64         // before the load
		foreign unit.BitRate
		want    bool
	}{
		{"read apart", 250 * time.Millisecond, 0, 0, false},
		{"read apart, others load the link", 250 * time.Millisecond, 0, 300 * unit.Mbit, true},
		{"waits in the queue", 0, 20e6, 0, false},
		{"waits in the queue, others load the link", 0, 5e6, 300 * unit.Mbit, true},
	} {
		g, got := guardOf(unit.Gbit), ""
		load := nicLoad{own: 650 * unit.Mbit, foreignOut: tc.foreign}
		for i := range 40 {
			at := time.Duration(i) * 300 * time.Millisecond
			s := load.at(at)
			if i%5 == 4 {
				s.NICs, s.Spread = load.at(at+tc.spread).NICs, tc.spread
			}
			if i == 0 {
				s.Qdiscs = []model.QdiscCount{{Dev: "lo", Backlog: 1e12}, {Dev: "eth0", Backlog: tc.backlog}}
			} else {
				s.NICs[1].TxBytes += tc.backlog
			}
			if why := g.see("client1", s); why != nil && got == "" {
				got = why.Why
			}
		}
		if (got != "") != tc.want {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

// What the path delivers twice is ours, not other traffic.
func TestGuardCountsCopiesAsOurs(t *testing.T) {
	for _, tc := range []struct {
		name  string
		drops int64 // per copy
		stops bool
	}{{"copies of ours", 1, false}, {"short segments of ours, and others", 0, true}} {
		g, why := guardOf(unit.Gbit), ""
		for at := time.Duration(0); at <= 3*time.Second; at += 100 * time.Millisecond {
			segs := int64(60000 * at.Seconds())
			copies := segs / 4
			c := model.Conn{Local: netip.AddrPortFrom(sendAddr, 40000), Remote: netip.AddrPortFrom(recvAddr, 5201), RcvMSS: 1448,
				BytesReceived: segs * 1448, SegsIn: segs + copies, DataSegsIn: segs + copies, SockDrops: tc.drops * copies}
			n := model.NICCount{Name: "eth0", RxBytes: (segs + copies) * (1448 + 66)}
			if stop := g.see("client1", model.Sample{HostAt: time.Unix(100, 0).Add(at), NICs: []model.NICCount{n}, Conns: []model.Conn{c}}); stop != nil {
				why = stop.Why
			}
		}
		if (why != "") != tc.stops {
			t.Errorf("%s: stopped for %q", tc.name, why)
		}
	}
}
