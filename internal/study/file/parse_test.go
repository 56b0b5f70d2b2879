package file

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/conf"
	"linerate/internal/model"
	"linerate/internal/unit"
)

const example = `v: 1
name: dell-x520
question: which of Dell's settings for the X520 pay here?
source: Dell BP1057 (2013), tables 1 to 5
hosts: {client: lab:client1, server: lab:server1}
baseline:
  - name: jumbo
    set: {client: {linux.link.mtu: 9000}, server: {linux.link.mtu@eth0: 9000}}
factors:
  - name: buffers
    why: a window of the path
    levels:
      - name: large
        set: {client: {linux.sysctl.net.ipv4.tcp_rmem: 4096  131072 33554432}}
  - name: slot
    operator: true
    hard: true
    levels:
      - {name: x8, instruct: "move the adapter of server to an x8 slot", back: "move it back", verify: {host: server, fact: nic.slot.width, is: "8"}}
  - name: streams
    levels: [{name: "4", workload: {streams: 4, recv_buffer: 1MiB}}]
workloads:
  - {name: bulk, kind: tcp, senders: [server], receivers: [client], seconds: 2.5}
  - {name: disk, kind: block, hosts: [server], path: /dev/sdx, read: 67}
primary: bulk
protocol: {name: linerate, design: one-at-a-time}
budget: 2h
`

