package watch

import (
	"net/netip"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// PictureVersion is the version of Picture's JSON form that this build writes.
const PictureVersion = 1

// Picture is one moment of a path: what `linerate watch --json` prints, one object a line.
type Picture struct {
	V    int       `json:"v"`
	At   time.Time `json:"at"` // by the controller's clock
	Path string    `json:"path"`
	// Shown is the state that is shown, Since when it began to be shown. Found is the state that
	// the newest window gave, if that differs; FoundTimes is how many windows in a row gave it.
	Shown      Named     `json:"shown"`
	Since      time.Time `json:"since"`
	Found      *Named    `json:"found,omitempty"`
	FoundTimes int       `json:"found_times,omitempty"`
	// Window is the length of the time that the verdict is about.
	Window  time.Duration `json:"window"`
	Verdict model.Verdict `json:"verdict"` // of this window; empty where nothing moved
	// Judged is when the verdict was made, if it comes from an earlier window: while nobody looks at
	// a path, its hosts are sampled once a second, which is too seldom for a verdict.
	Judged  time.Time     `json:"judged,omitzero"`
	Goodput unit.BitRate  `json:"goodput_bps"`
	Ceiling *unit.BitRate `json:"ceiling_bps"` // null: not known
	Hosts   []Host        `json:"hosts"`
	Conns   []Conn        `json:"conns"`
	// Unlisted is how many connections the path has beyond Conns: of very many some are told. UnlistedIdle:
	// those that are told moved what all of them did.
	Unlisted     int     `json:"conns_unlisted,omitempty"`
	UnlistedIdle bool    `json:"conns_unlisted_idle,omitempty"`
	Events       []Event `json:"events,omitempty"` // that came with this picture
	// Why says why there is no verdict: no connection, a host that cannot be reached.
	Why string `json:"why,omitempty"`
	// Covers is how much time before At a picture from the history stands for. Zero: the picture is
	// from a live view, and stands for the time since the previous one.
	Covers time.Duration `json:"-"`
}

// Event is a change of the state that is shown, with the evidence for it.
type Event struct {
	At       time.Time        `json:"at"`
	Path     string           `json:"path"`
	From     Named            `json:"from"`
	To       Named            `json:"to"`
	Line     string           `json:"line"`
	Evidence []model.Evidence `json:"evidence,omitempty"`
}

// Conn is what one connection did between the oldest and the newest sample of the window. The
// shares Window, Buffer and ByPath divide the time in which the connection had data to send: it
// waited for the receiver's window, for room in the send buffer, or (the rest) for the path or the
// congestion window. Only the sending end knows them: null if that end is not watched.
type Conn struct {
	Host    string         `json:"host"`
	Local   netip.AddrPort `json:"local"`
	Remote  netip.AddrPort `json:"remote"`
	Out     unit.BitRate   `json:"out_bps"` // acknowledged
	In      unit.BitRate   `json:"in_bps"`  // received
	RTT     time.Duration  `json:"rtt"`
	Resent  float64        `json:"resent_share"` // of the bytes sent
	Busy    *float64       `json:"busy_share"`   // of the time
	Window  *float64       `json:"receive_window_share"`
	Buffer  *float64       `json:"send_buffer_share"`
	ByPath  *float64       `json:"path_share"`
	ByApp   *float64       `json:"application_share"` // of the time there was nothing to send
	Waiting unit.Bytes     `json:"unread"`            // received and not read yet
}

// Host is what one host did in the window.
type Host struct {
	Name string `json:"name"`
	// Heard is when its newest sample arrived; Stale: the next one is overdue.
	Heard time.Time `json:"heard"`
	Stale bool      `json:"stale"`
	Cores []Core    `json:"cores"`
	NICs  []NIC     `json:"nics"`
	Ops   []Op      `json:"requests,omitempty"` // of the mount, share or disk that is watched
	// Switches are the names of the switches that the host is plugged into, as far as known (LLDP).
	Switches []string `json:"switches,omitempty"`
	Marks    []Mark   `json:"marks,omitempty"` // what was seen to have changed there since the last picture
	// Last is the newest sample and Facts the newest facts, for metrics that count from the boot of
	// the host; nil: none yet.
	Last  *model.Sample `json:"-"`
	Facts *model.Facts  `json:"-"`
}

// The kinds of marks.
const (
	MarkTuned  = "tuned"   // linerate changed a setting
	MarkUndone = "undone"  // and took it back
	MarkHost   = "changed" // kernel, driver, link, setting or mount differs from 30 seconds before
	MarkRun    = "run"     // a run of linerate that was kept
)

// Mark is something that changed on a host, as far as that was seen.
type Mark struct {
	At   time.Time `json:"at"` // tuned, undone: when it was done; changed: when it was noticed
	Kind string    `json:"kind"`
	Host string    `json:"host,omitempty"`
	What string    `json:"what"` // a setting's id, "kernel", "eth0 speed", …; the command of a run
	From string    `json:"from,omitempty"`
	To   string    `json:"to,omitempty"`
}

// Core is how one core spent its time, as shares of 1. The rest was idle.
type Core struct {
	CPU     int     `json:"cpu"`
	User    float64 `json:"user"`
	System  float64 `json:"system"`
	SoftIRQ float64 `json:"softirq"` // with hard interrupts
	Steal   float64 `json:"steal"`
}

// Busy is the share of the time in which the core did anything.
func (c Core) Busy() float64 { return c.User + c.System + c.SoftIRQ + c.Steal }

// NIC is what one interface carried, and what it dropped or found damaged, per second.
type NIC struct {
	Name   string       `json:"name"`
	In     unit.BitRate `json:"in_bps"`
	Out    unit.BitRate `json:"out_bps"`
	Drops  float64      `json:"drops_per_second"`
	Errors float64      `json:"errors_per_second"`
	Pauses *float64     `json:"pause_frames_per_second"` // null: not counted
	// QdiscDrops is what the interface's queueing discipline dropped per second, Backlog what waits
	// in it by the newest sample. Null: it has none, or it is not known (the history has neither).
	QdiscDrops *float64    `json:"qdisc_drops_per_second"`
	Backlog    *unit.Bytes `json:"qdisc_backlog"`
}

// Op is one kind of request to storage.
type Op struct {
	Name  string        `json:"name"` // READ, WRITE, … of NFS; read, write
	Rate  float64       `json:"per_second"`
	Mean  time.Duration `json:"mean_time"`  // from sent, or begun, to answered
	Queue time.Duration `json:"mean_queue"` // before it was sent; NFS alone
}
