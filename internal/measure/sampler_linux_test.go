package measure

import (
	"context"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"linerate/internal/kernel"
)

// The running kernel: our own connection, seen at both ends, with ourselves as
// its owner.
func TestSamplerLive(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	at := l.Addr().(*net.TCPAddr).AddrPort()
	s, err := NewSampler(kernel.Live{}, Watch{Addrs: []netip.Addr{at.Addr()}, Ports: []uint16{at.Port()}, FindOwners: true}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Conns) != 2 {
		t.Errorf("%d connections, want both ends", len(out.Conns))
	}
	ours := 0
	for _, task := range out.Tasks {
		if task.PID == os.Getpid() && len(task.Conns) == 2 && task.Name != "" {
			ours++
		}
	}
	if ours == 0 {
		t.Errorf("our threads are not among %+v", out.Tasks)
	}
	if len(out.CPUs) == 0 || len(out.NICs) == 0 || len(out.Softnet) == 0 || out.SNMP["Tcp.OutSegs"] == 0 {
		t.Errorf("sample without counters: %+v; blind to %+v", out, s.Blind())
	}
	if _, err := os.Stat("/proc/pressure/memory"); err == nil && out.Pressure == nil {
		t.Error("no pressure, though the kernel counts it")
	}
	if _, ok := out.SNMP["TcpExt.TCPTimeouts"]; !ok {
		t.Error("no TcpExt.TCPTimeouts")
	}
}

func TestSamplesHaveTheCountersThatAreAskedFor(t *testing.T) {
	s, err := NewSampler(kernel.Live{}, Watch{Counters: []string{"Tcp.OutSegs", "No.Such"}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Read(context.Background())
	if _, ok := out.SNMP["Tcp.OutSegs"]; err != nil || !ok || len(out.SNMP) != 1 {
		t.Errorf("%v, %v", out.SNMP, err)
	}
}

func BenchmarkSamplerLive(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	w := Watch{Ports: []uint16{l.Addr().(*net.TCPAddr).AddrPort().Port()}, PIDs: []int{os.Getpid()}}
	s, err := NewSampler(kernel.Live{}, w, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Read(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
