package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"linerate/internal/model"
)

// fakeEstats is a Windows host of a few connections. Structures are filled by the offsets that a C
// compiler gives for the headers of mingw-w64 (offsetof, 64 bits), not by those of the parser's code.
type fakeEstats struct {
	conns   []fakeConn
	on      map[string]bool // "row number/group"
	denied  bool
	deaf    EstatsGroup // accepts and does nothing
	lacks   EstatsGroup // refuses
	noIPv6  bool
	changes []string
}

type fakeConn struct {
	local, remote string
	state         uint32 // MIB_TCP_STATE
	pid           uint32
	groups        map[EstatsGroup][]byte
}

func put(b []byte, at int, v uint64, width int) {
	if width == 8 {
		binary.NativeEndian.PutUint64(b[at:], v)
	} else {
		binary.NativeEndian.PutUint32(b[at:], uint32(v))
	}
}

func (f *fakeEstats) Table(ipv6 bool) ([]byte, error) {
	if ipv6 && f.noIPv6 {
		return nil, fmt.Errorf("no IPv6: %w", errors.ErrUnsupported)
	}
	var rows []byte
	n := 0
	for _, c := range f.conns {
		l, r := netip.MustParseAddrPort(c.local), netip.MustParseAddrPort(c.remote)
		if l.Addr().Is6() != ipv6 {
			continue
		}
		n++
		row := make([]byte, 24)
		if ipv6 {
			row = make([]byte, 56)
			copy(row, l.Addr().AsSlice())
			binary.BigEndian.PutUint16(row[20:], l.Port())
			copy(row[24:], r.Addr().AsSlice())
			binary.BigEndian.PutUint16(row[44:], r.Port())
			put(row, 48, uint64(c.state), 4)
			put(row, 52, uint64(c.pid), 4)
		} else {
			put(row, 0, uint64(c.state), 4)
			copy(row[4:], l.Addr().AsSlice())
			binary.BigEndian.PutUint16(row[8:], l.Port())
			copy(row[12:], r.Addr().AsSlice())
			binary.BigEndian.PutUint16(row[16:], r.Port())
			put(row, 20, uint64(c.pid), 4)
		}
		rows = append(rows, row...)
	}
	head := make([]byte, 4)
	put(head, 0, uint64(n), 4)
	return append(head, rows...), nil
}

// find is the connection of a row, as the kernel would find it: by MIB_TCPROW or MIB_TCP6ROW.
func (f *fakeEstats) find(row []byte) int {
	for i, c := range f.conns {
		l, r := netip.MustParseAddrPort(c.local), netip.MustParseAddrPort(c.remote)
		want := make([]byte, 20)
		if l.Addr().Is6() {
			want = make([]byte, 52)
			copy(want[4:], l.Addr().AsSlice())
			binary.BigEndian.PutUint16(want[24:], l.Port())
			copy(want[28:], r.Addr().AsSlice())
			binary.BigEndian.PutUint16(want[48:], r.Port())
		} else {
			copy(want[4:], l.Addr().AsSlice())
			binary.BigEndian.PutUint16(want[8:], l.Port())
			copy(want[12:], r.Addr().AsSlice())
			binary.BigEndian.PutUint16(want[16:], r.Port())
		}
		if slices.Equal(want[4:], row[4:]) {
			return i
		}
	}
	return -1
}

func (f *fakeEstats) Read(row []byte, g EstatsGroup, rod []byte) (byte, error) {
	i := f.find(row)
	if i < 0 {
		return 0, ErrNoConn
	}
	if !f.on[fmt.Sprint(i, "/", g)] {
		return 0, nil
	}
	if src := f.conns[i].groups[g]; src != nil && len(src) != len(rod) {
		return 0, fmt.Errorf("group %d has %d bytes, %d were asked for", g, len(src), len(rod))
	}
	copy(rod, f.conns[i].groups[g])
	return 1, nil
}

func (f *fakeEstats) Switch(row []byte, g EstatsGroup, on bool) error {
	i := f.find(row)
	switch {
	case i < 0:
		return ErrNoConn
	case f.denied:
		return fmt.Errorf("access is denied: %w", fs.ErrPermission)
	case g == f.lacks:
		return errors.New("not supported")
	case g == f.deaf:
		return nil
	}
	key := fmt.Sprint(i, "/", g)
	f.on[key] = on
	f.changes = append(f.changes, fmt.Sprint(key, " ", on))
	return nil
}

