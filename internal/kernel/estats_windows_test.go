package kernel

import (
	"errors"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/windows"
)

// The table of this very host has a connection of this process, on either family.
func TestEstatsTableOfThisHost(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("skipped %s: %v", at, err)
			continue
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		e := iphlpapi{table: windows.NewLazySystemDLL("iphlpapi.dll").NewProc("GetExtendedTcpTable")}
		ipv6 := at[0] == '['
		b, err := e.Table(ipv6)
		if err != nil {
			t.Fatal(err)
		}
		ends, err := ParseTCPTable(b, ipv6)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, x := range ends {
			if x.local.String() == c.LocalAddr().String() && x.remote.String() == c.RemoteAddr().String() {
				found = true
				ours := x.pid == os.Getpid() || ipv6 && x.pid == 0 // wine 8 finds no owner there
				if x.state != 1 || !ours {
					t.Errorf("%s: state %d, process %d; want 1 and %d", at, x.state, x.pid, os.Getpid())
				}
			}
		}
		if !found {
			t.Errorf("%v → %v is not among %d connections", c.LocalAddr(), c.RemoteAddr(), len(ends))
		}
		if err := errors.Join(c.Close(), l.Close()); err != nil {
			t.Error(err)
		}
	}
}
