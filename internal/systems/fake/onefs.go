package fake

import "strings"

func onefsOIDs() map[string]oid {
	return map[string]oid{
		"hw.ncpu": {fresh: "16", fixed: true}, "hw.physmem": {fresh: "137438953472", fixed: true}, "kern.ostype": {fresh: "Isilon OneFS", fixed: true},
		"kern.boottime":                             {fresh: "{ sec = 1763971201, usec = 1234 } Mon Nov 24 08:00:01 2025", fixed: true},
		"efs.bam.fnprefetch.enable_streaming":       {fresh: "0", max: 1},
		"efs.bam.fnprefetch.enable_concurrent":      {fresh: "0", max: 1},
		"efs.bam.fnprefetch.lookahead_streaming":    {fresh: "9", max: 100},
		"efs.bam.fnprefetch.lookahead_concurrent":   {fresh: "9", max: 100},
		"efs.bam.fnprefetch.prefetch_ll_all":        {fresh: "1", max: 1},
		"efs.bam.fnprefetch.prefetch_ll_size_limit": {fresh: "67108864", max: 1 << 30},
	}
}

// onefs is one node; what its isi answers is from memory.
func (h host) onefs(name string, args []string) (string, int) {
	line := strings.Join(args, " ")
	set := func(setting, before, after string, words ...string) (string, int, bool) {
		value, ok := strings.CutPrefix(line, before)
		value, end := strings.CutSuffix(value, after)
		if name != "isi" || !ok || !end {
			return "", 0, false
		}
		for _, w := range words {
			if w == value {
				if err := h.write(setting, value); err != nil {
					return "isi: " + err.Error() + "\n", 1, true
				}
				return "", 0, true
			}
		}
		return "isi: invalid value '" + value + "'\n", 1, true
	}
	for _, s := range []struct {
		setting, before, after string
		words                  []string
	}{
		{"tank:pattern", "set -l ", " /ifs/data", []string{"concurrency", "streaming", "random"}},
		{"tank:policy", "set -p ", " /ifs/data", []string{"default", "+2:1", "+1", "3x"}},
		{"tank:mtu", "network subnets modify groupnet0.subnet0 --mtu ", "", []string{"1500", "9000"}},
		{"tank:mode", "network pools modify groupnet0.subnet0.pool0 --aggregation-mode ", "", []string{"lacp", "failover", "roundrobin"}},
	} {
		if said, code, ok := set(s.setting, s.before, s.after, s.words...); ok {
			return said, code
		}
	}
	switch name {
	case "sysctl":
		return h.sysctl(onefsOIDs(), "bdehiNnoqTtWx", args)
	case "isi_sysctl_cluster":
		return h.cluster(line)
	}
	return exactly(name, args, map[string]string{
		"uname -s": "Isilon OneFS\n", "uname -m": "amd64\n", "uname -n": "isilon-1\n", "uname -r": "v9.5.0.0\n", "id -u": "0\n",
		"ifconfig -a":                                    "10gige-1: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 1500\n\tinet 10.0.0.6 netmask 0xffffff00 broadcast 10.0.0.255\n\tmedia: Ethernet autoselect (10Gbase-SR <full-duplex>)\n\tstatus: active\n",
		"isi get -d /ifs/data":                           "POLICY     LEVEL PERFORMANCE COAL  FILE\n" + h.value("tank:policy", "default") + "    4+2/2 " + h.value("tank:pattern", "concurrency") + " on    /ifs/data/\n",
		"isi get -d /ifs":                                "POLICY     LEVEL PERFORMANCE COAL  FILE\ndefault    4+2/2 concurrency on    /ifs/\n",
		"isi network subnets list --format json":         `[{"addr_family": "ipv4", "groupnet": "groupnet0", "id": "groupnet0.subnet0", "mtu": ` + h.value("tank:mtu", "1500") + `, "name": "subnet0", "prefixlen": 24}]` + "\n",
		"isi network pools list --format json":           `[{"access_zone": "System", "aggregation_mode": "` + h.value("tank:mode", "failover") + `", "groupnet": "groupnet0", "id": "groupnet0.subnet0.pool0", "ifaces": [{"iface": "10gige-1", "lnn": 1}], "subnet": "subnet0"}]` + "\n",
		"isi network subnets view groupnet0.subnet0":     "              ID: groupnet0.subnet0\n             MTU: " + h.value("tank:mtu", "1500") + "\n",
		"isi network pools view groupnet0.subnet0.pool0": "              ID: groupnet0.subnet0.pool0\nAggregation Mode: " + h.value("tank:mode", "failover") + "\n",
	})
}

// cluster is isi_sysctl_cluster, whose real output nobody has published: lines as sysctl's, of this node and
// of another that nobody changed. The setting "cluster:form" has it print others.
func (h host) cluster(name string) (string, int) {
	o, ok := onefsOIDs()[name]
	if !ok {
		return "isi_sysctl_cluster: unknown oid '" + name + "'\n", 1
	}
	here := h.value(name, o.fresh)
	switch h.value("cluster:form", "named") {
	case "equals":
		return name + "=" + here + "\n", 0
	case "table":
		return "Node Value\n1    " + here + "\n", 0
	case "others":
		return "isilon-2: " + name + ": " + here + "\nisilon-3: " + name + ": " + here + "\n", 0
	case "down":
		return "isilon-1: " + name + ": " + here + "\nisilon-2: unreachable\n", 0
	case "twice":
		return name + ": " + here + "\n" + name + ": " + o.fresh + "\n", 0
	case "mixed":
		return "isilon-1: " + name + ": " + here + "\n" + name + ": " + o.fresh + "\n", 0
	case "stale":
		return "isilon-1: " + name + ": 77\nisilon-2: " + name + ": " + o.fresh + "\n", 0
	}
	return "isilon-1: " + name + ": " + here + "\nisilon-2: " + name + ": " + o.fresh + "\n", 0
}