// busyGroups is a connection that sends: 64 KiB in flight, held by the peer's window most of the time.
func busyGroups() map[EstatsGroup][]byte {
	data, cong, path := make([]byte, 96), make([]byte, 88), make([]byte, 160)
	put(data, 0, 20_000_000, 8)
	put(data, 8, 13_700, 8)
	put(data, 32, 13_701, 8)
	put(data, 40, 7_000, 8)
	put(data, 56, 0xffff_f000, 4) // SndUna, before the wrap
	put(data, 64, 0x0000_f000, 4) // SndMax, after it
	put(data, 72, 19_900_000, 8)
	put(data, 88, 512, 8)
	put(cong, 4, 900, 4)
	put(cong, 20, 60, 4)
	put(cong, 36, 40, 4)
	put(cong, 60, 1_460_000, 4)
	put(cong, 72, 0xffff_ffff, 4)
	put(path, 4, 1, 4)
	put(path, 8, 2, 4)
	put(path, 20, 7, 4)
	put(path, 24, 10_220, 4)
	put(path, 100, 3, 4)
	put(path, 108, 5, 4)
	put(path, 112, 1, 4)
	put(path, 116, 9, 4)
	put(path, 120, 4, 4)
	put(path, 132, 300, 4)
	put(path, 144, 1460, 4)
	buff, rec, obs, fine := make([]byte, 32), make([]byte, 72), make([]byte, 16), make([]byte, 16)
	put(buff, 0, 65536, 8)
	put(buff, 16, 131_072, 8)
	put(rec, 0, 262_144, 4)
	put(rec, 48, 77, 8)
	put(obs, 0, 65536, 4)
	put(fine, 0, 120, 4)
	put(fine, 4, 9100, 4)
	put(fine, 8, 4900, 4)
	put(fine, 12, 5250, 4)
	return map[EstatsGroup][]byte{1: data, 2: cong, 3: path, 4: buff, 5: rec, 6: obs, 8: fine}
}

func busyHost() *fakeEstats {
	return &fakeEstats{on: map[string]bool{}, conns: []fakeConn{
		{"10.0.0.2:49900", "10.0.0.9:445", 5, 4, busyGroups()},
		{"[fd00::2]:49901", "[fd00::9]:445", 5, 4, busyGroups()},
		{"0.0.0.0:445", "0.0.0.0:0", 2, 4, nil},
		{"10.0.0.2:49902", "10.0.0.9:443", 5, 812, busyGroups()},
		{"10.0.0.2:49903", "10.0.0.9:445", 11, 0, nil},
	}}
}

// One connection is read as Windows shows it, across the wrap of its sequence numbers.
func TestEstatsAreRead(t *testing.T) {
	f := busyHost()
	w := NewEstatsWatch(f, &book{})
	got, err := w.Read(TCPFilter{Ports: []uint16{445}}, nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d connections, %v", len(got), err)
	}
	want := model.Conn{
		From: model.FromEstats, Local: netip.MustParseAddrPort("10.0.0.2:49900"), Remote: netip.MustParseAddrPort("10.0.0.9:445"), State: 1,
		RTO: 300 * time.Millisecond, RTT: 5250 * time.Microsecond, MinRTT: 4900 * time.Microsecond, RTTVar: 120 * time.Microsecond, SndMSS: 1460,
		Unacked: 45, Cwnd: 1000, Ssthresh: 2941758, TotalRTO: 3, TotalRetrans: 7, BytesRetrans: 10_220, DSACKDups: 3, BytesSent: 20_000_000, BytesAcked: 19_900_000,
		BytesReceived: 512, SegsOut: 13_701, SegsIn: 7000, DataSegsOut: 13_700, NotSent: 131_072, SendQ: 131_072 + 65536, RecvQ: 77, SndWnd: 65536, RcvWnd: 262_144,
		Busy: 960 * time.Millisecond, RwndLimited: 900 * time.Millisecond, SourceLimited: 40 * time.Millisecond,
	}
	if d := cmp.Diff(want, got[0], cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
		t.Error(d)
	}
	if got[1].Remote != netip.MustParseAddrPort("[fd00::9]:445") {
		t.Errorf("IPv6: %v", got[1].Remote)
	}
	if only, err := w.Read(TCPFilter{}, []int{812}); err != nil || len(only) != 1 || only[0].Remote.Port() != 443 {
		t.Errorf("of one process: %v, %v", only, err)
	}
}

