package model

import "time"

// Change is one setting to be changed on one host.
type Change struct {
	Setting string `json:"setting"`          // id, e.g. linux.sysctl.net.ipv4.tcp_rmem
	Target  string `json:"target,omitempty"` // for a device: NIC.Device
	From    string `json:"from"`             // what was read when the plan was made
	To      string `json:"to"`
	Why     string `json:"why"`
	Source  string `json:"source,omitempty"`
	Risk    string `json:"risk,omitempty"` // what can go wrong, in words
	// Needs says what must happen besides the write before the value is in
	// effect: "new mount", "restart of nfsd", "new connections". NeedsFlap
	// happens by itself.
	Needs string `json:"needs,omitempty"`
	Cuts  bool   `json:"cuts,omitempty"` // it can cut the operator off: MTU, routes, link flap, offloads

	// Only for display by the maker of the plan; the host does not need them.
	Device string `json:"-"` // name of the device when the plan was made
	Trades string `json:"-"` // what it costs beside performance: data safety, security
	Typed  bool   `json:"-"` // the user named this value
}

// NeedsFlap is what Change.Needs says of a write that takes the link down for
// a moment.
const NeedsFlap = "link flap"

// Plan is the very object that --dry-run prints and apply executes.
type Plan struct {
	V       int      `json:"v"`
	ID      string   `json:"id"`
	Host    string   `json:"host"`
	BootID  string   `json:"boot_id"`
	Changes []Change `json:"changes"`
	// ConfirmWithin arms a dead-man on the host: unless the plan is confirmed
	// in that time after it was applied, the host undoes it by itself. 0 is
	// DefaultConfirm where a change can cut the operator off, else none;
	// NoConfirm is none whatever the changes.
	ConfirmWithin time.Duration `json:"confirm_within_ns,omitempty"`
	// By says for whom the plan is made, in a line, where it is not who runs linerate. The
	// journal has it beside who brought it.
	By string `json:"by,omitempty"`
}

// Values of Plan.ConfirmWithin.
const (
	DefaultConfirm = time.Minute
	NoConfirm      = time.Duration(-1)
)

// PlanVersion is the version of Plan that this build writes.
const PlanVersion = 1

// DeadMan is how long the host waits for a confirmation once the plan is
// applied; 0 is that it does not.
func (p Plan) DeadMan() time.Duration {
	switch {
	case p.ConfirmWithin > 0:
		return p.ConfirmWithin
	case p.ConfirmWithin < 0:
		return 0
	}
	for _, c := range p.Changes {
		if c.Cuts {
			return DefaultConfirm
		}
	}
	return 0
}
