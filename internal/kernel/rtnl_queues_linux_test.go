package kernel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"linerate/internal/model"
)

// qdiscOf is a discipline of an interface, with its statistics.
func qdiscOf(kind string, link int, handle, parent uint32, bytes uint64) netlink.Qdisc {
	q := &netlink.GenericQdisc{QdiscType: kind, QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link, Handle: handle, Parent: parent}}
	q.Statistics = &netlink.QdiscStatistics{Basic: &netlink.GnetStatsBasic{Bytes: bytes}, Queue: &netlink.GnetStatsQueue{Drops: uint32(bytes / 10), Backlog: 1}}
	return q
}

func TestTxQueues(t *testing.T) {
	list := []netlink.Qdisc{
		qdiscOf("mq", 2, 0, netlink.HANDLE_ROOT, 30), // the kernel's own
		qdiscOf("fq_codel", 2, 0, netlink.MakeHandle(0, 2), 20),
		qdiscOf("fq_codel", 2, 0, netlink.MakeHandle(0, 1), 10),
		qdiscOf("mq", 3, netlink.MakeHandle(0x8001, 0), netlink.HANDLE_ROOT, 1), // one that was set
		qdiscOf("fq", 3, 0, netlink.MakeHandle(0x8001, 0x10), 5),
		qdiscOf("fq", 3, netlink.MakeHandle(0x10, 0), netlink.MakeHandle(0x20, 1), 5), // below one of those
		qdiscOf("fq_codel", 4, 0, netlink.HANDLE_ROOT, 7),                             // an interface with one queue
		qdiscOf("ingress", 2, netlink.MakeHandle(0xffff, 0), netlink.HANDLE_INGRESS, 9),
	}
	want := map[int][]model.QueueCount{2: {{Queue: 0, Bytes: 10, Drops: 1, Backlog: 1}, {Queue: 1, Bytes: 20, Drops: 2, Backlog: 1}}, 3: {{Queue: 15, Bytes: 5, Backlog: 1}}}
	if d := cmp.Diff(want, txQueues(list)); d != "" {
		t.Error(d)
	}
}
