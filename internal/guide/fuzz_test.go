package guide

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

// fuzzParser feeds a parser of outside text. It may find nothing; what it finds
// has an id, a name, and a line of the text.
func fuzzParser(f *testing.F, parse func(string) []assignment, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		for _, a := range parse(text) {
			if a.id == "" || a.name == "" || a.line < 1 || a.line > lines {
				t.Errorf("%q: %+v", text, a)
			}
		}
	})
}

func FuzzParseSysctl(f *testing.F) {
	fuzzParser(f, func(s string) []assignment { return parseSysctl(s, "linux") },
		"net.ipv4.tcp_rmem = 4096 1 2\n", "-net/ipv4/x=1", "## MLXNET tuning parameters ##\na=1\n## END MLXNET ##\n", "-a\n=\n")
}

func FuzzParseShell(f *testing.F) {
	seeds := []string{
		"sysctl -w a=1; echo 1 > /proc/sys/a/b", "ethtool -G eth0 rx 1 tx 2", "ip link set dev e mtu 9000", "echo 1 | tee /sys/block/a/queue/b",
		"setpci -s 1 68.w=5", "ifconfig e mtu", "a\\\nb=c", "reg add K /v N /d 1", "zfs set a=b c", "numactl -N 1 x", "ethtool -K e '' on", "echo > /proc/sys/",
	}
	fuzzParser(f, func(s string) []assignment { return append(parseShell(s, posix), parseShell(s, windows)...) }, seeds...)
}

func FuzzParseModprobe(f *testing.F) {
	fuzzParser(f, parseModprobe, "options zfs zfs_arc_max=1\n", "options a \\\n b=c", "options sunrpc =1")
}

func FuzzParseLink(f *testing.F) {
	fuzzParser(f, func(s string) []assignment { return append(parseLink(s), parseConnection(s)...) },
		"[connection]\nid=a\n[ethtool]\nring-rx=4096\nfeature-tso=false\n[ethernet]\nmtu=9000\n", "[Match]\nName=e*\n[Link]\nMTUBytes=9000\nRxFlowControl=yes\n", "[Link\n=\n")
}

func FuzzParseTuned(f *testing.F) {
	fuzzParser(f, parseTuned, "[sysctl]\nnet.core.rmem_max=>1\n[net]\nring=rx 1\n[cpu]\ngovernor=x\n", "[sysctl]\n=1")
}

func FuzzParseUdev(f *testing.F) {
	fuzzParser(f, parseUdev, `ATTR{tx_queue_len}="1", RUN+="/sbin/ethtool -K e gro off"`, `RUN==1,ATTR{mtu}=`)
}

func FuzzParseFiles(f *testing.F) {
	fuzzParser(f, func(s string) []assignment {
		out := append(parseFstab(s), parseExports(s)...)
		out = append(out, parseSamba(s)...)
		out = append(out, parseSystem(s)...)
		out = append(out, parseDriver("ixgbe", s)...)
		out = append(out, parseInterfaces(s)...)
		out = append(out, parseIfcfg("eth0", s)...)
		out = append(out, parseNetplan(s)...)
		return append(out, parseUnit(s)...)
	}, "a:/b /c nfs rsize=1,udp 0 0\n", "/srv *(rw,async) h\n", "set a:b=c\n", "a = 1;\n", "iface e inet\nmtu 9000\nup ethtool -G $IFACE rx 1\n",
		"MTU=9000\nETHTOOL_OPTS=\"-G ${DEVICE} rx 1; -K eth0 gro off\"\n", "[Service]\nExecStart=-/bin/sh -c 'sysctl -w a=1'\n", "[global]\nsocket options = x\n",
		"network:\n  ethernets:\n    eth0:\n      mtu: 9000\n      generic-receive-offload: false\n")
}

// Whatever the files hold, the audit judges it and never fails.
func FuzzAudit(f *testing.F) {
	f.Add("net.ipv4.tcp_rmem=4096 87380 1\n", "6.18", "echo 20 > /proc/irq/1/smp_affinity\n")
	b := openBook()
	f.Fuzz(func(t *testing.T, sysctl, release, script string) {
		r := b.audit(model.HostFiles{OS: "linux", Kernel: release, Files: map[string]string{"/etc/sysctl.conf": sysctl, "/etc/rc.local": script, "/proc/cmdline": script}})
		for _, it := range r.Items {
			if it.Status == "" || it.Why == "" || it.RemovalRestores == "" {
				t.Errorf("%+v", it)
			}
		}
	})
}