// Round trips that contradict each other are not taken for microseconds, and 0 ms is not known.
func TestEstatsRoundTrips(t *testing.T) {
	for _, tc := range []struct {
		name                              string
		smooth, most, least               uint64
		fineVar, fineMax, fineMin, fineIs uint64
		rtt, min                          time.Duration
	}{
		{"both", 5, 9, 4, 120, 9100, 4900, 5250, 5250 * time.Microsecond, 4900 * time.Microsecond},
		{"a sum, not a mean", 5, 9, 4, 120, 9100, 4900, 525_000, 5 * time.Millisecond, 4 * time.Millisecond},
		{"below a millisecond", 0, 1, 0, 20, 900, 150, 210, 210 * time.Microsecond, 150 * time.Microsecond},
		{"below a millisecond, not fine", 0, 1, 0, 0, 0, 0, 0, 0, 0},
		{"none yet", 0, 0, 1<<32 - 1, 0, 0, 1<<32 - 1, 0, 0, 0},
	} {
		r := estatsRead(busyGroups())
		put(r[estatsPath], 108, tc.smooth, 4)
		put(r[estatsPath], 116, tc.most, 4)
		put(r[estatsPath], 120, tc.least, 4)
		for i, v := range []uint64{tc.fineVar, tc.fineMax, tc.fineMin, tc.fineIs} {
			put(r[estatsFineRTT], 4*i, v, 4)
		}
		var c model.Conn
		if r.times(&c); c.RTT != tc.rtt || c.MinRTT != tc.min {
			t.Errorf("%s: %v, least %v; want %v, %v", tc.name, c.RTT, c.MinRTT, tc.rtt, tc.min)
		}
	}
}

