package guide

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"linerate/internal/app"
	catalogue "linerate/internal/guide"
)

// printedLine is a line of a paper's block with what the audit must say of it:
// the status, and a piece of the source that it rests on.
type printedLine struct {
	text   string
	status catalogue.Status
	source string
}

// papersLines are the papers' blocks, line by line as printed, in the order in
// which a start puts them in force. What says nothing about a setting (titles,
// comments) is not among them.
func papersLines() map[string][]printedLine {
	const (
		property = `powershell Set-NetAdapterAdvancedProperty -Name `
		registry = `reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{guid} /v `
		oracle   = "value of napp-it-10ge (2016); judged by Oracle tunable parameters: nfs3_max_t"
	)
	return map[string][]printedLine{
		"atto": {
			{"net.inet.tcp.sendspace=1048576", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by xnu bsd/netinet/tcp_usrreq.c"},
			{"net.inet.tcp.recvspace=1048576", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by xnu bsd/netinet/tcp_usrreq.c"},
			{"net.inet.tcp.delayed_ack=3", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by xnu bsd/netinet/tcp_input.c"},
			{"net.inet.tcp.rfc1323=1", catalogue.WrongSide, "xnu bsd/netinet/tcp_subr.c"},
			{"efs.bam.fnprefetch.lookahead_streaming: 9", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by Dell OneFS best practices"},
			{"efs.bam.fnprefetch.lookahead_concurrent: 9", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by Dell OneFS best practices"},
			{"efs.bam.fnprefetch.prefetch_ll_all: 1", catalogue.WrongSide, "Dell OneFS best practices"},
			{"efs.bam.fnprefetch.prefetch_ll_size_limit: 67108864", catalogue.WrongSide, "Dell OneFS best practices"},
			{"sysctl efs.bam.fnprefetch.enable_streaming=1", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by Dell OneFS best practices"},
			{"sysctl efs.bam.fnprefetch.enable_concurrent=1", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by Dell OneFS best practices"},
			{"sysctl efs.bam.fnprefetch.enable_streaming=1", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by Dell OneFS best practices"},
			{"sysctl efs.bam.fnprefetch.enable_concurrent=1", catalogue.WrongSide, "value of emc-atto-10ge (2012); judged by Dell OneFS best practices"},
		},
		"dell": {
			{property + `SAN1 -DisplayName "Jumbo packet" -DisplayValue "9614"`, catalogue.WrongName, "value of dell-bp1057 (2013-09); judged by Microsoft: keywords that can be edited"},
			{property + `SAN1 -DisplayName "Receive buffers" -DisplayValue "3000"`, catalogue.Valid, "value of dell-bp1057 (2013-09); judged by Microsoft: performance tuning network adapters"},
			{property + `SAN1 -DisplayName "TCP Connection Offload" -DisplayValue "Enabled"`, catalogue.Harmful, "judged by Microsoft: delayed acknowledgement timer (chimney deprecated)"},
			{property + `SAN1 -DisplayName "Transmit Buffers" -DisplayValue "5000"`, catalogue.Valid, "value of dell-bp1057 (2013-09); judged by Microsoft: keywords that can be edited"},
			{"netsh int tcp set global chimney=enabled", catalogue.Harmful, "judged by Microsoft: delayed acknowledgement timer (chimney deprecated)"},
			{property + `SAN2 -DisplayName "Flow control" -DisplayValue "Rx & Tx enabled"`, catalogue.Valid, "Microsoft: enumeration keywords"},
			{property + `SAN2 -DisplayName "MTU" -DisplayValue "9600"`, catalogue.WrongName, "value of dell-bp1057 (2013-09)"},
			{property + `SAN3 -DisplayName "Jumbo packet" -DisplayValue "Enabled"`, catalogue.Valid, "value of dell-bp1057 (2013-09); judged by Microsoft: keywords that can be edited"},
			{property + `SAN3 -DisplayName "Receive Buffers" -DisplayValue "4096"`, catalogue.Valid, "dell-bp1057 (2013-09); judged by Microsoft: performance tuning network adapters"},
			{property + `SAN3 -DisplayName "Transmit Buffers" -DisplayValue "16384"`, catalogue.Valid, "value of dell-bp1057 (2013-09); judged by Microsoft: keywords that can be edited"},
			{registry + `TcpAckFrequency /t REG_DWORD /d 1`, catalogue.Stale, "value of dell-bp1057 (2013-09); judged by Microsoft KB 328890"},
			{registry + `TcpNoDelay /t REG_DWORD /d 1`, catalogue.NoOp, "value of dell-bp1057 (2013-09); judged by Sys Admin v10 i05 (MSMQ TCPNoDelay)"},
		},
		"nappit": {
			{"set sata:sata_auto_online=1", catalogue.NoOp, "value of napp-it-10ge (2016)"},
			{"set sd:sd_io_time=0x8", catalogue.Harmful, "value of napp-it-10ge (2016)"},
			{"set nfs:nfs3_max_threads=1024", catalogue.WrongSide, oracle},
			{"set nfs:nfs4_max_threads=1024", catalogue.WrongSide, oracle},
			{"set nfs:nfs3_nra=32", catalogue.WrongSide, oracle},
			{"set nfs:nfs4_nra=32", catalogue.WrongSide, oracle},
			{"set nfs3:max_transfer_size=1048576", catalogue.WrongName, oracle},
			{"set nfs4:max_transfer_size=1048576", catalogue.WrongName, oracle},
			{"set nfs:nfs3_bsize=1048576", catalogue.WrongSide, oracle},
			{"set nfs:nfs4_bsize=1048576", catalogue.WrongSide, oracle},
			{"intr_throttling = 0;", catalogue.Valid, "value of napp-it-10ge (2016); judged by illumos ixgbe.conf"},
			{"ipadm set-prop -p max_buf=2097152 tcp", catalogue.Valid, "value of napp-it-10ge (2016); judged by illumos tcp_tunables.c"},
			{"ipadm set-prop -p send_buf=1048576 tcp", catalogue.Valid, "value of napp-it-10ge (2016); judged by illumos tcp_tunables.c"},
			{"ipadm set-prop -p recv_buf=1048576 tcp", catalogue.Valid, "value of napp-it-10ge (2016); judged by illumos tcp_tunables.c"},
			{"sharectl set -p lockd_servers=1024 nfs", catalogue.WrongName, "value of napp-it-10ge (2016); judged by notes on sharectl"},
			{"zfs set sync=disabled tank/bench", catalogue.Harmful, "value of napp-it-10ge (2016); judged by zfsprops(7)"},
			{"stmfadm modify-lu -p wcd=false 600144F000000000", catalogue.Harmful, "the papers (linerate guide)"},
		},
		"sfc": {
			{"kernel /vmlinuz ro root=/dev/sda1 ramdisk_size=5000000", catalogue.Stale, "value of solarflare-nfs (2010)"},
			{"kernel /vmlinuz ro root=/dev/sda1 mem=700m", catalogue.Harmful, "solarflare-nfs"},
			{"/srv/ram *(rw)", catalogue.Harmful, "value of solarflare-nfs (2010); judged by solarflare-nfs; exports(5)"},
		},
		"cit": {
			{"net.ipv4.ip_forward = 0", catalogue.NotKnown, ""}, // not the talk's: what stood there before
			{"net.ipv4.tcp_timestamps = 0", catalogue.Harmful, "caltech-40ge (2012-05), mellanox-tools (current); judged by RFC 7323"},
			{"net.ipv4.tcp_sack = 0", catalogue.Harmful, "judged by RFC 2018"},
			{"net.ipv4.tcp_low_latency = 1", catalogue.NoOp, "caltech-40ge (2012-05), mellanox-tools (current); judged by tcp(7)"},
			{"net.core.netdev_max_backlog = 250000", catalogue.Harmful, "judged by Documentation/admin-guide/sysctl/net.rst"},
			{"net.core.rmem_max = 16777216", catalogue.Valid, "value of caltech-40ge (2012-05); judged by Documentation/admin-guide/sysctl/net.rst"},
			{"net.core.wmem_max = 16777216", catalogue.Valid, "value of caltech-40ge (2012-05); judged by Documentation/admin-guide/sysctl/net.rst"},
			{"net.core.rmem_default = 16777216", catalogue.Harmful, "value of caltech-40ge (2012-05); judged by Documentation/networking/ip-sysctl.rst"},
			{"net.core.wmem_default = 16777216", catalogue.Harmful, "value of caltech-40ge (2012-05); judged by Documentation/networking/ip-sysctl.rst"},
			{"net.core.optmem_max = 16777216", catalogue.NoOp, "value of caltech-40ge (2012-05); judged by net: increase optmem_max default value (Linux 6.8)"},
			{"net.ipv4.tcp_rmem = 4096 87380 16777216", catalogue.Harmful, "judged by Documentation/networking/ip-sysctl.rst; tcp: increase tcp_rmem[2] to 32 MB (Linux 6.16)"},
			{"net.ipv4.tcp_wmem = 4096 65536 16777216", catalogue.Valid, "value of caltech-40ge (2012-05); judged by Documentation/networking/ip-sysctl.rst"},
			{"ifconfig eth2 mtu 9000", catalogue.Valid, "value of caltech-40ge (2012-05); judged by IEEE 802.3"},
			{"ethtool -G eth2 rx 8192", catalogue.Valid, "value of caltech-40ge (2012-05); judged by Amazon ENA Linux best practices"},
			{"set_irq_affinity_bynode.sh 1 eth2", catalogue.Valid, "value of caltech-40ge (2012-05)"},
			{"echo 20 > /proc/irq/73/smp_affinity", catalogue.Stale, "value of caltech-40ge (2012-05)"},
			{"numactl --physcpubind=1,2 --localalloc /usr/java/latest/bin/java -jar /root/fdt.jar &", catalogue.WrongName, "value of caltech-40ge (2012-05)"},
		},
	}
}

// A host that was given a paper's own blocks: the audit says of each line what
// has become of it, and where that is from.
func TestAuditJudgesEveryLineOfThePapers(t *testing.T) {
	for paper, lines := range papersLines() {
		t.Run(paper, func(t *testing.T) {
			root := filepath.Join("../../../testdata/hosts", "papers-"+paper)
			report, err := Audit(t.Context(), app.Env{}, nil, Source{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Items) != len(lines) {
				t.Fatalf("%d items, want one for each of %d lines", len(report.Items), len(lines))
			}
			for i, want := range lines {
				it := report.Items[i]
				if text := lineAt(t, root, it.SetBy); text != want.text {
					t.Errorf("item %d is of %q, want %q", i, text, want.text)
				}
				if it.Status != want.status || !strings.Contains(it.Source, want.source) || it.Why == "" || it.RemovalRestores == "" {
					t.Errorf("%s: %s, source %q; want %s, %q", want.text, it.Status, it.Source, want.status, want.source)
				}
			}
		})
	}
}

// lineAt is the line that "FILE:LINE, …" names in a tree.
func lineAt(t *testing.T, root, setBy string) string {
	t.Helper()
	file, rest, _ := strings.Cut(setBy, ":")
	digits, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("set by %q: %v", setBy, err)
	}
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	if n < 1 || n > len(lines) {
		t.Fatalf("%s has no line %d", file, n)
	}
	return strings.TrimSpace(lines[n-1])
}

// The table of docs/guide.md has every mistake, and says "audit" only of those
// that the audit tells of, by the line that it names.
func TestTableOfMistakes(t *testing.T) {
	b, err := os.ReadFile("../../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, g := range catalogue.Guides() {
		for _, a := range g.Advice {
			for _, m := range a.Mistakes {
				want[m] = true
			}
		}
		for _, c := range g.Claims {
			for _, m := range c.Mistakes {
				want[m] = true
			}
		}
	}
	lines := papersLines()
	lines["caltech"] = lines["cit"]
	row := regexp.MustCompile(`(?m)^\| ([a-z]+)-([0-9]+) \| [^|]+ \| (audit|show) \| ([^|]+) \|$`)
	for _, m := range row.FindAllStringSubmatch(string(b), -1) {
		id := m[1] + "-" + m[2]
		if !want[id] {
			t.Errorf("%s is there twice, or is no mistake", id)
		}
		delete(want, id)
		if m[3] == "show" {
			continue
		}
		_, line, _ := strings.Cut(m[4], "`")
		line, _, _ = strings.Cut(line, "`")
		told := slices.ContainsFunc(lines[m[1]], func(p printedLine) bool {
			return line != "" && strings.HasSuffix(p.text, line) && p.status != catalogue.Valid && p.status != catalogue.NotKnown
		})
		if !told {
			t.Errorf("%s: the audit of the paper's lines tells of no %q", id, line)
		}
	}
	if len(want) > 0 {
		t.Errorf("the table lacks %v", slices.Sorted(maps.Keys(want)))
	}
}
