package rules

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// sick is one rule with facts that make it speak, and the smallest change that
// makes it fall silent.
type sick struct {
	rule, severity string
	bound          bool // that it must give one
	set            func(f *model.Facts)
	unset          func(f *model.Facts)
}

// server is a healthy host: two ports of 25 Gbit/s on a card, an NFS mount, an
// iSCSI session, a disk, on two NUMA nodes.
func server() *model.Facts {
	port := func(name, pci, addr string) model.NIC {
		return model.NIC{
			Name: name, Device: "pci:" + pci, Up: true, MTU: 1500, Speed: model.Known(25 * unit.Gbit), Duplex: model.Known("full"), Qdisc: "mq",
			Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}, PCI: model.Known(model.PCISlot{Address: pci, GTs: 8, Lanes: 8, MaxGTs: 8, MaxLanes: 8}),
			Features: model.Known(map[string]bool{"tx-tcp-segmentation": true, "tx-generic-segmentation": true, "rx-gro": true, "rx-checksum": true, "tx-checksum-ip-generic": true, "tx-scatter-gather": true}),
			Ring:     model.Known(model.Ring{Rx: 4096, RxMax: 8192}), Channels: model.Known(model.Channels{Combined: 8, CombinedMax: 8}), Coalesce: model.Known(model.Coalesce{AdaptiveRx: true}),
			FEC: model.Known("RS"), Modes: model.Known(model.LinkModes{Autoneg: true, Supported: 25 * unit.Gbit, Advertised: 25 * unit.Gbit, Peer: 25 * unit.Gbit}),
			RPFilter: model.Known(0), ARPIgnore: model.Known(0), Upstream: model.Known([]model.PCISlot{{Address: "0000:3a:00.0", GTs: 8, Lanes: 8, MaxGTs: 8, MaxLanes: 16}}),
			PCIErrors: model.Known(int64(3)), LocalCPUs: model.Known([]int{0, 1, 2, 3}), TxQueueLen: model.Known(1000),
			IRQs:     model.Known([]model.IRQ{{Number: 40, CPUs: []int{0}, Count: 1e6}, {Number: 41, CPUs: []int{1}, Count: 1e6}}),
			Counters: model.Known(map[string]int64{"rx_packets": 1e9, "tx_packets": 1e9, "rx_crc_errors": 0, "rx_missed_errors": 0, "carrier_changes": 2, "qdisc_drops": 0, "rx_pause_frames": 0, "tx_pause_frames": 0, "fec_uncorrectable": 0}),
		}
	}
	f := &model.Facts{
		Host: "h1", Kernel: "6.8.0-40-generic", CPUs: []int{0, 1, 2, 3, 4, 5, 6, 7}, Memory: model.Known(unit.Bytes(64 << 30)), Uptime: model.Known(240 * time.Hour),
		NICs:   []model.NIC{port("p0", "0000:3b:00.0", "10.0.0.1/24"), port("p1", "0000:3b:00.1", "10.0.1.1/24")},
		Routes: []model.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("10.0.1.254"), Dev: "p1"}},
		CPU: model.CPUInfo{
			Driver: model.Known("acpi-cpufreq"), Governors: model.Known([]string{"performance"}), Preference: model.Known("performance"), MaxKHz: model.Known(int64(3e6)), CapKHz: model.Known(int64(3e6)),
			NoTurbo: model.Known(false), IdleExit: model.Known(10 * time.Microsecond), Clocksource: model.Known("tsc"),
			Nodes:   model.Known([]model.Node{{ID: 0, CPUs: []int{0, 1, 2, 3}}, {ID: 1, CPUs: []int{4, 5, 6, 7}}}),
			Softnet: model.Known([]model.Softnet{{CPU: 0, Processed: 5e6}, {CPU: 1, Processed: 5e6}}),
		},
		NetCounters: model.Known(map[string]int64{"Tcp.OutSegs": 1e9, "Tcp.InSegs": 1e9, "Ip.InReceives": 1e9, "Ip.ReasmReqds": 1e4}),
		Mounts:      []model.Mount{{Point: "/n", Type: "nfs4", Options: map[string]string{"vers": "4.2", "rsize": "1048576", "wsize": "1048576", "sec": "sys", "nconnect": "4"}}, {Point: "/s", Type: "cifs", Options: map[string]string{"vers": "3.1.1", "rsize": "4194304", "wsize": "4194304", "sec": "ntlmssp", "cache": "strict", "multichannel": "", "max_channels": "2"}}},
		Storage: []model.NetMount{
			{Point: "/n", Type: "nfs4", Server: netip.MustParseAddr("10.0.0.2"), Port: 2049, Proto: "tcp", Dev: "p0", Conns: model.Known(4), MinRTT: model.Known(100 * time.Microsecond), Ahead: model.Known(unit.Bytes(128 << 10))},
			{Point: "/s", Type: "cifs", Server: netip.MustParseAddr("10.0.0.3"), Port: 445, Proto: "tcp", Dev: "p0", Conns: model.Known(2), MinRTT: model.Known(100 * time.Microsecond)},
		},
		Disks:  []model.Disk{{Name: "sdb", Session: "session1", Scheduler: model.Known("mq-deadline"), Ahead: model.Known(unit.Bytes(128 << 10)), Requests: model.Known(256), MaxRequest: model.Known(unit.Bytes(512 << 10)), HWRequest: model.Known(unit.Bytes(1 << 20)), Depth: model.Known(32)}},
		ISCSI:  []model.ISCSISession{session("session1", "10.0.0.1", "10.0.0.5"), session("session2", "10.0.1.1", "10.0.1.5")},
		Arrays: []model.Array{{Name: "md0", Level: "raid6", Degraded: model.Known(0), Action: "idle"}},
		ZFS: model.Known(model.ZFS{ARC: map[string]int64{"c_max": 32 << 30, "l2_hdr_size": 1 << 20}, Params: map[string]string{"zfs_prefetch_disable": "0", "zfs_dirty_data_max": "4294967296"}, Pools: map[string]string{"tank": "ONLINE"}, Version: "2.3.1-1",
			Datasets: []model.ZFSDataset{{Name: "tank/media", Sync: "standard", Record: 1 << 20, Dedup: "off", Cache: "all", Shared: true}, {Name: "tank/vm", Volume: true, Sync: "standard", Record: 16 << 10, Dedup: "off", Cache: "metadata"}},
			Store:    map[string]model.ZFSPool{"tank": {Capacity: model.Known(60), Fragments: model.Known(12), Dedup: model.Known(1.0), Log: true}},
		}),
		NFSD:     model.Known(model.NFSD{Threads: 64, TCP: 1e6}),
		Services: model.Known([]string{"multipathd"}), Conntrack: model.Known(model.Conntrack{Max: 262144}),
		Settings: map[string]model.Fact[string]{
			"linux.sysctl.net.ipv4.tcp_rmem": model.Known("4096 131072 6291456"), "linux.sysctl.net.ipv4.tcp_wmem": model.Known("4096 16384 4194304"), "linux.sysctl.net.ipv4.tcp_congestion_control": model.Known("cubic"),
			"linux.sysctl.net.ipv4.tcp_mtu_probing": model.Known("0"), "linux.sysctl.net.ipv4.tcp_slow_start_after_idle": model.Known("1"), "linux.sysctl.vm.zone_reclaim_mode": model.Known("0"),
			"linux.sysctl.kernel.numa_balancing": model.Known("1"), "linux.module.nfs.max_session_slots": model.Known("64"), "linux.module.pcie_aspm.policy": model.Known("[default] performance powersave powersupersave"),
		},
	}
	return f
}

