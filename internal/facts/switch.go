package facts

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/kernel/snmp"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// HeardPorts are the switch ports that announced themselves by LLDP.
func HeardPorts(heard []kernel.Heard) []model.SwitchPort {
	var out []model.SwitchPort
	for _, h := range heard {
		p := model.SwitchPort{Interface: h.Interface, Source: "lldp", System: h.LLDP.System, Chassis: h.LLDP.Chassis, Port: h.LLDP.Port, Frame: true}
		p.MTU = model.Unknown[int](model.Absent, "the switch does not send its largest frame")
		if h.LLDP.MaxFrame > 0 {
			p.MTU = model.Known(h.LLDP.MaxFrame)
		}
		p.Group = model.Unknown[string](model.Absent, "the switch does not send its aggregation")
		if in := h.LLDP.Aggregated; in != nil {
			p.Group = model.Known("")
			if *in {
				p.Group = model.Known(strconv.Itoa(h.LLDP.Group))
			}
		}
		out = append(out, p)
	}
	return out
}

// Tables of switches.
type Tables interface {
	// Walk reads one column; a switch without it has no rows.
	Walk(column string) ([]snmp.Row, error)
}

// Columns, by index ifIndex unless stated otherwise.
const (
	ifMTU         = "1.3.6.1.2.1.2.2.1.4" // IF-MIB, RFC 2863
	ifInDiscards  = "1.3.6.1.2.1.2.2.1.13"
	ifInErrors    = "1.3.6.1.2.1.2.2.1.14"
	ifOutDiscards = "1.3.6.1.2.1.2.2.1.19"
	ifOutErrors   = "1.3.6.1.2.1.2.2.1.20"
	ifName        = "1.3.6.1.2.1.31.1.1.1.1"
	ifInPackets   = "1.3.6.1.2.1.31.1.1.1.7"
	ifOutPackets  = "1.3.6.1.2.1.31.1.1.1.11"
	ifHighSpeed   = "1.3.6.1.2.1.31.1.1.1.15"         // Mbit/s
	dot3Pause     = "1.3.6.1.2.1.10.7.10.1.2"         // dot3PauseOperMode, EtherLike-MIB, RFC 3635
	lagAttached   = "1.2.840.10006.300.43.1.2.1.1.13" // dot3adAggPortAttachedAggID, IEEE8023-LAG-MIB; 0: in none
	lldpChassis   = "1.0.8802.1.1.2.1.3.2"            // lldpLocChassisId, LLDP-MIB, IEEE 802.1AB
	lldpSystem    = "1.0.8802.1.1.2.1.3.3"
	lldpPortID    = "1.0.8802.1.1.2.1.3.7.1.3" // by lldpLocPortNum
	lldpPortAbout = "1.0.8802.1.1.2.1.3.7.1.4"
	lldpFarPort   = "1.0.8802.1.1.2.1.4.1.1.7" // lldpRemPortId, by time, lldpLocPortNum, number
	lldpFarSystem = "1.0.8802.1.1.2.1.4.1.1.9"
)

// Switch is what was read of one switch.
type Switch struct {
	Address string
	Chassis string
	System  string
	ports   map[string]model.SwitchPort // by ifIndex
	byName  map[string]string           // ifIndex by ifName, LLDP's port id and its description
	far     map[string][]neighbour      // neighbours by ifIndex
}

// neighbour is a host as the switch heard it.
type neighbour struct{ port, system string }

// ReadSwitch reads the ports of a switch. A missing interface table is an error; the other tables
// may be missing.
func ReadSwitch(t Tables, address string) (*Switch, error) {
	s := &Switch{Address: address, ports: map[string]model.SwitchPort{}, byName: map[string]string{}, far: map[string][]neighbour{}}
	mtus, err := t.Walk(ifMTU)
	if err != nil {
		return nil, err
	}
	if len(mtus) == 0 {
		return nil, fmt.Errorf("read switch %s: it shows no interfaces; see that this user may read IF-MIB (1.3.6.1.2.1.2)", address)
	}
	columns := map[string]map[string]snmp.Row{}
	for _, c := range []string{ifName, ifHighSpeed, dot3Pause, lagAttached, lldpChassis, lldpSystem, lldpPortID, lldpPortAbout, lldpFarPort, lldpFarSystem} {
		if columns[c], err = column(t, c); err != nil {
			return nil, err
		}
	}
	s.Chassis, s.System = idText(columns[lldpChassis]["0"].Bytes), idText(columns[lldpSystem]["0"].Bytes)
	for _, r := range mtus {
		s.ports[r.Index] = s.port(r, columns)
		s.byName[string(columns[ifName][r.Index].Bytes)] = r.Index
	}
	s.neighbours(columns)
	classes, err := readClasses(t)
	if err != nil {
		return nil, err
	}
	counts, err := ReadCounters(t)
	if err != nil {
		return nil, err
	}
	for i, p := range s.ports {
		p.Counters, p.Queues = counts.ports[i], counts.queuesOf(i)
		p.Classes = model.Unknown[int](model.Absent, "the switch does not tell its traffic classes (P-BRIDGE-MIB)")
		if n, ok := classes[i]; ok {
			p.Classes = model.Known(n)
		}
		s.ports[i] = p
	}
	return s, nil
}

