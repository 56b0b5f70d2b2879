package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// Path describes the path to the other end. Zero values are unknown; the texts name the source of
// a value.
type Path struct {
	Peer     string        // as the user named it; empty: none was named
	Rate     unit.BitRate  // of the slower port
	RateFrom string        // e.g. "the slower port, eth0 of client1"
	RTT      time.Duration // round trip without load
	RTTFrom  string        // e.g. "measured to client1"
	Streams  int           // connections that share the path; 0 counts as 1
	PeerMTU  int           // of the other end's port; 0: not known
	Dev      string        // interface of this host that leads there; empty: not known
	Route    string        // of this host that leads there, as a target, e.g. "route:10.0.0.0/24"; empty: not known
}

// streams is the number of connections, at least one.
func (p Path) streams() int { return max(p.Streams, 1) }

// Subject is the host and the path that a plan is for.
type Subject struct {
	Facts *model.Facts
	Path  Path
}

// nic is the port that carries the data; nil if unknown.
func (s Subject) nic() *model.NIC {
	i := slices.IndexFunc(s.Facts.NICs, func(n model.NIC) bool { return n.Name == s.Path.Dev && n.Name != "" })
	if i < 0 {
		return nil
	}
	return &s.Facts.NICs[i]
}

// release is the kernel's release; empty if unknown.
func (s Subject) release() guide.Release {
	r, err := guide.ParseRelease(s.Facts.Kernel)
	if err != nil {
		return nil
	}
	return r
}

// Quantity is a name that formulas may use.
type Quantity struct {
	Name, Doc string
	of        func(s Subject, setting guide.Setting) (value float64, text string, err error)
}

// Quantities lists all of them.
func Quantities() []Quantity {
	return []Quantity{
		{"rate", "rate of the slower port of the path, bit/s", rateOf},
		{"own_rate", "rate of this host's port, bit/s; of a bond, of its fastest port", ownRateOf},
		{"rtt", "round trip to the other end without load, s", rttOf},
		{"bdp", "rate × RTT / 8, bytes: what has to be in flight (RFC 7323 section 1.1)", bdpOf},
		{"need", "the setting's own share of bdp, as the guide has it (2 for a receive buffer), bytes", needOf},
		{"streams", "connections that share the path, 1 unless stated", streamsOf},
		{"memory", "memory of the host, bytes", memoryOf},
		{"cpus", "CPUs that the host may run on", cpusOf},
		{"node_cpus", "CPUs of the NIC's own NUMA node", nodeCPUsOf},
		{"nodes", "NUMA nodes of the host", nodesOf},
		{"rx_max", "largest receive ring of the NIC, descriptors", ringOf("receive", func(r model.Ring) int { return r.RxMax })},
		{"tx_max", "largest transmit ring of the NIC, descriptors", ringOf("transmit", func(r model.Ring) int { return r.TxMax })},
		{"queues_max", "most queues that the NIC can have", queuesOf},
		{"peer_mtu", "MTU of the other end's port, bytes", peerMTUOf},
		{"now", "the number that runs in this place", func(Subject, guide.Setting) (float64, string, error) {
			return 0, "", &UnknownError{"the running value", "it has no part in a condition"}
		}},
	}
}

func quantityNames() []string {
	var out []string
	for _, q := range Quantities() {
		out = append(out, q.Name)
	}
	return out
}

// values is the environment of one setting; it records which quantities were used, in order, for
// the reason that a plan prints.
type values struct {
	subject Subject
	setting guide.Setting
	used    *[]string
}

func (v values) quantity(name string) (float64, error) {
	for _, q := range Quantities() {
		if q.Name != name {
			continue
		}
		n, text, err := q.of(v.subject, v.setting)
		if err != nil {
			return 0, err
		}
		if text != "" && !slices.Contains(*v.used, text) {
			*v.used = append(*v.used, text)
		}
		return n, nil
	}
	return 0, fmt.Errorf("there is no quantity %q", name) // formulas are checked when they are parsed
}

func rateOf(s Subject, _ guide.Setting) (float64, string, error) {
	if s.Path.Rate <= 0 {
		way := "name the other end with --to, or state --line-rate"
		if !s.measures() {
			way = "state --line-rate"
		}
		return 0, "", &UnknownError{"the rate of the path is not known", way}
	}
	return float64(s.Path.Rate), "rate " + s.Path.Rate.String(), nil
}

func rttOf(s Subject, _ guide.Setting) (float64, string, error) {
	if s.Path.RTT <= 0 {
		way := "--to PEER measures it, --rtt states it"
		if !s.measures() {
			way = "--rtt states it"
		}
		return 0, "", &UnknownError{"the round trip is not known, and without it no window is recommended", way}
	}
	return s.Path.RTT.Seconds(), "RTT " + Duration(s.Path.RTT), nil
}

// product says from what bdp is computed.
func (s Subject) product(g guide.Setting) (text string, err error) {
	_, rtt, err := rttOf(s, g)
	if err != nil {
		return "", err
	}
	_, rate, err := rateOf(s, g)
	return rate + " × " + rtt + " / 8", err
}

func bdpOf(s Subject, g guide.Setting) (float64, string, error) {
	text, err := s.product(g)
	if err != nil {
		return 0, "", err
	}
	bdp := rules.Context{LineRate: s.Path.Rate, RTT: s.Path.RTT}.BDP()
	return float64(bdp), fmt.Sprintf("%s = %d B", text, int64(bdp)), nil
}

