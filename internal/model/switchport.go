package model

import "linerate/internal/unit"

// SwitchPort is what a switch tells of the port that an interface is plugged
// into. A host may have several for one interface: one per Source.
type SwitchPort struct {
	Interface string `json:"interface"` // the host's
	// Source is who told: "lldp", or "snmp ADDRESS".
	Source  string `json:"source"`
	System  string `json:"system,omitempty"` // name of the switch
	Chassis string `json:"chassis"`
	Port    string `json:"port"`
	// MTU is the largest packet or frame in bytes as the switch counts, and Frame
	// whether that includes the Ethernet header and checksum for certain; by SNMP
	// switches differ (ifMtu).
	MTU   Fact[int] `json:"mtu,omitzero"`
	Frame bool      `json:"frame,omitempty"`

	Speed Fact[unit.BitRate] `json:"speed,omitzero"`
	Pause Fact[Pause]        `json:"pause,omitzero"` // in effect
	// Group is the switch's name or number of the LAG that the port is in; empty:
	// in none.
	Group Fact[string] `json:"group,omitzero"`
	// Counters since the switch started: in_errors, out_errors, in_discards,
	// out_discards, in_packets, out_packets.
	Counters Fact[map[string]int64] `json:"counters,omitzero"`
	// Rose is how much they grew between two looks.
	Rose Fact[map[string]int64] `json:"rose,omitzero"`
}
