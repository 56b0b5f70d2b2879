package kernel

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"linerate/internal/kernel/golden"
	"linerate/internal/model"
)

// sockDiagDump is one datagram as a Linux 6.18 kernel on amd64 sent it: both
// ends of a loopback connection.
func sockDiagDump(t testing.TB) []byte {
	t.Helper()
	if !littleEndian() {
		t.Skip("the recorded bytes are those of a little-endian kernel")
	}
	b, err := os.ReadFile(filepath.Join("testdata", "sockdiag-6.18.bin"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseSockDiagDumpGolden(t *testing.T) {
	conns, done, err := ParseSockDiagDump(sockDiagDump(t), TCPFilter{})
	if err != nil || done {
		t.Fatalf("done %v, error %v", done, err)
	}
	got, err := json.MarshalIndent(conns, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join("testdata", "sockdiag-6.18.json")
	golden.Same(t, file, got)
}

// A kernel of any age gives a prefix of today's tcp_info: a field is either
// what the whole struct gives or zero.
func TestTCPInfoOfEveryLength(t *testing.T) {
	info := make([]byte, 280)
	for i := range info {
		info[i] = byte(i%7 + 1)
	}
	var whole model.Conn
	parseTCPInfo(info, &whole)
	for n := range info {
		var c model.Conn
		parseTCPInfo(info[:n], &c)
		if c.InfoLen != n {
			t.Fatalf("InfoLen %d, want %d", c.InfoLen, n)
		}
		got, want := reflect.ValueOf(c), reflect.ValueOf(whole)
		for i := range got.NumField() {
			f := got.Type().Field(i).Name
			if f != "InfoLen" && !got.Field(i).IsZero() && !got.Field(i).Equal(want.Field(i)) {
				t.Errorf("length %d: %s is %v, neither zero nor %v", n, f, got.Field(i), want.Field(i))
			}
		}
	}
}

func TestTCPInfoOffsets(t *testing.T) {
	ne := binary.NativeEndian
	info := make([]byte, 248)
	ne.PutUint64(info[104:], 1<<64-1)
	ne.PutUint64(info[112:], 125_000_000)
	ne.PutUint32(info[148:], 1<<32-1)
	ne.PutUint64(info[160:], 1000)
	ne.PutUint64(info[168:], 5_000_000)
	ne.PutUint32(info[224:], 11)
	ne.PutUint32(info[228:], 22)
	ne.PutUint32(info[232:], 33)
	ne.PutUint32(info[236:], 44) // tcpi_rehash, which is not kept
	ne.PutUint16(info[240:], 55)
	if littleEndian() {
		info[6], info[7] = 0xa7, 0x05
	} else {
		info[6], info[7] = 0x7a, 0xa0
	}
	want := model.Conn{
		InfoLen: 248, SndWScale: 7, RcvWScale: 10, AppLimited: true,
		PacingRate: -1, MaxPacing: 1e9, DeliveryRate: 8000, Busy: 5 * time.Second,
		RcvOOO: 11, SndWnd: 22, RcvWnd: 33, TotalRTO: 55,
	}
	var got model.Conn
	parseTCPInfo(info, &got)
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// Before Linux 4.6 the kernel does not say what waits to be sent: it is what is not acknowledged and
// not in flight.
func TestNotSentOfAnOlderKernel(t *testing.T) {
	for _, tt := range []struct {
		length int
		want   int64
	}{{notSentEnd, 7}, {notSentEnd - 4, 100_000 - 10*1448}} {
		b := make([]byte, diagMsgLen+4+tt.length)
		b[0], b[1] = familyInet, 1
		binary.NativeEndian.PutUint32(b[60:], 100_000)
		attr := b[diagMsgLen:]
		binary.NativeEndian.PutUint16(attr, uint16(4+tt.length))
		binary.NativeEndian.PutUint16(attr[2:], attrInfo)
		info := attr[4:]
		binary.NativeEndian.PutUint32(info[16:], 1448)
		binary.NativeEndian.PutUint32(info[24:], 10)
		if tt.length >= notSentEnd {
			binary.NativeEndian.PutUint32(info[144:], 7)
		}
		c, err := ParseSockDiag(b)
		if err != nil || c.NotSent != tt.want || c.SendQ != 100_000 {
			t.Errorf("%d bytes of tcp_info: %+v, %v; want %d not sent", tt.length, c, err, tt.want)
		}
	}
}

func TestTCPFilter(t *testing.T) {
	local := netip.MustParseAddrPort("10.0.0.1:40000")
	remote := netip.MustParseAddrPort("10.0.0.2:2049")
	peer := []netip.Addr{netip.MustParseAddr("::ffff:10.0.0.2")}
	for _, c := range []struct {
		name string
		f    TCPFilter
		want bool
	}{
		{"all", TCPFilter{}, true},
		{"peer", TCPFilter{Addrs: peer}, true},
		{"own address is no peer", TCPFilter{Addrs: []netip.Addr{local.Addr()}}, false},
		{"remote port", TCPFilter{Addrs: peer, Ports: []uint16{1, 2049}}, true},
		{"local port", TCPFilter{Ports: []uint16{40000}}, true},
		{"other port", TCPFilter{Addrs: peer, Ports: []uint16{1}}, false},
	} {
		if got := c.f.Match(local, remote); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestParseSockDiagDumpRefusal(t *testing.T) {
	b := make([]byte, 20)
	binary.NativeEndian.PutUint32(b, 20)
	binary.NativeEndian.PutUint16(b[4:], nlError)
	denied := -int32(syscall.EPERM)
	binary.NativeEndian.PutUint32(b[16:], uint32(denied))
	_, done, err := ParseSockDiagDump(b, TCPFilter{})
	if !done || !errors.Is(err, os.ErrPermission) {
		t.Errorf("done %v, error %v, want a refused permission", done, err)
	}
	for _, broken := range [][]byte{{16, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {255, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		if _, _, err := ParseSockDiagDump(broken, TCPFilter{}); err == nil {
			t.Errorf("%v: no error", broken)
		}
	}
}

func FuzzParseSockDiagDump(f *testing.F) {
	f.Add(sockDiagDump(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		conns, _, err := ParseSockDiagDump(b, TCPFilter{})
		if err != nil {
			return
		}
		for _, c := range conns {
			if !c.Local.IsValid() || !c.Remote.IsValid() || c.InfoLen <= 0 {
				t.Errorf("invalid connection %+v", c)
			}
			if c.RTT < 0 || c.MinRTT < 0 || c.Busy < 0 || c.RwndLimited < 0 || c.BytesAcked < 0 || c.DeliveryRate < 0 {
				t.Errorf("negative value in %+v", c)
			}
		}
	})
}