// needOf uses the formula in the guide.
func needOf(s Subject, g guide.Setting) (float64, string, error) {
	text, err := s.product(g)
	if err != nil {
		return 0, "", err
	}
	v, ok := g.ValueFor(guide.Default{}, s.Path.Rate, s.Path.RTT)
	if !ok && g.TimesBDP == 0 {
		return 0, "", fmt.Errorf("%s has no share of the bandwidth-delay product: use bdp", g.ID)
	}
	n, err := strconv.ParseFloat(v, 64)
	if !ok || err != nil {
		return 0, "", fmt.Errorf("%s is no path that a buffer is made for: see the units of rate and RTT", text)
	}
	return n, fmt.Sprintf("%g × %s = %s B", g.TimesBDP, text, v), nil
}

func streamsOf(s Subject, _ guide.Setting) (float64, string, error) {
	n := s.Path.streams()
	if n == 1 {
		return 1, "", nil
	}
	return float64(n), fmt.Sprintf("%d connections", n), nil
}

func memoryOf(s Subject, _ guide.Setting) (float64, string, error) {
	m, ok := s.Facts.Memory.Get()
	if !ok || m <= 0 {
		return 0, "", &UnknownError{"the host's memory is not known", "see that /proc/meminfo can be read"}
	}
	return float64(m), m.String() + " of memory", nil
}

func cpusOf(s Subject, _ guide.Setting) (float64, string, error) {
	if len(s.Facts.CPUs) == 0 {
		return 0, "", &UnknownError{"the host's CPUs are not known", "see that /proc/self/status can be read"}
	}
	return float64(len(s.Facts.CPUs)), fmt.Sprintf("%d CPUs", len(s.Facts.CPUs)), nil
}

func nodesOf(s Subject, _ guide.Setting) (float64, string, error) {
	n, ok := s.Facts.CPU.Nodes.Get()
	if !ok || len(n) == 0 {
		return 0, "", &UnknownError{"the host's NUMA nodes are not known", "see that /sys/devices/system/node can be read"}
	}
	return float64(len(n)), fmt.Sprintf("NUMA nodes: %d", len(n)), nil
}

// ofNIC returns a quantity of the port that carries the data.
func ofNIC(what string, get func(n model.NIC) (int, bool)) func(Subject, guide.Setting) (float64, string, error) {
	return func(s Subject, _ guide.Setting) (float64, string, error) {
		n := s.nic()
		if n == nil {
			return 0, "", s.noDevice()
		}
		v, ok := get(*n)
		if !ok || v <= 0 {
			return 0, "", &UnknownError{"the " + what + " of " + n.Name + " is not known", "its driver does not tell"}
		}
		return float64(v), fmt.Sprintf("%s of %s %d", what, n.Name, v), nil
	}
}

func (s Subject) noDevice() error {
	way := "name the other end with --to, or the interface with --dev"
	if !s.measures() {
		way = "name the interface with --dev"
	}
	return &UnknownError{"which interface carries the data is not known", way}
}

// measures tells whether the host can find out the path to another end.
func (s Subject) measures() bool { return s.system() == "linux" }

func ownRateOf(s Subject, _ guide.Setting) (float64, string, error) {
	n := s.nic()
	if n == nil {
		return 0, "", s.noDevice()
	}
	rate := rules.PortRate(*n)
	if rate <= 0 {
		return 0, "", &UnknownError{"the speed of " + n.Name + " is not known", "a virtual interface has none"}
	}
	return float64(rate), fmt.Sprintf("%s runs at %s", n.Name, rate), nil
}

func ringOf(what string, get func(model.Ring) int) func(Subject, guide.Setting) (float64, string, error) {
	return ofNIC("largest "+what+" ring", func(n model.NIC) (int, bool) {
		r, ok := n.Ring.Get()
		return get(r), ok
	})
}

func queuesOf(s Subject, g guide.Setting) (float64, string, error) {
	return ofNIC("most queues", func(n model.NIC) (int, bool) {
		c, ok := n.Channels.Get()
		return c.CombinedMax, ok
	})(s, g)
}

func nodeCPUsOf(s Subject, g guide.Setting) (float64, string, error) {
	return ofNIC("number of CPUs near", func(n model.NIC) (int, bool) {
		c, ok := n.LocalCPUs.Get()
		return len(c), ok
	})(s, g)
}

func peerMTUOf(s Subject, _ guide.Setting) (float64, string, error) {
	if s.Path.PeerMTU <= 0 {
		return 0, "", &UnknownError{"the other end's MTU is not known", "name the other end with --to: larger frames need every hop and both ends"}
	}
	return float64(s.Path.PeerMTU), fmt.Sprintf("MTU %d at %s", s.Path.PeerMTU, s.Path.Peer), nil
}

// Duration prints three significant digits: "16 ms", "180 µs".
func Duration(d time.Duration) string {
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if d >= u.size {
			v := float64(d) / float64(u.size)
			digits := 2
			if v >= 100 {
				digits = 0
			} else if v >= 10 {
				digits = 1
			}
			text := fmt.Sprintf("%.*f", digits, v)
			if strings.Contains(text, ".") {
				text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
			}
			return text + " " + u.name
		}
	}
	return d.String()
}