func session(name, local, portal string) model.ISCSISession {
	return model.ISCSISession{
		Name: name, Target: "iqn.2001-04.com.example:t1", State: "LOGGED_IN", InitialR2T: model.Known(false), Immediate: model.Known(true), MaxBurst: model.Known(int64(262144)),
		Conns: []model.ISCSIConn{{Portal: netip.AddrPortFrom(netip.MustParseAddr(portal), 3260), Local: netip.MustParseAddr(local), DataDigest: model.Known(false), MaxSend: model.Known(int64(262144)), MaxRecv: model.Known(int64(262144)), MinRTT: model.Known(200 * time.Microsecond)}},
	}
}

func p0(f *model.Facts) *model.NIC { return &f.NICs[0] }

func bonded(f *model.Facts) *model.Bond {
	b := f.NICs[0]
	b.Name, b.Device, b.Kind, b.PCI, b.Upstream, b.IRQs = "bond0", "if:bond0", "bond", model.Fact[model.PCISlot]{}, model.Fact[[]model.PCISlot]{}, model.Fact[[]model.IRQ]{}
	b.Speed = model.Known(50 * unit.Gbit)
	b.Bond = model.Known(model.Bond{Mode: "IEEE 802.3ad Dynamic link aggregation", Hash: "layer3+4", MIIms: 100, Partner: "02:00:5e:00:53:01", Ports: []model.BondPort{
		{Name: "p0", Up: true, Speed: 25 * unit.Gbit, Aggregator: "1"}, {Name: "p1", Up: true, Speed: 25 * unit.Gbit, Aggregator: "1"}}})
	for i := range f.NICs {
		f.NICs[i].Addrs, f.NICs[i].Master = nil, "bond0"
	}
	f.Routes = nil
	f.NICs = append(f.NICs, b)
	for i := range f.Storage {
		f.Storage[i].Dev = "bond0"
	}
	return &f.NICs[len(f.NICs)-1].Bond.Value
}