func column(t Tables, name string) (map[string]snmp.Row, error) {
	rows, err := t.Walk(name)
	out := map[string]snmp.Row{}
	for _, r := range rows {
		out[r.Index] = r
	}
	return out, err
}

// port is one interface of the switch.
func (s *Switch) port(mtu snmp.Row, columns map[string]map[string]snmp.Row) model.SwitchPort {
	i := mtu.Index
	p := model.SwitchPort{Source: "snmp " + s.Address, System: s.System, Chassis: s.Chassis, Port: idText(columns[ifName][i].Bytes)}
	if p.Port == "" {
		p.Port = "interface " + i
	}
	if mtu.Int > 0 && mtu.Int < 1<<17 {
		p.MTU = model.Known(int(mtu.Int))
	}
	if r := columns[ifHighSpeed][i]; r.Int > 0 && r.Int < 1<<32 {
		p.Speed = model.Known(unit.BitRate(r.Int) * unit.Mbit)
	}
	if r, ok := columns[dot3Pause][i]; ok && r.Int >= 1 && r.Int <= 4 { // disabled, xmit, rcv, both
		p.Pause = model.Known(model.Pause{Tx: r.Int == 2 || r.Int == 4, Rx: r.Int == 3 || r.Int == 4})
	}
	if r, ok := columns[lagAttached][i]; ok {
		p.Group = model.Known("")
		if g := strconv.FormatInt(r.Int, 10); r.Int > 0 && g != i { // some report a lone port as a group of itself
			if p.Group.Value = idText(columns[ifName][g].Bytes); p.Group.Value == "" {
				p.Group.Value = g
			}
		}
	}
	return p
}

// neighbours finds the interface of each of LLDP's port numbers, and the neighbours heard there:
// by the port's id or description, which most switches fill with ifName, else by the number
// itself.
func (s *Switch) neighbours(columns map[string]map[string]snmp.Row) {
	index := map[string]string{}
	for number, id := range columns[lldpPortID] {
		i, ok := s.byName[idText(id.Bytes)]
		if !ok {
			i, ok = s.byName[idText(columns[lldpPortAbout][number].Bytes)]
		}
		if _, is := s.ports[number]; !ok && is {
			i = number
		}
		if i != "" {
			index[number] = i
		}
	}
	for number, i := range index {
		s.byName[idText(columns[lldpPortID][number].Bytes)] = i
	}
	for at, r := range columns[lldpFarPort] {
		parts := strings.Split(at, ".")
		if len(parts) != 3 || index[parts[1]] == "" {
			continue
		}
		i := index[parts[1]]
		s.far[i] = append(s.far[i], neighbour{idText(r.Bytes), idText(columns[lldpFarSystem][at].Bytes)})
	}
}

// idText writes an identifier: six bytes that are not text are a MAC.
func idText(b []byte) string {
	printable := !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c > '~' })
	switch {
	case printable:
		return strings.TrimSpace(string(b))
	case len(b) == 6:
		return net.HardwareAddr(b).String()
	}
	return fmt.Sprintf("%x", b[:min(len(b), 64)])
}

// Ports are the switch's ports that a host is plugged into: those that the host heard by LLDP,
// and those where the switch heard one of its interfaces (by MAC, or by interface name and host
// name). macs is by interface.
func (s *Switch) Ports(hostname string, heard []model.SwitchPort, macs map[string]string) []model.SwitchPort {
	at := map[string]string{} // interface by ifIndex
	for _, h := range heard {
		if i, ok := s.byName[h.Port]; ok && (h.Chassis == s.Chassis || h.System != "" && h.System == s.System) {
			at[i] = h.Interface
		}
	}
	for i, list := range s.far {
		for _, n := range list {
			if name := pluggedIn(n, hostname, macs); name != "" {
				at[i] = name
			}
		}
	}
	var out []model.SwitchPort
	for _, i := range slices.Sorted(maps.Keys(at)) {
		p := s.ports[i]
		p.Interface = at[i]
		out = append(out, p)
	}
	return out
}

// pluggedIn is the interface of a host that a switch heard; empty if it is another host's, or
// cannot be identified (the ports of a bond share one MAC).
func pluggedIn(n neighbour, hostname string, macs map[string]string) string {
	var found []string
	for name, mac := range macs {
		switch {
		case n.port == name && hostname != "" && (n.system == hostname || strings.HasPrefix(n.system, hostname+".")):
			return name
		case strings.EqualFold(n.port, mac):
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}
