package bsd

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

var (
	heading = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.-]*): flags=[0-9a-f]+<([A-Z0-9_,]*)>.* mtu ([0-9]+)`)
	media   = regexp.MustCompile(`\(([0-9]+)(G?)base`)
)

// mtuOf is the setting of an interface's MTU, by the system.
var mtuOf = map[string]string{"freebsd": "freebsd.ifconfig.mtu", "macos": "macos.link.mtu"}

// Links are the interfaces as "ifconfig -a" prints them.
func (r Reading) Links() {
	var n *model.NIC
	loop := false
	for _, line := range r.Lines("links", "the interfaces, their speed, MTU and addresses") {
		if line == "" {
			continue
		}
		if line[0] != ' ' && line[0] != '\t' {
			n = nil
			m := heading.FindStringSubmatch(line)
			if m == nil {
				r.Odd("links", line)
				continue
			}
			flags := "," + m[2] + ","
			if loop = strings.Contains(flags, ",LOOPBACK,"); loop {
				continue
			}
			mtu, err := strconv.Atoi(m[3])
			if err != nil {
				r.Odd("links", line)
				continue
			}
			r.F.NICs = append(r.F.NICs, model.NIC{
				Name: m[1], Device: "if:" + m[1], MTU: mtu, Up: strings.Contains(flags, ",UP,"), Kind: kind(m[1]),
				Speed: model.Unknown[unit.BitRate](model.Absent, "the interface names no speed"), Duplex: model.Unknown[string](model.Absent, "the interface names no duplex"),
			})
			if id := mtuOf[r.Name]; id != "" && kind(m[1]) == "" {
				r.F.Settings[id+"@"+m[1]] = model.Known(m[3])
			}
			n = &r.F.NICs[len(r.F.NICs)-1]
			continue
		}
		if n != nil && !loop {
			r.detail(n, strings.TrimSpace(line))
		}
	}
}

// kind is that of an interface that is no hardware, by its name.
func kind(name string) string {
	for prefix, k := range map[string]string{"lagg": "bond", "bond": "bond", "vlan": "vlan", "bridge": "bridge", "epair": "veth", "tap": "tun", "tun": "tun", "utun": "tun", "gif": "tunnel", "stf": "tunnel", "pflog": "log", "awdl": "wireless", "llw": "wireless", "ap": "wireless", "anpi": "internal"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && strings.Trim(rest, "0123456789") == "" {
			return k
		}
	}
	return ""
}

func (r Reading) detail(n *model.NIC, line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "inet", "inet6":
		r.address(n, word, strings.Fields(rest), line)
	case "media:":
		n.Speed = speed(rest)
		if strings.Contains(rest, "full-duplex") {
			n.Duplex = model.Known("full")
		} else if strings.Contains(rest, "half-duplex") {
			n.Duplex = model.Known("half")
		}
		// Not each driver names pause frames there: no word of them does not mean that they are off.
		rx, tx := strings.Contains(rest, "rxpause"), strings.Contains(rest, "txpause")
		if both := strings.Contains(rest, "flow-control"); n.Speed.State == model.Present && (rx || tx || both) {
			n.Pause = model.Known(model.Pause{Rx: rx || both, Tx: tx || both})
		} else {
			n.Pause = model.Unknown[model.Pause](model.Absent, "the interface names none")
		}
	case "status:":
		n.Up = n.Up && rest == "active"
	case "laggport:", "member:":
		port, _, _ := strings.Cut(rest, " ")
		for i := range r.F.NICs {
			if r.F.NICs[i].Name == port {
				r.F.NICs[i].Master = n.Name
			}
		}
	}
}

// speed is that of a line as "Ethernet autoselect (10Gbase-SR <full-duplex,rxpause>)": what is in
// brackets is in effect.
func speed(line string) model.Fact[unit.BitRate] {
	m := media.FindStringSubmatch(strings.ReplaceAll(line, "GBase", "Gbase"))
	if m == nil {
		m = media.FindStringSubmatch(strings.ReplaceAll(line, "Base", "base"))
	}
	if m == nil {
		return model.Unknown[unit.BitRate](model.Absent, "the link has no speed now")
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n <= 0 || n > 1<<20 {
		return model.Unknown[unit.BitRate](model.Absent, "the link has no speed now")
	}
	if m[2] == "G" {
		return model.Known(unit.BitRate(n) * unit.Gbit)
	}
	return model.Known(unit.BitRate(n) * unit.Mbit)
}

// address reads "10.0.0.9 netmask 0xffffff00 …" and "fe80::1%ix0 prefixlen 64 …".
func (r Reading) address(n *model.NIC, family string, words []string, line string) {
	if len(words) < 3 {
		r.Odd("links", line)
		return
	}
	at, _, _ := strings.Cut(words[0], "%")
	addr, err := netip.ParseAddr(at)
	bits := -1
	for i := 1; i+1 < len(words); i++ {
		switch words[i] {
		case "netmask":
			bits = ones(words[i+1])
		case "prefixlen":
			if b, err := strconv.Atoi(words[i+1]); err == nil {
				bits = b
			}
		}
	}
	if err != nil || bits < 0 || bits > addr.BitLen() || addr.Is4() != (family == "inet") {
		r.Odd("links", line)
		return
	}
	n.Addrs = append(n.Addrs, netip.PrefixFrom(addr, bits))
}

// ones is the length of a mask as 0xffffff00; -1 for one that is none.
func ones(mask string) int {
	m, err := strconv.ParseUint(strings.TrimPrefix(mask, "0x"), 16, 32)
	if err != nil || !strings.HasPrefix(mask, "0x") {
		return -1
	}
	n := 0
	for v := uint32(m); v&(1<<31) != 0; v <<= 1 {
		n++
	}
	if uint32(m) != ^uint32(0)<<(32-n) {
		return -1
	}
	return n
}

// LinkCounters are those of "netstat -i -b -d -n": the lines of links, by the heading's words. A
// link that has no address leaves that column empty.
func (r Reading) LinkCounters() {
	names := map[string]string{"Ierrs": "rx_errors", "Oerrs": "tx_errors", "Idrop": "rx_dropped", "Ibytes": "rx_bytes", "Obytes": "tx_bytes"}
	lines := r.Lines("netif", "errors and drops of the interfaces")
	if len(lines) == 0 {
		return
	}
	columns := strings.Fields(lines[0])
	if len(columns) < 4 || columns[0] != "Name" || columns[3] != "Address" {
		r.Odd("netif", lines[0])
		return
	}
	for _, line := range lines[1:] {
		w := strings.Fields(line)
		if len(w) < 3 || !strings.HasPrefix(w[2], "<Link#") {
			continue // of an address, whose counts are a part
		}
		if _, err := strconv.ParseInt(w[min(3, len(w)-1)], 10, 64); err == nil && len(w) == len(columns)-1 {
			w = append(w[:3:3], append([]string{"-"}, w[3:]...)...)
		}
		if len(w) != len(columns) {
			r.Odd("netif", line)
			continue
		}
		r.counters(strings.TrimSuffix(w[0], "*"), columns, w, names)
	}
}

func (r Reading) counters(name string, columns, w []string, names map[string]string) {
	for i := range r.F.NICs {
		n := &r.F.NICs[i]
		if n.Name != name {
			continue
		}
		n.Counters = model.Known(map[string]int64{})
		for c, column := range columns {
			if v, err := strconv.ParseInt(w[c], 10, 64); err == nil && names[column] != "" {
				n.Counters.Value[names[column]] = v // "-" is not counted
			}
		}
	}
}