func inBond(f *model.Facts) *model.Bond { return &f.NICs[len(f.NICs)-1].Bond.Value }

func count(name string, v int64) func(*model.Facts) {
	return func(f *model.Facts) { p0(f).Counters.Value[name] = v }
}

func netCount(name string, v int64) func(*model.Facts) {
	return func(f *model.Facts) { f.NetCounters.Value[name] = v }
}

func put(id, v string) func(*model.Facts) {
	return func(f *model.Facts) { f.Settings["linux."+id] = model.Known(v) }
}

// foreign is a setting of a host that is not Linux; an empty value is none.
func foreign(id, v string) func(*model.Facts) {
	return func(f *model.Facts) {
		f.OS, f.Settings[id] = "illumos", model.Known(v)
		if v == "" {
			delete(f.Settings, id)
		}
	}
}

func runs(os string) func(*model.Facts) { return func(f *model.Facts) { f.OS = os } }

func option(mount int, kv ...string) func(*model.Facts) {
	return func(f *model.Facts) {
		for i := 0; i < len(kv); i += 2 {
			f.Mounts[mount].Options[kv[i]] = kv[i+1]
		}
	}
}

func without(mount int, name string) func(*model.Facts) {
	return func(f *model.Facts) { delete(f.Mounts[mount].Options, name) }
}

func nicWas(change func(n *model.NIC)) func(*model.Facts) {
	return func(f *model.Facts) { change(p0(f)) }
}

func bond(change func(b *model.Bond)) func(*model.Facts) {
	return func(f *model.Facts) { change(bonded(f)) }
}

func bondBack(change func(b *model.Bond)) func(*model.Facts) {
	return func(f *model.Facts) { change(inBond(f)) }
}

func cpu(change func(c *model.CPUInfo)) func(*model.Facts) {
	return func(f *model.Facts) { change(&f.CPU) }
}

func both(a, b func(*model.Facts)) func(*model.Facts) {
	return func(f *model.Facts) { a(f); b(f) }
}

func rtt(d time.Duration) func(*model.Facts) {
	return func(f *model.Facts) {
		for i := range f.Storage {
			f.Storage[i].MinRTT = model.Known(d)
		}
	}
}

func zfsWas(change func(z *model.ZFS)) func(*model.Facts) {
	return func(f *model.Facts) { change(&f.ZFS.Value) }
}

