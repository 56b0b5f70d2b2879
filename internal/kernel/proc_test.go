package kernel

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
)

const statText = `cpu  30 3 30 300 30 3 33 3 0 0
cpu0 10 1 10 100 10 1 11 1 0 0
cpu2 20 2 20 200 20 2 22 2 0 0
intr 12 1
ctxt 5
`

func TestParseStat(t *testing.T) {
	got, err := ParseStat([]byte(statText))
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	want := []model.CPUTime{
		{CPU: 0, User: 110 * ms, System: 100 * ms, Idle: 1000 * ms, IOWait: 100 * ms, IRQ: 10 * ms, SoftIRQ: 110 * ms, Steal: 10 * ms},
		{CPU: 2, User: 220 * ms, System: 200 * ms, Idle: 2000 * ms, IOWait: 200 * ms, IRQ: 20 * ms, SoftIRQ: 220 * ms, Steal: 20 * ms},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, bad := range []string{"", "cpu 1 2 3\n", "cpu0 1 2 3\n", "cpu0 1 2 3 4 5 6 7 x\n", "cpux 1 2 3 4 5 6 7 8\n", "cpu0 1 2 3 4 5 6 7 -8\n"} {
		if _, err := ParseStat([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParseSoftnet(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []model.Softnet
	}{
		"with core numbers, core 1 off": {
			"0000000a 00000001 00000002 0 0 0 0 0 0 0 0 0 00000000 0 0\nffffffff 00000000 00000003 0 0 0 0 0 0 0 0 0 00000002 0 0\n",
			[]model.Softnet{{CPU: 0, Processed: 10, Dropped: 1, Squeezed: 2}, {CPU: 2, Processed: 1<<32 - 1, Squeezed: 3}},
		},
		"before 5.10": {
			"00000001 0 0 0 0 0 0 0 0 0 0\n00000002 0 0 0 0 0 0 0 0 0 0\n",
			[]model.Softnet{{CPU: 0, Processed: 1}, {CPU: 1, Processed: 2}},
		},
	} {
		got, err := ParseSoftnet([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
	for _, bad := range []string{"", "\n", "1 2\n", "x 2 3\n"} {
		if _, err := ParseSoftnet([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParseNetstat(t *testing.T) {
	got := map[string]int64{"old": 1}
	err := ParseNetstat([]byte("Tcp: MaxConn RetransSegs\nTcp: -1 7\nTcpExt: TCPTimeouts Huge\nTcpExt: 3 18446744073709551615\n"), got)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"old": 1, "Tcp.MaxConn": -1, "Tcp.RetransSegs": 7, "TcpExt.TCPTimeouts": 3}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, bad := range []string{"x\n", "Tcp: A\n", "Tcp: A\nUdp: 1\n", "Tcp: A B\nTcp: 1\n"} {
		if err := ParseNetstat([]byte(bad), map[string]int64{}); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParseTask(t *testing.T) {
	stat := "42 (a) b (c)) S 1 42 42 0 -1 4194304 10 0 0 0 150 50 0 0 20 0 3 0 100 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n"
	got, err := ParseTaskStat([]byte(stat))
	if want := (TaskStat{State: "S", Name: "a) b (c)", Core: 3, CPU: 2 * time.Second}); err != nil || got != want {
		t.Errorf("stat: %+v, %v, want %+v", got, err, want)
	}
	cpu, wait, err := ParseSchedstat([]byte("1500 2500 3\n"))
	if err != nil || cpu != 1500 || wait != 2500 {
		t.Errorf("schedstat: %v, %v, %v", cpu, wait, err)
	}
	for _, bad := range []string{"", "1 (x) S 1", "1 x) (y S"} {
		if _, err := ParseTaskStat([]byte(bad)); err == nil {
			t.Errorf("stat %q: no error", bad)
		}
	}
	for _, bad := range []string{"", "1", "1 -2", "x 2"} {
		if _, _, err := ParseSchedstat([]byte(bad)); err == nil {
			t.Errorf("schedstat %q: no error", bad)
		}
	}
}

func TestParseSmallThings(t *testing.T) {
	if n, ok := ParseSocketLink("socket:[123]"); n != 123 || !ok {
		t.Errorf("socket link: %d %v", n, ok)
	}
	for _, bad := range []string{"pipe:[123]", "socket:[x]", "socket:[123", "/dev/null"} {
		if _, ok := ParseSocketLink(bad); ok {
			t.Errorf("%q taken for a socket", bad)
		}
	}
	got, err := ParseCPUList(" 0-2,8\n")
	if d := cmp.Diff([]int{0, 1, 2, 8}, got); err != nil || d != "" {
		t.Errorf("CPU list: %v %s", err, d)
	}
	for _, bad := range []string{"a", "3-1", "0-4294967295", "1,,2", "-1"} {
		if _, err := ParseCPUList(bad); err == nil {
			t.Errorf("CPU list %q: no error", bad)
		}
	}
}

func TestParseMountinfo(t *testing.T) {
	got, err := ParseMountinfo([]byte(`27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
36 27 0:40 / /mnt/my\040nas rw,nosuid - nfs4 10.0.0.2:/a\134b rw,vers=4.2,rsize=1048576,addr=10.0.0.2
`))
	want := []model.Mount{
		{Source: "/dev/vda", Point: "/", Type: "ext4", Dev: "254:0", Options: map[string]string{"rw": "", "relatime": "", "discard": ""}},
		{Source: `10.0.0.2:/a\b`, Point: "/mnt/my nas", Type: "nfs4", Dev: "0:40", Options: map[string]string{"rw": "", "nosuid": "", "vers": "4.2", "rsize": "1048576", "addr": "10.0.0.2"}},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v -want +got:\n%s", err, d)
	}
	for _, bad := range []string{"\n", "a b c - d e f\n", "27 1 254:0 / / rw\n", "27 1 254:0 / / rw - ext4\n"} {
		if _, err := ParseMountinfo([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParseMountTree(t *testing.T) {
	got, err := ParseMountTree([]byte("36 27 0:40 /a\\040b /mnt/x rw shared:1 - ext4 /dev/vda rw\n"))
	want := []MountNode{{ID: 36, Parent: 27, Root: "/a b", Mount: model.Mount{Source: "/dev/vda", Point: "/mnt/x", Type: "ext4", Dev: "0:40", Options: map[string]string{"rw": ""}}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v -want +got:\n%s", err, d)
	}
}

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseMountstats(t *testing.T) {
	got, err := ParseMountstats(readTestdata(t, "mountstats"), "/mnt/nas")
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	want := &model.NFSCount{
		Mount: "/mnt/nas", ServerReadBytes: 1610612736, ServerWriteBytes: 4096,
		Sends: 1700, Receives: 1700, BacklogUtil: 42, MaxSlots: 128, SendingUtil: 900, PendingUtil: 5000,
		Ops: map[string]model.NFSOp{
			"READ":  {Ops: 1536, Trans: 1536, BytesSent: 313344, BytesRecv: 1610809344, Queue: 300 * ms, RTT: 25000 * ms, Execute: 25400 * ms},
			"WRITE": {Ops: 1, Trans: 2, Timeouts: 1, BytesSent: 4300, BytesRecv: 136, RTT: 3 * ms, Execute: 4 * ms},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, point := range []string{"/", "/mnt/gone"} {
		if _, err := ParseMountstats(readTestdata(t, "mountstats"), point); err == nil {
			t.Errorf("%s: no error", point)
		}
	}
}

func TestParseCPUGroup(t *testing.T) {
	for _, c := range []struct {
		text string
		want CPUGroup
		ok   bool
	}{
		{"0::/user.slice/x.scope\n", CPUGroup{V2: true, Path: "/user.slice/x.scope"}, true},
		{"9:name=systemd:/\n1:cpuacct,cpu:/box\n0::/other\n", CPUGroup{Path: "/box"}, true},
		{"0::/../../x\n", CPUGroup{V2: true, Path: "/x"}, true},
		{"9:name=systemd:/\n", CPUGroup{}, false},
		{"nonsense\n", CPUGroup{}, false},
	} {
		got, err := ParseCPUGroup([]byte(c.text))
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		}
	}
	for _, c := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"nr_periods 1\nnr_throttled 1\nthrottled_time 1500\n", 1500, true},
		{"usage_usec 1\nthrottled_usec 15\n", 15 * time.Microsecond, true},
		{"usage_usec 1\n", 0, false},
	} {
		got, ok, err := ParseThrottled([]byte(c.text))
		if got != c.want || ok != c.ok || err != nil {
			t.Errorf("%q: %v %v %v", c.text, got, ok, err)
		}
	}
	if _, _, err := ParseThrottled([]byte("throttled_usec x\n")); err == nil {
		t.Error("throttled_usec x: no error")
	}
}
