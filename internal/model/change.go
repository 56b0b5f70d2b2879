package model

// Change is one setting to be changed on one host.
type Change struct {
	Setting string `json:"setting"`          // id, e.g. linux.sysctl.net.ipv4.tcp_rmem
	Target  string `json:"target,omitempty"` // for a device: NIC.Device
	From    string `json:"from"`             // what was read when the plan was made
	To      string `json:"to"`
	Why     string `json:"why"`
	Source  string `json:"source,omitempty"`
}

// Plan is the very object that --dry-run prints and apply executes.
type Plan struct {
	V       int      `json:"v"`
	ID      string   `json:"id"`
	Host    string   `json:"host"`
	BootID  string   `json:"boot_id"`
	Changes []Change `json:"changes"`
}

// PlanVersion is the version of Plan that this build writes.
const PlanVersion = 1