func iscsiWas(change func(s *model.ISCSISession)) func(*model.Facts) {
	return func(f *model.Facts) { change(&f.ISCSI[0]) }
}

func diskWas(change func(d *model.Disk)) func(*model.Facts) {
	return func(f *model.Facts) { change(&f.Disks[0]) }
}

func slotsUp(gts float64, lanes int) func(*model.Facts) {
	return nicWas(func(n *model.NIC) {
		n.Upstream = model.Known([]model.PCISlot{{Address: "0000:3a:00.0", GTs: gts, Lanes: lanes, MaxGTs: 8, MaxLanes: 16}})
	})
}

func sharedNet(f *model.Facts) {
	f.NICs[1].Addrs = []netip.Prefix{netip.MustParsePrefix("10.0.0.9/24")}
}

func TestCatalogue(t *testing.T) {
	for _, c := range append(linkCases(), append(hostCases(), storageCases()...)...) {
		t.Run(c.rule, func(t *testing.T) {
			f := server()
			c.set(f)
			var looks Context
			if counts(c.rule) {
				looks.Earlier = begun()
				f.Taken = looks.Earlier.Taken.Add(10 * time.Second)
			}
			got := only(Check(f, looks), c.rule)
			if len(got) == 0 {
				t.Fatalf("silent; others: %+v", Check(f, Context{}))
			}
			if got[0].Severity != c.severity || got[0].Title == "" || got[0].Observed == "" || got[0].Fix == "" || got[0].Source == "" {
				t.Errorf("%+v, want severity %s and every field", got[0], c.severity)
			}
			if c.bound != (got[0].Bound != nil) || got[0].Bound != nil && *got[0].Bound <= 0 {
				t.Errorf("bound %v, want one: %v", got[0].Bound, c.bound)
			}
			if counts(c.rule) {
				once := only(Check(f, Context{}), c.rule)
				if len(once) != 1 || once[0].Severity != Info {
					t.Errorf("by one look alone: %+v, want one for information", once)
				}
			}
			c.unset(f)
			if still := only(Check(f, Context{}), c.rule); len(still) > 0 {
				t.Errorf("speaks still: %+v", still)
			}
		})
	}
}

func counts(rule string) bool {
	return slices.ContainsFunc(All(), func(r Rule) bool { return r.ID == rule && r.Counts })
}

// begun is the healthy host as its counters began.
func begun() *model.Facts {
	f := server()
	for i := range f.NICs {
		for name := range f.NICs[i].Counters.Value {
			f.NICs[i].Counters.Value[name] = 0
		}
		f.NICs[i].PCIErrors = model.Known(int64(0))
	}
	bonded(f).Ports[1].Failures = 0
	f.NICs[2].Counters = model.Fact[map[string]int64]{}
	for name := range f.NetCounters.Value {
		f.NetCounters.Value[name] = 0
	}
	for i := range f.CPU.Softnet.Value {
		f.CPU.Softnet.Value[i] = model.Softnet{CPU: i}
	}
	return f
}

func only(list []model.Finding, rule string) []model.Finding {
	var out []model.Finding
	for _, f := range list {
		if f.Rule == rule {
			out = append(out, f)
		}
	}
	return out
}

// A healthy host has nothing that costs throughput.
func TestHealthyServer(t *testing.T) {
	for _, f := range Check(server(), Context{}) {
		if f.Severity != Info {
			t.Errorf("%+v", f)
		}
	}
}

// Every rule is in one of the tables.
func TestEveryRuleHasACase(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []string{"receive-buffer-below-bdp", "receive-autotuning-off", "window-scaling-off", "send-buffer-below-bdp", "segmentation-offload-off", "pcie-below-port", "half-duplex", "slow-port", "sack-off", "timestamps-off", "softirq-core-full"} {
		seen[id] = true // TestRules, TestSoftirqCore
	}
	for _, c := range append(linkCases(), append(hostCases(), storageCases()...)...) {
		seen[c.rule] = true
	}
	for _, r := range All() {
		if !seen[r.ID] {
			t.Errorf("%s has no case", r.ID)
		}
	}
	if len(All()) < 60 {
		t.Errorf("%d rules", len(All()))
	}
}

