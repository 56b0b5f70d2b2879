package facts

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel/snmp"
	"linerate/internal/model"
)

// Columns of counters, by ifIndex unless stated otherwise.
const (
	dot3InPause    = "1.3.6.1.2.1.10.7.10.1.3" // EtherLike-MIB, RFC 3635
	dot3OutPause   = "1.3.6.1.2.1.10.7.10.1.4"
	dot3HCInPause  = "1.3.6.1.2.1.10.7.10.1.5"       // of 64 bits
	dot3HCOutPause = "1.3.6.1.2.1.10.7.10.1.6"       //
	pfcRequests    = "1.3.111.2.802.1.1.21.1.1.1.2"  // IEEE8021-PFC-MIB, sent
	pfcIndications = "1.3.111.2.802.1.1.21.1.1.1.3"  // received
	basePortIf     = "1.3.6.1.2.1.17.1.4.1.2"        // dot1dBasePortIfIndex by port, BRIDGE-MIB, RFC 4188
	basePortLarge  = "1.3.6.1.2.1.17.1.4.1.5"        // dot1dBasePortMtuExceededDiscards, likewise
	portClasses    = "1.3.6.1.2.1.17.6.1.2.1.1.2"    // dot1dPortNumTrafficClasses, P-BRIDGE-MIB, RFC 4363
	aristaInDrops  = "1.3.6.1.4.1.30065.3.6.1.1.1.3" // ARISTA-QUEUE-MIB, by ifIndex, queue
	aristaOutSent  = "1.3.6.1.4.1.30065.3.6.1.2.1.4" // by ifIndex, queue, type of packet
	aristaOutDrops = "1.3.6.1.4.1.30065.3.6.1.2.1.6" //
	ciscoDrops     = "1.3.6.1.4.1.9.9.580.1.5.1.1.4" // CISCO-SWITCH-QOS-MIB, by ifIndex, direction, queue, threshold
	dellCells      = "1.3.6.1.4.1.6027.3.27.1.8.1.1" // DELL-NETWORKING-FPSTATS-MIB, by ifIndex, queue
)

// SwitchCounts are the counters of all ports of a switch at one time, by ifIndex.
type SwitchCounts struct {
	ports  map[string]model.Fact[map[string]int64]
	queues map[string]map[queueKey]model.SwitchQueue
}

// queueKey tells the queues of a port apart.
type queueKey struct {
	in   bool
	name string
}

// ReadCounters reads the counters of all ports. A switch need not have any of them.
func ReadCounters(t Tables) (SwitchCounts, error) {
	c := SwitchCounts{ports: map[string]model.Fact[map[string]int64]{}, queues: map[string]map[queueKey]model.SwitchQueue{}}
	for _, k := range []struct{ name, column string }{
		{"in_errors", ifInErrors}, {"out_errors", ifOutErrors}, {"in_discards", ifInDiscards}, {"out_discards", ifOutDiscards},
		{"in_packets", ifInPackets}, {"out_packets", ifOutPackets},
		{"in_pause", dot3InPause}, {"out_pause", dot3OutPause}, {"in_pause", dot3HCInPause}, {"out_pause", dot3HCOutPause}, // the longer one last
		{"out_pfc", pfcRequests}, {"in_pfc", pfcIndications},
	} {
		rows, err := t.Walk(k.column)
		if err != nil {
			return c, err
		}
		for _, r := range rows {
			c.count(r.Index, k.name, r.Int)
		}
	}
	large, err := byInterface(t, basePortLarge)
	if err != nil {
		return c, err
	}
	for i, n := range large {
		c.count(i, "too_large", n)
	}
	return c, c.readQueues(t)
}

func (c SwitchCounts) count(index, name string, n int64) {
	if c.ports[index].State != model.Present {
		c.ports[index] = model.Known(map[string]int64{})
	}
	c.ports[index].Value[name] = n
}

// byInterface reads a column that has one row for each port of the bridge.
func byInterface(t Tables, name string) (map[string]int64, error) {
	rows, err := column(t, name)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	index, err := column(t, basePortIf)
	out := map[string]int64{}
	for port, r := range rows {
		if i := index[port].Int; i > 0 {
			out[strconv.FormatInt(i, 10)] = r.Int
		}
	}
	return out, err
}

// readClasses reads how many traffic classes each port has.
func readClasses(t Tables) (map[string]int, error) {
	rows, err := byInterface(t, portClasses)
	out := map[string]int{}
	for i, n := range rows {
		if n >= 1 && n <= 8 { // IEEE 802.1Q has no more
			out[i] = int(n)
		}
	}
	return out, err
}

