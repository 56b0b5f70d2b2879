package kernel

import (
	"net/netip"
	"os"
	"slices"
	"testing"
)

func TestParseCIFSDebugData(t *testing.T) {
	b, err := os.ReadFile("testdata/cifs-debugdata")
	if err != nil {
		t.Fatal(err)
	}
	got := ParseCIFSDebugData(b)
	want := []SMBSession{
		{Addr: netip.MustParseAddr("192.0.2.20"), Also: []netip.Addr{netip.MustParseAddr("198.51.100.20"), netip.MustParseAddr("2001:db8::20")}, Credits: 8190 + 510},
		{Addr: netip.MustParseAddr("2001:db8::30"), RDMA: true, Credits: 8190},
		{Addr: netip.MustParseAddr("192.0.2.40"), Credits: 50},
	}
	same := slices.EqualFunc(got, want, func(a, b SMBSession) bool {
		return a.Addr == b.Addr && a.RDMA == b.RDMA && a.Credits == b.Credits && slices.Equal(a.Also, b.Also)
	})
	if !same {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := ParseCIFSDebugData([]byte("Display Internal CIFS Data Structures for Debugging\nServers:\n")); len(got) != 0 {
		t.Errorf("no server: %+v", got)
	}
}

func FuzzParseCIFSDebugData(f *testing.F) {
	if b, err := os.ReadFile("testdata/cifs-debugdata"); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range ParseCIFSDebugData(b) {
			if !s.Addr.IsValid() || slices.Contains(s.Also, s.Addr) {
				t.Errorf("session %+v", s)
			}
		}
	})
}