// Where every fact is denied, though its value is still in memory, only those
// rules speak that rest on what is no Fact.
func TestDeniedFactsMakeRulesSilent(t *testing.T) {
	plain := map[string]bool{
		"mtu-below-ethernet": true, "mtu-differs-in-subnet": true, "bridge-port-mtu": true, "route-mtu-below-link": true, "route-window-limited": true, "default-route-on-jumbo": true,
		"qdisc-shapes": true, "nfs-over-udp": true, "nfs-transfer-small": true, "nfs-sync": true, "nfs-soft": true, "nfs-attributes-uncached": true, "nfs-old-version": true,
		"smb-old-dialect": true, "smb-cache-none": true, "smb-transfer-small": true, "iscsi-session-down": true, "iscsi-one-port": true, "smb-signed": true, "route-detour": true, "array-rebuilding": true,
	}
	for _, c := range append(linkCases(), append(hostCases(), storageCases()...)...) {
		f := server()
		c.set(f)
		deny(reflect.ValueOf(f).Elem())
		if got := only(Check(f, Context{}), c.rule); len(got) > 0 && !plain[c.rule] {
			t.Errorf("%s speaks of facts that were denied: %+v", c.rule, got)
		}
	}
}

// deny sets the state of every Fact below v.
func deny(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if s := v.FieldByName("State"); s.IsValid() && s.Type() == reflect.TypeFor[model.State]() && s.CanSet() {
			s.Set(reflect.ValueOf(model.Denied))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				deny(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			deny(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem() == reflect.TypeFor[model.Fact[string]]() {
			for _, k := range v.MapKeys() {
				v.SetMapIndex(k, reflect.ValueOf(model.Unknown[string](model.Denied, "no")))
			}
		}
	}
}

// around sends a part of p0's network by p1.
func around(f *model.Facts) {
	f.Routes = append(f.Routes, model.Route{Dst: netip.MustParsePrefix("10.0.0.2/32"), Gateway: netip.MustParseAddr("10.0.1.254"), Dev: "p1"})
}

func dataset(change func(d *model.ZFSDataset)) func(*model.Facts) {
	return func(f *model.Facts) { change(&f.ZFS.Value.Datasets[0]) }
}

func pool(change func(p *model.ZFSPool)) func(*model.Facts) {
	return func(f *model.Facts) {
		p := f.ZFS.Value.Store["tank"]
		change(&p)
		f.ZFS.Value.Store["tank"] = p
	}
}

func chain(c model.FirewallChain) func(*model.Facts) {
	return func(f *model.Facts) { f.Firewall = model.Known([]model.FirewallChain{c}) }
}

// What the links of a tunnel say of their speed is believed by no rule.
func TestLinksOfATunnel(t *testing.T) {
	f := server()
	for i := range f.NICs {
		f.NICs[i].PCI.Value.GTs, f.NICs[i].PCI.Value.Lanes = 2.5, 1
		f.NICs[i].Upstream = model.Known([]model.PCISlot{{Address: "0000:3a:00.0", GTs: 2.5, Lanes: 4, MaxGTs: 2.5, MaxLanes: 4}})
	}
	of := func() string {
		var ids []string
		for _, found := range Check(f, Context{}) {
			if strings.HasPrefix(found.Rule, "pcie-") {
				ids = append(ids, found.Rule)
			}
		}
		return strings.Join(ids, " ")
	}
	if got := of(); got != "pcie-below-port pcie-below-port pcie-both-ports" {
		t.Fatalf("links of a board: %q", got)
	}
	for i := range f.NICs {
		f.NICs[i].PCI.Value.Tunnel, f.NICs[i].Upstream.Value[0].Tunnel = true, true
	}
	if got := of(); got != "" {
		t.Errorf("links of a tunnel: %q", got)
	}
}