// readQueues reads the tables of the vendors that publish theirs.
func (c SwitchCounts) readQueues(t Tables) error {
	drops := func(q *model.SwitchQueue, n int64) { q.Drops = model.Known(q.Drops.Or(0) + n) }
	sent := func(q *model.SwitchQueue, n int64) { q.Passed = model.Known(n) }
	cells := func(q *model.SwitchQueue, n int64) { q.Cells = model.Known(n) }
	for _, v := range []struct {
		column string
		key    func(index []string) (queueKey, bool) // of what follows ifIndex
		put    func(q *model.SwitchQueue, n int64)
	}{
		{aristaInDrops, plainQueue(true), drops},
		{aristaOutDrops, aristaOut, drops},
		{aristaOutSent, aristaOut, sent},
		{ciscoDrops, ciscoQueue, drops}, // one row for each threshold of a queue: they add up
		{dellCells, plainQueue(false), cells},
	} {
		rows, err := t.Walk(v.column)
		if err != nil {
			return err
		}
		for _, r := range rows {
			parts := strings.Split(r.Index, ".")
			key, ok := v.key(parts[1:])
			if !ok {
				continue
			}
			if c.queues[parts[0]] == nil {
				c.queues[parts[0]] = map[queueKey]model.SwitchQueue{}
			}
			q := c.queues[parts[0]][key]
			q.Queue, q.In = key.name, key.in
			v.put(&q, r.Int)
			c.queues[parts[0]][key] = q
		}
	}
	return nil
}

func plainQueue(in bool) func([]string) (queueKey, bool) {
	return func(index []string) (queueKey, bool) {
		return queueKey{in, strings.Join(index, ".")}, len(index) == 1
	}
}

// aristaOut is by queue and type of packet: unicast, multicast, both.
func aristaOut(index []string) (queueKey, bool) {
	if len(index) != 2 {
		return queueKey{}, false
	}
	kinds := map[string]string{"0": index[0], "1": index[0] + " multicast", "2": index[0]}
	name, ok := kinds[index[1]]
	return queueKey{false, name}, ok
}

// ciscoQueue is by direction (IfDirection of DIFFSERV-MIB: 1 in, 2 out), queue and threshold.
func ciscoQueue(index []string) (queueKey, bool) {
	if len(index) != 3 || index[0] != "1" && index[0] != "2" {
		return queueKey{}, false
	}
	return queueKey{index[0] == "1", index[1]}, true
}

// queuesOf are the queues of one port in order.
func (c SwitchCounts) queuesOf(i string) model.Fact[[]model.SwitchQueue] {
	if len(c.queues[i]) == 0 {
		return model.Unknown[[]model.SwitchQueue](model.Absent, "the switch tells nothing of this port's queues and buffers (ARISTA-QUEUE-MIB, CISCO-SWITCH-QOS-MIB, DELL-NETWORKING-FPSTATS-MIB): ask its command line")
	}
	return model.Known(slices.SortedFunc(maps.Values(c.queues[i]), func(a, b model.SwitchQueue) int {
		if a.In != b.In {
			return map[bool]int{false: -1, true: 1}[a.In]
		}
		return cmp.Or(cmp.Compare(len(a.Queue), len(b.Queue)), cmp.Compare(a.Queue, b.Queue))
	}))
}

// Grow records how much the counters grew since the switch was read. A 32-bit counter that
// wrapped, or was cleared, is left out.
func (s *Switch) Grow(later SwitchCounts) {
	for i, p := range s.ports {
		if before, ok := p.Counters.Get(); ok {
			if after, ok := later.ports[i].Get(); ok {
				p.Rose = model.Known(grown(before, after))
			}
		}
		queues := slices.Clone(p.Queues.Or(nil))
		for j, q := range queues {
			was, ok := q.Drops.Get()
			now, ok2 := later.queues[i][queueKey{q.In, q.Queue}].Drops.Get()
			if ok && ok2 && now >= was {
				queues[j].Rose = model.Known(now - was)
			}
		}
		if queues != nil {
			p.Queues = model.Known(queues)
		}
		s.ports[i] = p
	}
}

func grown(before, after map[string]int64) map[string]int64 {
	rose := map[string]int64{}
	for name, v := range after {
		if was, ok := before[name]; ok && v >= was {
			rose[name] = v - was
		}
	}
	return rose
}

var _ Tables = (*snmp.Session)(nil)
