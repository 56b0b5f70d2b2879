package macos

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// Written from rows that several public programs have in their tests.
const nettopSaid = "\x04\x08\x08time,,interface,state,bytes_in,bytes_out,rx_dupe,rx_ooo,re-tx,rtt_avg,rcvsize,tx_win,tc_class,tc_mgt,cc_algo,P,C,R,W,arch,\n" +
	"12:00:00.100000,kernel_task.0,,,512,2000000,0,0,0,,,,,,,,,,,,\n" +
	"12:00:00.100001,tcp4 10.0.0.7:50100<->10.0.0.9:445,en0,Established,512,2000000,0,0,1448,20.00 ms,131072,262144,BE,-,cubic,-,-,-,-,so,\n" +
	"12:00:00.100002,com.apple.Safari.42,,,0,0,0,0,0,,,,,,,,,,,,\n" +
	"12:00:00.100003,tcp6 fe80::1%en0.50101<->fe80::9%en0.443,en0,Established,7,8,0,0,0,,131072,0,BE,-,-,-,-,-,-,so,\n" +
	"12:00:00.100004,tcp6 *.55294<->*.*,,Listen,,,,,,,,,,-,cubic,-,-,-,-,so,\n" +
	"12:00:00.100005,tcp4 10.0.0.7:50102<->10.0.0.9:445,en0,Established,9999,8888,,,,,,,,,\n"

func framed(text string) []byte {
	return fmt.Appendf(nil, "linerate-frames 1\nbegin nettop 0 %d\n%s\nlinerate-frames end 1\n", len(text), text)
}

func TestNettop(t *testing.T) {
	got, err := Connections(framed(nettopSaid))
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := Connection{Conn: model.Conn{
		From: model.FromNettop, Local: netip.MustParseAddrPort("10.0.0.7:50100"), Remote: netip.MustParseAddrPort("10.0.0.9:445"), State: 1, CC: "cubic",
		BytesReceived: 512, BytesSent: 2000000, BytesAcked: 2000000, BytesRetrans: 1448, SndWnd: 262144, RTT: 20 * time.Millisecond,
	}}
	if got[0] != want {
		t.Errorf("%+v", got[0])
	}
	if got[1].PID != 42 || got[1].Remote.Port() != 443 || got[1].RTT != 0 || got[1].CC != "" {
		t.Errorf("%+v", got[1])
	}
	older := strings.ReplaceAll(nettopSaid, "rx_dupe,rx_ooo,", "") // columns that moved are found by name
	if moved, err := Connections(framed(older)); err != nil || len(moved) > 0 && moved[0].BytesRetrans == 1448 && moved[0].RTT != 20*time.Millisecond {
		t.Errorf("%+v, %v", moved, err)
	}
	for _, bad := range []string{"", "nettop: unknown option", "time"} {
		if got, err := Connections(framed(bad)); err == nil && len(got) > 0 {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func FuzzNettop(f *testing.F) {
	f.Add(nettopSaid)
	f.Add("time,\n,tcp4 <->,")
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := parseNettop(text)
		for _, c := range got {
			if c.From != model.FromNettop || !c.Remote.IsValid() || c.BytesSent < 0 || c.RTT < 0 {
				t.Errorf("%+v", c)
			}
		}
	})
}