// What was off is switched off again, and what was on stays on.
func TestEstatsArePutBack(t *testing.T) {
	f := busyHost()
	f.on["0/1"], f.on["0/3"] = true, true // somebody else's
	w := NewEstatsWatch(f, &book{})
	for range 3 {
		if got, err := w.Read(TCPFilter{Ports: []uint16{445}}, nil); err != nil || len(got) != 2 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if len(f.changes) != 5+7 || w.Changed() != 2 {
		t.Errorf("%d changes of %d connections: %v", len(f.changes), w.Changed(), f.changes)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for key, on := range f.on {
		if theirs := key == "0/1" || key == "0/3"; on != theirs {
			t.Errorf("%s is %v", key, on)
		}
	}
	if n := len(f.changes); w.Close() != nil || len(f.changes) != n {
		t.Error("putting back twice changes something")
	}
}

// A connection that went away, and another one at its addresses.
func TestEstatsOfAnotherConnection(t *testing.T) {
	f := busyHost()
	w := NewEstatsWatch(f, &book{})
	read := func(want int) {
		t.Helper()
		if got, err := w.Read(TCPFilter{Ports: []uint16{443}}, nil); err != nil || len(got) != want {
			t.Errorf("%d connections, %v; want %d", len(got), err, want)
		}
	}
	read(1)
	f.on = map[string]bool{} // a new one, whose statistics are off
	read(0)
	read(1)
	f.conns[3].remote = "10.0.0.10:443"
	read(1)
	if err := w.Close(); err != nil {
		t.Errorf("one is gone: %v", err)
	}
}

func TestEstatsThatCannotBeRead(t *testing.T) {
	all := TCPFilter{Ports: []uint16{445}}
	f := busyHost()
	f.denied = true
	if _, err := NewEstatsWatch(f, &book{}).Read(all, nil); !NeedsAdministrator(err) {
		t.Errorf("denied: %v", err)
	}
	f = busyHost()
	f.deaf = estatsSndCong
	w := NewEstatsWatch(f, &book{})
	if got, err := w.Read(all, nil); err == nil || len(got) != 0 || w.Unread() != 2 {
		t.Errorf("without effect: %v, %v", got, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	for key, on := range f.on {
		if on {
			t.Errorf("%s stays on", key)
		}
	}
	f = busyHost()
	f.lacks, f.noIPv6 = estatsFineRTT, true
	if got, err := NewEstatsWatch(f, &book{}).Read(all, nil); err != nil || len(got) != 1 || got[0].RTT != 5*time.Millisecond {
		t.Errorf("without fine round trips: %v, %v", got, err)
	}
	f = busyHost()
	w = NewEstatsWatch(f, &book{})
	if _, err := w.Read(all, nil); err != nil {
		t.Fatal(err)
	}
	f.denied = true
	if err := w.Close(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("not put back: %v", err)
	}
}

func FuzzParseTCPTable(f *testing.F) {
	host := busyHost()
	for _, ipv6 := range []bool{false, true} {
		b, err := host.Table(ipv6)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, ipv6)
	}
	f.Add([]byte{255, 255, 255, 255}, true)
	f.Fuzz(func(t *testing.T, b []byte, ipv6 bool) {
		ends, err := ParseTCPTable(b, ipv6)
		for _, e := range ends {
			if want := map[bool]int{false: plainRow, true: plainRow6}[ipv6]; err != nil || len(e.row) != want || !e.local.IsValid() {
				t.Errorf("%+v, %v", e, err)
			}
		}
	})
}

func FuzzEstats(f *testing.F) {
	g := busyGroups()
	f.Add(g[1], g[2], g[3], g[4], g[5], g[6], g[8])
	f.Add(g[1], g[2], g[3], bytes.Repeat([]byte{0x7f}, 32), g[5], g[6], []byte{})
	f.Fuzz(func(t *testing.T, data, cong, path, buff, rec, obs, fine []byte) {
		c, ok := estatsRead{1: data, 2: cong, 3: path, 4: buff, 5: rec, 6: obs, 8: fine}.conn(estatsEnds{})
		if ok && (c.SndMSS <= 0 || c.Unacked < 0 || c.Cwnd < 0 || c.NotSent < 0 || c.SendQ < 0 || c.RecvQ < 0 || c.BytesAcked < 0 || c.RTT < 0 || c.MinRTT > c.RTT) {
			t.Errorf("%+v", c)
		}
	})
}

// book remembers in memory.
type book struct {
	all   []EstatsSwitched
	wrote int
	fails error
}

func (b *book) Keep(all []EstatsSwitched) error {
	if b.fails != nil {
		return b.fails
	}
	b.all, b.wrote = all, b.wrote+1
	return nil
}

// What is switched on is in the book before, and no more than that; without the book nothing is switched on.
func TestEstatsAreRecordedBefore(t *testing.T) {
	all := TCPFilter{Ports: []uint16{445}}
	f, b := busyHost(), &book{}
	f.on["0/1"], f.on["0/3"] = true, true // somebody else's
	w := NewEstatsWatch(f, b)
	for range 3 {
		if _, err := w.Read(all, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []EstatsGroup{2, 4, 5, 6, 8}
	if len(b.all) != 2 || b.wrote != 1 || !slices.Equal(b.all[0].Groups, want) && !slices.Equal(b.all[1].Groups, want) {
		t.Errorf("written %d times: %+v", b.wrote, b.all)
	}
	for _, s := range b.all {
		if err := s.Check(); err != nil || s.PID != 4 {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if err := w.Close(); err != nil || len(b.all) != 0 || b.wrote != 2 {
		t.Errorf("at the end: %v, %+v", err, b.all)
	}
	f, b = busyHost(), &book{fails: errors.New("the disk is full")}
	w = NewEstatsWatch(f, b)
	if _, err := w.Read(all, nil); !errors.Is(err, b.fails) || len(f.changes) != 0 {
		t.Errorf("without a record: %v, changes %v", err, f.changes)
	}
	if b.fails = nil; w.Close() != nil || len(f.changes) != 0 {
		t.Errorf("what was not switched on was switched off: %v", f.changes)
	}
	f, b = busyHost(), &book{}
	f.lacks = estatsFineRTT
	w = NewEstatsWatch(f, b)
	if _, err := w.Read(all, nil); err != nil || len(b.all) != 2 || slices.Contains(b.all[0].Groups, estatsFineRTT) {
		t.Errorf("a group that cannot be had: %v, %+v", err, b.all)
	}
}

// What cannot be switched off stays in the book.
func TestEstatsThatStayOnStayRecorded(t *testing.T) {
	f, b := busyHost(), &book{}
	w := NewEstatsWatch(f, b)
	if _, err := w.Read(TCPFilter{Ports: []uint16{445}}, nil); err != nil {
		t.Fatal(err)
	}
	f.deaf = estatsPath
	if err := w.Close(); err == nil || len(b.all) != 2 || !slices.Equal(b.all[0].Groups, []EstatsGroup{estatsPath}) {
		t.Errorf("%v, %+v", err, b.all)
	}
	if wrote := b.wrote; w.Close() != nil || b.wrote != wrote {
		t.Error("closed twice, and recorded anew")
	}
}

// A process's descendants are those that began after it: numbers are used again.
func TestProcessFamily(t *testing.T) {
	parents := map[int]int{0: 0, 4: 0, 100: 4, 104: 100, 108: 104, 112: 100, 116: 900, 120: 104}
	began := map[int]uint64{4: 1, 100: 50, 104: 60, 108: 70, 112: 40, 116: 80, 120: 60} // 112 is older than 100: its parent was another
	got := familyOf(100, parents, func(pid int) (uint64, error) {
		if pid == 120 {
			return 0, fs.ErrPermission
		}
		return began[pid], nil
	})
	if !slices.Equal(got, []int{100, 104, 108}) {
		t.Errorf("%v", got)
	}
	gone := func(int) (uint64, error) { return 0, fs.ErrNotExist }
	if got := familyOf(7, parents, gone); !slices.Equal(got, []int{7}) {
		t.Errorf("of one that has ended: %v", got)
	}
}
