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
	// Counters since the switch started, as far as it has them: in_errors, out_errors,
	// in_discards, out_discards, in_packets, out_packets, in_pause and out_pause (frames),
	// in_pfc and out_pfc (priority flow control), too_large (frames dropped for their size).
	Counters Fact[map[string]int64] `json:"counters,omitzero"`
	// Rose is how much they grew between two looks.
	Rose Fact[map[string]int64] `json:"rose,omitzero"`
	// Classes is how many traffic classes the port tells apart (QoS).
	Classes Fact[int] `json:"traffic_classes,omitzero"`
	// Queues are the port's, by direction and number.
	Queues Fact[[]SwitchQueue] `json:"queues,omitzero"`
}

// SwitchQueue is one queue of a switch port. Counters are packets; a figure that the switch does
// not give is not known.
type SwitchQueue struct {
	Queue string `json:"queue"` // the switch's number, with what sets it apart: "3", "3 multicast"
	In    bool   `json:"in"`    // of packets from the host; else of packets to it
	// Drops since the switch started, and how much they grew between two looks.
	Drops Fact[int64] `json:"drops,omitzero"`
	Rose  Fact[int64] `json:"rose,omitzero"`
	// Passed are the packets that were sent.
	Passed Fact[int64] `json:"passed,omitzero"`
	// Cells of the port's buffer that the queue takes now; a cell's size is the switch's own.
	Cells Fact[int64] `json:"buffer_cells,omitzero"`
}
