package inlab

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"linerate/internal/lab/fault"
	"linerate/internal/rules"
)

// sight is what inspection sees of a fault: the rule that tells of it, from a
// severity on, or why none can.
type sight struct{ rule, from, why string }

// faultsInSight is the lab's catalogue as `linerate check` sees it. Hosts of labs
// have virtual ports, whose speed nobody tells, so that the path is stated
// (--line-rate, --rtt) for the rules that need one.
func faultsInSight() map[string]sight {
	const (
		onlyTraffic = "hosts that do not send cannot tell: while a copy runs, check --watch sees retransmissions and explain names the limiter"
		onlyPair    = "one host's own settings are right: it takes both ends, or a probe between them"
		inProgram   = "it is in the application, which inspection does not read"
		onlyLoad    = "who takes a CPU, and how fast a disk is, is measured, not read"
	)
	return map[string]sight{
		"loss-random": {why: onlyTraffic}, "loss-bursty": {why: onlyTraffic}, "loss-reverse": {why: onlyTraffic},
		"link-rate": {why: onlyTraffic}, "reverse-rate": {why: onlyTraffic}, "small-queue": {why: onlyTraffic}, "policer": {why: onlyTraffic},
		"reordering": {why: onlyTraffic}, "jitter": {why: onlyTraffic}, "duplicate": {why: onlyTraffic},
		"mtu-blackhole": {why: onlyPair}, "mtu-blackhole-probed": {why: onlyPair}, "mtu-switch": {why: onlyPair}, "host-mtu": {why: onlyPair},

		"rcv-window-sysctl": {rule: "receive-buffer-below-bdp"}, "rcv-autotuning-off": {rule: "receive-autotuning-off"},
		"window-scaling-off": {rule: "window-scaling-off"}, "send-buffer": {rule: "send-buffer-below-bdp"}, "sack-off": {rule: "sack-off"},
		"offloads-off": {rule: "segmentation-offload-off", from: "medium"}, "local-shaper": {rule: "qdisc-shapes"}, "notsent-lowat": {rule: "notsent-lowat-small", from: "severe"},
		"wrong-route": {rule: "route-detour"}, "asymmetric-route": {rule: "strict-reverse-path"}, "arp-flux": {rule: "same-subnet-arp-flux"},
		"one-core-for-queues": {rule: "irqs-on-one-core"},
		"receiver-cpu":        {why: onlyLoad}, "sender-cpu": {why: onlyLoad}, "server-cpu": {why: onlyLoad}, "slow-disk": {why: onlyLoad},

		"rcv-window-socket": {why: inProgram}, "send-buffer-socket": {why: inProgram}, "slow-source": {why: inProgram}, "slow-reader": {why: inProgram},
		"pacing": {why: inProgram}, "small-writes": {why: inProgram}, "delayed-ack-nagle": {why: inProgram},
		"congestion-control": {why: "the application asks for it by socket; where the host's default is such a one congestion-control-reno tells"},

		"nfs-few-threads": {rule: "nfsd-threads-few"}, "nfs-few-slots": {rule: "nfs-slots", from: "severe"}, "nfs-small-transfer": {rule: "nfs-transfer-small"},
		"nconnect-ignored": {why: "the kernel forgets what was asked for; where /etc/fstab asks for it nconnect-not-in-effect tells"},
		"nfs-sync-writes":  {rule: "nfs-sync"}, "smb-signing": {rule: "smb-signed"}, "smb-small-transfer": {rule: "smb-transfer-small"},
		"iscsi-queue-depth": {rule: "iscsi-queue-short"}, "iscsi-small-request": {rule: "disk-request-small", from: "medium"},
		"small-read-ahead": {rule: "nfs-readahead-small", from: "medium"}, "dirty-limit": {rule: "dirty-limit-small"},
	}
}

// Of each fault of the catalogue it is said which rule sees it, or why none can.
func TestFaultsInSight(t *testing.T) {
	seen, known := faultsInSight(), []string{}
	for _, r := range rules.All() {
		known = append(known, r.ID)
	}
	n := 0
	for _, f := range fault.Catalogue() {
		s, ok := seen[f.ID]
		delete(seen, f.ID)
		switch {
		case !ok:
			t.Errorf("%s: say which rule sees it, or why none can", f.ID)
		case (s.rule == "") == (s.why == ""):
			t.Errorf("%s: %+v: want a rule or a reason", f.ID, s)
		case s.rule != "" && !slices.Contains(known, s.rule):
			t.Errorf("%s: there is no rule %s", f.ID, s.rule)
		case s.from != "" && !slices.ContainsFunc(f.Severities, func(v fault.Severity) bool { return v.Name == s.from }):
			t.Errorf("%s has no severity %s", f.ID, s.from)
		}
		if s.rule != "" {
			n++
		}
	}
	for id := range seen {
		t.Errorf("%s is no fault of the catalogue", id)
	}
	b, err := os.ReadFile("../../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Of the catalogue's %d faults one host's settings show %d:", len(fault.Catalogue()), n)
	if n < 20 || !strings.Contains(string(b), want) {
		t.Errorf("docs/check.md has no %q", want)
	}
}