func TestParse(t *testing.T) {
	got, err := Parse("x.yaml", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := model.StudyFile{
		V: 1, Name: "dell-x520", Question: "which of Dell's settings for the X520 pay here?", Source: "Dell BP1057 (2013), tables 1 to 5",
		Hosts: map[string]string{"client": "lab:client1", "server": "lab:server1"},
		Baseline: []model.StudyLevel{{Name: "jumbo", Set: []model.StudySetting{
			{Host: "client", Setting: "linux.link.mtu", Value: "9000"}, {Host: "server", Setting: "linux.link.mtu", Target: "eth0", Value: "9000"},
		}}},
		Factors: []model.StudyFactor{
			{Name: "buffers", Why: "a window of the path", Levels: []model.StudyLevel{{Name: "large", Set: []model.StudySetting{
				{Host: "client", Setting: "linux.sysctl.net.ipv4.tcp_rmem", Value: "4096 131072 33554432"},
			}}}},
			{Name: "slot", Operator: true, Hard: true, Levels: []model.StudyLevel{{
				Name: "x8", Instruct: "move the adapter of server to an x8 slot", Back: "move it back", Verify: &model.StudyVerify{Host: "server", Fact: "nic.slot.width", Is: "8"},
			}}},
			{Name: "streams", Levels: []model.StudyLevel{{Name: "4", Workload: map[string]string{"streams": "4", "recv_buffer": "1MiB"}}}},
		},
		Workloads: []model.StudyWorkload{
			{Name: "bulk", Kind: "tcp", Senders: []string{"server"}, Receivers: []string{"client"}, Streams: 1, Duration: 2500 * time.Millisecond, Warmup: time.Second},
			{Name: "disk", Kind: "block", Hosts: []string{"server"}, Path: "/dev/sdx", Pattern: "random", Read: 67, Block: 8 * unit.KiB, Depth: 1, Threads: 1, Duration: 5 * time.Second, Warmup: time.Second},
		},
		Primary: "bulk", Budget: 2 * time.Hour,
		Protocol: model.StudyProtocol{Name: "linerate", Design: "one-at-a-time", Alpha: 0.045, Margin: 1.02, Looks: []int{8, 12, 20, 32}, AA: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseFillsThePaper(t *testing.T) {
	got, err := Parse("x.yaml", []byte(strings.Replace(example, "protocol: {name: linerate, design: one-at-a-time}", "protocol: {name: paper, design: sequence, seed: 7}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	want := model.StudyProtocol{Name: "paper", Design: "sequence", Margin: 1.05, Runs: 3, RSD: 0.01, Most: 5, Seed: 7}
	if diff := cmp.Diff(want, got.Protocol); diff != "" {
		t.Error(diff)
	}
}

// Each replaces something of the example and names the line and the words that
// the message has to have.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, line, want string }{
		{"no YAML", "v: 1", "v: [", "line ", "not YAML"},
		{"version", "v: 1", "v: 2", "line 1", "version 1"},
		{"unknown key", "question:", "qestion:", "line 3", "did you mean question"},
		{"twice", "source:", "name: again\nsource:", "line ", "name"},
		{"name", "name: dell-x520", "name: ../etc", "line 2", "no name of a study"},
		{"hosts missing", "hosts: {client: lab:client1, server: lab:server1}", "hosts:", "line 5", "name them"},
		{"host twice", "server: lab:server1", "server: lab:client1", "line 5", "already"},
		{"host like an option", "server: lab:server1", "server: -oProxyCommand=x", "line 5", "how the host is reached"},
		{"unknown host of a setting", "set: {client: {linux.sysctl", "set: {klient: {linux.sysctl", "line 14", "not one of hosts"},
		{"unknown host of a workload", "senders: [server]", "senders: [nas]", "line 23", "not one of hosts"},
		{"unknown setting", "linux.sysctl.net.ipv4.tcp_rmem:", "linux.sysctl.net.ipv4.tcp_rmen:", "line 14", "tcp_rmem"},
		{"impossible value", "4096  131072 33554432", "4096 ten", "line 14", "tcp_rmem"},
		{"a mount's setting", "linux.sysctl.net.ipv4.tcp_rmem: 4096  131072 33554432", "linux.mount.nfs.nconnect: 8", "line 14", "operator: true"},
		{"device of a host's setting", "linux.sysctl.net.ipv4.tcp_rmem:", "linux.sysctl.net.ipv4.tcp_rmem@eth0:", "line 14", "no device"},
		{"nothing in a level", "set: {client: {linux.sysctl.net.ipv4.tcp_rmem: 4096  131072 33554432}}", "set:", "line 13", "exactly one"},
		{"operator without verify", `, verify: {host: server, fact: nic.slot.width, is: "8"}`, "", "line 19", "needs verify"},
		{"operator without a way back", ` back: "move it back",`, "", "line 19", "back:"},
		{"instruct without operator", "operator: true", "operator: false", "line 19", "operator: true"},
		{"unknown fact", "nic.slot.width", "nic.slot.wide", "line 19", "nic.slot.width"},
		{"factor twice", "name: streams", "name: buffers", "line 9", "two are called"},
		{"factor of a kept name", "name: streams", "name: baseline", "line 9", "kept"},
		{"two factors of one thing", "workload: {streams: 4, recv_buffer: 1MiB}", "set: {client: {linux.sysctl.net.ipv4.tcp_rmem: 4096 131072 4194304}}", "line 20", "both set"},
		{"a factor and the baseline", "linux.sysctl.net.ipv4.tcp_rmem: 4096  131072 33554432", "linux.link.mtu: 1500", "line 10", "the baseline both set"},
		{"field of another kind", "workload: {streams: 4, recv_buffer: 1MiB}", "workload: {depth: 4, streams: 2}", "line 21", "no workload"},
		{"level beside the primary", "workload: {streams: 4, recv_buffer: 1MiB}", "workload: {depth: 4}", "line 20", "primary"},
		{"wrong number", "streams: 4,", "streams: many,", "line 21", "whole number"},
		{"field of a fixed kind", "seconds: 2.5", "depth: 3", "line 23", "kind tcp has none"},
		{"seconds", "seconds: 2.5", "seconds: -1", "line 23", "seconds"},
		{"kind", "kind: tcp", "kind: udp", "line 23", "tcp, block, read"},
		{"to itself", "receivers: [client]", "receivers: [server]", "line 23", "itself"},
		{"destroys another", "read: 67", "destroy: /dev/sdy", "line 24", "again"},
		{"primary", "primary: bulk", "primary: bulky", "line 25", "no workload"},
		{"protocol", "name: linerate", "name: best", "line 26", "linerate, paper"},
		{"design", "design: one-at-a-time", "design: latin", "line 26", "plackett"},
		{"key of the other protocol", "design: one-at-a-time", "rsd: 0.01", "line 26", "has none"},
		{"looks that fall", "design: one-at-a-time", "looks: [12, 8]", "line 26", "rise"},
		{"looks that show nothing", "design: one-at-a-time", "looks: [4]", "line 26", "show nothing"},
		{"crossed paper", "name: linerate, design: one-at-a-time", "name: paper, design: factorial", "line 26", "needs protocol linerate"},
		{"split plot without a hard factor", "hard: true\n", "hard: false\n", "line 26", "split plot"},
		{"budget", "budget: 2h", "budget: soon", "line 27", "2h"},
	} {
		text := strings.Replace(example, c.old, c.new, 1)
		if strings.HasPrefix(c.name, "split plot") {
			text = strings.Replace(text, "one-at-a-time", "split-plot", 1)
		}
		if text == example {
			t.Fatalf("%s: nothing was replaced", c.name)
		}
		_, err := Parse("x.yaml", []byte(text))
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.yaml: "+c.line) {
			t.Errorf("%s: %v\nwant %s: …%s…", c.name, err, c.line, c.want)
		}
	}
}

func TestParseBoundsSize(t *testing.T) {
	if _, err := Parse("x", make([]byte, conf.MaxFile+1)); err == nil {
		t.Error("a file too long")
	}
	many := "v: 1\nname: a\nhosts: {a: a}\nfactors: [" + strings.Repeat("{},", 100) + "]\n"
	if _, err := Parse("x", []byte(many)); err == nil || !strings.Contains(err.Error(), "at most 64") {
		t.Errorf("%v", err)
	}
}

func TestChange(t *testing.T) {
	f, err := Parse("x.yaml", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	w, err := Change(f.Workloads[0], f.Factors[2].Levels[0].Workload)
	if err != nil || w.Streams != 4 || w.RecvBuffer != unit.MiB || f.Workloads[0].Streams != 1 {
		t.Errorf("%+v, %v", w, err)
	}
	for _, bad := range []map[string]string{{"depth": "3"}, {"seconds": "3"}, {"streams": "0"}, {"clients": "2"}, {"nonsense": "1"}} {
		if _, err := Change(f.Workloads[0], bad); err == nil {
			t.Errorf("%v changed a tcp workload", bad)
		}
	}
}

// The many of a workload without senders are its hosts.
func TestClientsOfFiles(t *testing.T) {
	w := model.StudyWorkload{Name: "read", Kind: Read, Hosts: []string{"a", "b"}, Path: "/mnt/nas/file"}
	if got, err := Change(w, map[string]string{"clients": "2"}); err != nil || got.Clients != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Change(w, map[string]string{"clients": "3"}); err == nil || !strings.Contains(err.Error(), "3 of 2") {
		t.Errorf("3 of 2 hosts: %v", err)
	}
}

func TestSame(t *testing.T) {
	s := func(host, setting, target, value string) model.StudySetting {
		return model.StudySetting{Host: host, Setting: setting, Target: target, Value: value}
	}
	for _, c := range []struct {
		a, b model.StudySetting
		want bool
	}{
		{s("a", "x", "", "1"), s("a", "x", "", "2"), true},
		{s("a", "x", "", "1"), s("b", "x", "", "1"), false},
		{s("a", "x", "eth0", "1"), s("a", "x", "eth1", "1"), false},
		{s("a", "x", "", "1"), s("a", "x", "eth1", "1"), true}, // perhaps
		{s("a", "f", "", "rx-gro=off"), s("a", "f", "", "rx-lro=off"), false},
		{s("a", "f", "", "rx-gro=off rx-lro=off"), s("a", "f", "", "rx-lro=on"), true},
	} {
		if got := Same(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}

// A whole study is a hundred lines of YAML, whose reader takes a third of a millisecond: two
// busy cores make some hundreds of executions a second.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("v: 1\nname: a\nhosts: {a: b}\nbaseline: [{set: {a: {x: &y 1}}}]\nworkloads: *y"))
	c := readCatalogue()
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parse("x", text, c)
		if err != nil {
			if strings.Count(err.Error(), "\n") >= 8 {
				t.Errorf("%d problems", strings.Count(err.Error(), "\n")+1)
			}
			return
		}
		if s.Name == "" || len(s.Workloads) == 0 || s.Protocol.Margin <= 1 {
			t.Errorf("%+v passed", s)
		}
		for _, x := range s.Factors {
			for _, l := range x.Levels {
				if len(l.Set)+len(l.Workload)+len(l.Instruct) == 0 || l.Instruct != "" && l.Verify == nil {
					t.Errorf("level %+v says nothing", l)
				}
			}
		}
	})
}
