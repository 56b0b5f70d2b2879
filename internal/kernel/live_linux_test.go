package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/model"
)

// loopback makes a connection and moves some bytes over it.
func loopback(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	server, err = l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	buf := make([]byte, 32<<10)
	for range 8 {
		if _, err := client.Write(buf); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(buf)-100; {
			m, err := server.Read(buf[:len(buf)-100-n])
			if err != nil {
				t.Fatal(err)
			}
			n += m
		}
		buf = buf[:len(buf)-100]
	}
	return client, server
}

func TestTCPAgain(t *testing.T) {
	ctx := context.Background()
	client, server := loopback(t)
	port := client.LocalAddr().(*net.TCPAddr).AddrPort().Port()
	known, err := Live{}.TCPConns(ctx, TCPFilter{Ports: []uint16{port}})
	if err != nil || len(known) != 2 {
		t.Fatalf("%d connections, %v", len(known), err)
	}
	again, err := Live{}.TCPAgain(ctx, known)
	if err != nil || len(again) != 2 {
		t.Fatalf("%d connections, %v", len(again), err)
	}
	for i := range again {
		if again[i].Local != known[i].Local || again[i].BytesReceived != known[i].BytesReceived || again[i].RcvBuf == 0 {
			t.Errorf("%+v, want %+v", again[i], known[i])
		}
	}
	// Both ends reset: neither is there any more.
	for _, c := range []*net.TCPConn{client, server} {
		if err := errors.Join(c.SetLinger(0), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if again, err = (Live{}).TCPAgain(ctx, known); err != nil || len(again) != 0 {
		t.Errorf("%+v, %v of connections that are closed", again, err)
	}
}

func tcpInfo(t *testing.T, c *net.TCPConn) unix.TCPInfo {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	var infoErr error
	err = raw.Control(func(fd uintptr) { info, infoErr = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err != nil || infoErr != nil {
		t.Fatal(err, infoErr)
	}
	// These run with the clock.
	info.Last_data_sent, info.Last_data_recv, info.Last_ack_recv = 0, 0, 0
	return *info
}

// getsockopt(TCP_INFO) fills a struct that another project keeps: of a
// connection that did not change meanwhile it must tell the same as our
// reading by offset.
func TestTCPConnsAgreesWithGetsockopt(t *testing.T) {
	client, _ := loopback(t)
	local := client.LocalAddr().(*net.TCPAddr).AddrPort()
	filter := TCPFilter{Addrs: []netip.Addr{local.Addr()}, Ports: []uint16{local.Port()}}
	for range 100 { // a delayed acknowledgement may come between
		before := tcpInfo(t, client)
		conns, err := Live{}.TCPConns(context.Background(), filter)
		if err != nil {
			t.Fatal(err)
		}
		if len(conns) != 2 {
			t.Fatalf("%d connections, want the two ends", len(conns))
		}
		if tcpInfo(t, client) != before {
			continue
		}
		c := conns[0]
		if c.Local != local {
			c = conns[1]
		}
		compareInfo(t, c, before)
		return
	}
	t.Error("the idle connection never stood still")
}

func compareInfo(t *testing.T, c model.Conn, want unix.TCPInfo) {
	t.Helper()
	for name, v := range map[string][2]int64{
		"state": {int64(c.State), int64(want.State)}, "options": {int64(c.Options), int64(want.Options)},
		"rto": {c.RTO.Microseconds(), int64(want.Rto)}, "snd_mss": {int64(c.SndMSS), int64(want.Snd_mss)},
		"rcv_mss": {int64(c.RcvMSS), int64(want.Rcv_mss)}, "pmtu": {int64(c.PMTU), int64(want.Pmtu)},
		"advmss": {int64(c.AdvMSS), int64(want.Advmss)}, "rtt": {c.RTT.Microseconds(), int64(want.Rtt)},
		"rttvar": {c.RTTVar.Microseconds(), int64(want.Rttvar)}, "min_rtt": {c.MinRTT.Microseconds(), int64(want.Min_rtt)},
		"cwnd": {int64(c.Cwnd), int64(want.Snd_cwnd)}, "ssthresh": {int64(c.Ssthresh), int64(want.Snd_ssthresh)},
		"reordering": {int64(c.Reordering), int64(want.Reordering)}, "rcv_space": {int64(c.RcvSpace), int64(want.Rcv_space)},
		"rcv_ssthresh": {int64(c.RcvSsthresh), int64(want.Rcv_ssthresh)}, "total_retrans": {int64(c.TotalRetrans), int64(want.Total_retrans)},
		"bytes_acked": {c.BytesAcked, int64(want.Bytes_acked)}, "bytes_sent": {c.BytesSent, int64(want.Bytes_sent)},
		"segs_out": {c.SegsOut, int64(want.Segs_out)}, "segs_in": {c.SegsIn, int64(want.Segs_in)},
		"data_segs_out": {c.DataSegsOut, int64(want.Data_segs_out)}, "delivered": {c.Delivered, int64(want.Delivered)},
		"delivery_rate": {int64(c.DeliveryRate), int64(want.Delivery_rate) * 8}, "busy": {c.Busy.Microseconds(), int64(want.Busy_time)},
		"snd_wnd": {c.SndWnd, int64(want.Snd_wnd)}, "rcv_wnd": {c.RcvWnd, int64(want.Rcv_wnd)}, "total_rto": {int64(c.TotalRTO), int64(want.Total_rto)},
	} {
		if v[0] != v[1] {
			t.Errorf("%s: sock_diag %d, getsockopt %d", name, v[0], v[1])
		}
	}
	if c.BytesSent == 0 || c.SndBuf == 0 || c.CC == "" || c.Inode == 0 || c.MaxPacing != -1 {
		t.Errorf("connection without its counters: %+v", c)
	}
}

func TestLiveLinks(t *testing.T) {
	ctx := context.Background()
	links, err := Live{}.Links(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Name != "lo" {
			continue
		}
		f, err := ReadFeatures("lo")
		if err != nil || len(f) == 0 {
			t.Errorf("features of lo: %v, %v", f, err)
		}
		if _, ok := f["tx-generic-segmentation"]; !ok {
			t.Errorf("features of lo lack tx-generic-segmentation: %v", f)
		}
		if id := DeviceIDs(links, nil)["lo"]; id != "if:lo" {
			t.Errorf("device of lo is %q", id)
		}
		if name, err := FindDevice(ctx, Live{}, "if:lo"); err != nil || name != "lo" {
			t.Errorf("FindDevice(if:lo) = %q, %v", name, err)
		}
		return
	}
	t.Error("no interface lo")
}

func TestSetFeaturesRefusesUnknownName(t *testing.T) {
	err := SetFeatures("lo", map[string]bool{"no-such-offload": true})
	if err == nil || !strings.Contains(err.Error(), "lo") {
		t.Errorf("error %v, want one that names the interface", err)
	}
}

func TestLiveAnswersEncode(t *testing.T) {
	ctx := context.Background()
	routes, err := Live{}.Routes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	qdiscs, err := Live{}.Qdiscs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := Live{}.Addrs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal([]any{routes, qdiscs, addrs, Live{}.Port("lo")}); err != nil {
		t.Error(err)
	}
}
