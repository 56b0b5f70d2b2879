package model

import (
	"time"

	"linerate/internal/unit"
)

// StudyFile is what a user asks to be compared, as read from a study file.
type StudyFile struct {
	V        int    `json:"v"`
	Name     string `json:"name"`
	Question string `json:"question"`
	// Source is where the design comes from, e.g. a paper and its tables.
	Source string `json:"source,omitempty"`
	// Hosts by the name that the rest of the file uses; the value is how the host
	// is reached, as explain takes it: lab:client1, root@nas1.
	Hosts map[string]string `json:"hosts"`
	Via   string            `json:"via,omitempty"` // data address of every receiver; empty: found by its name
	// Baseline are steps that are applied in their order before the first run and
	// hold for the whole study, whose baseline is the state after the last one.
	Baseline []StudyLevel  `json:"baseline,omitempty"`
	Factors  []StudyFactor `json:"factors"`
	// LeftOut are the levels that were taken out before the study began, since
	// every value of them was in force already. No key of a study file.
	LeftOut   []StudyFactor   `json:"left_out,omitempty"`
	Workloads []StudyWorkload `json:"workloads"`
	Primary   string          `json:"primary"` // name of the workload whose outcome is the declared one
	Protocol  StudyProtocol   `json:"protocol"`
	Budget    time.Duration   `json:"budget_ns,omitempty"` // 0: until every planned look was made
}

// StudyFactor is one thing that a study varies. Its level 0 is the baseline and
// not listed.
type StudyFactor struct {
	Name   string       `json:"name"`
	Why    string       `json:"why,omitempty"`
	Source string       `json:"source,omitempty"`
	Levels []StudyLevel `json:"levels"`
	// Operator: hands change it, not linerate. The study pauses, instructs and
	// verifies.
	Operator bool `json:"operator,omitempty"`
	// Hard: a change costs a reboot, a link flap or hands; such factors are
	// changed as rarely as the design lets them (split plot).
	Hard bool `json:"hard,omitempty"`
}

// StudyLevel is one state of a factor, or one step of the baseline. Exactly one
// of Set, Workload and Instruct is filled.
type StudyLevel struct {
	Name string         `json:"name"`
	Set  []StudySetting `json:"set,omitempty"`
	// Workload changes fields of every workload, by their names in a study file:
	// streams, clients, block, rate, recv_buffer, congestion …
	Workload map[string]string `json:"workload,omitempty"`
	// Instruct is what the operator does; Back is how they undo it.
	Instruct string       `json:"instruct,omitempty"`
	Back     string       `json:"back,omitempty"`
	Verify   *StudyVerify `json:"verify,omitempty"` // required beside Instruct
	// Lab is what a lab does in the operator's place where all hosts are of one, in
	// the words of lab fault add; Verify may then be missing.
	Lab []string `json:"lab,omitempty"`
}

// StudySetting is one setting of the catalogue on one host of the study.
type StudySetting struct {
	Host    string `json:"host"`
	Setting string `json:"setting"` // id, e.g. linux.sysctl.net.ipv4.tcp_rmem
	Target  string `json:"target,omitempty"`
	Value   string `json:"value"`
}

// StudyVerify is the fact by which an operator's change is seen.
type StudyVerify struct {
	Host string `json:"host"`
	Fact string `json:"fact"` // a setting's id, or one of the facts that docs/study.md lists
	Is   string `json:"is"`
}

// StudyWorkload is one load of a study.
type StudyWorkload struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "tcp": memory to memory; "block": a file or device of one host; "read": a file in order; "frames": video; "copy": a tree from one host to another
	// Of kind tcp. Senders of a workload with several clients are paired with the
	// one receiver, or the reverse.
	Senders   []string `json:"senders,omitempty"`
	Receivers []string `json:"receivers,omitempty"`
	// Clients is how many of the many take part; 0: all.
	Clients    int           `json:"clients,omitempty"`
	Streams    int           `json:"streams,omitempty"` // of each pair
	Congestion string        `json:"congestion,omitempty"`
	RecvBuffer unit.Bytes    `json:"recv_buffer,omitempty"`
	SendBuffer unit.Bytes    `json:"send_buffer,omitempty"`
	WriteSize  unit.Bytes    `json:"write_size,omitempty"`
	Exchange   unit.Bytes    `json:"exchange,omitempty"`
	NoDelay    bool          `json:"nodelay,omitempty"` // Nagle's algorithm off, which exchanges have on
	Rate       unit.BitRate  `json:"rate_bps,omitempty"`
	Duration   time.Duration `json:"duration_ns"` // measured part
	Warmup     time.Duration `json:"warmup_ns"`
	// Of kind block, read and frames.
	Hosts   []string   `json:"hosts,omitempty"`
	Path    string     `json:"path,omitempty"`
	Pattern string     `json:"pattern,omitempty"`
	Read    int        `json:"read,omitempty"`  // percent
	Block   unit.Bytes `json:"block,omitempty"` // with a Mix its largest size
	// Mix is the sizes of requests with the percentage that each has, where there
	// are several: 4k/60:64k/40.
	Mix     string `json:"mix,omitempty"`
	Depth   int    `json:"depth,omitempty"`
	Threads int    `json:"threads,omitempty"`
	Direct  bool   `json:"direct,omitempty"`
	Destroy string `json:"destroy,omitempty"` // the path again: what is on it may be destroyed
	// Of kind frames: Path is a directory, Streams are of each host.
	Format   string `json:"format,omitempty"`
	FPS      string `json:"fps,omitempty"`
	Buffer   int    `json:"buffer,omitempty"` // frames between camera or player and the storage
	Play     bool   `json:"play,omitempty"`
	PerFrame bool   `json:"file_per_frame,omitempty"`
	// Of kind copy: Path is of the one sender, and To a directory of the one receiver.
	To    string `json:"to,omitempty"`
	Plain bool   `json:"plain,omitempty"`       // not encrypted
	Full  bool   `json:"verify_full,omitempty"` // the target is read again
}

// StudyProtocol is how a study comes to its conclusions.
type StudyProtocol struct {
	Name   string  `json:"name"`   // "linerate" or "paper"
	Design string  `json:"design"` // "sequence", "one-at-a-time", "factorial", "plackett-burman", "plackett-burman-fold-over", "split-plot"
	Alpha  float64 `json:"alpha,omitempty"`
	Margin float64 `json:"margin"` // ratio below which an effect is of no use, e.g. 1.02; of "paper" the least it acknowledges, 1.05
	Looks  []int   `json:"looks,omitempty"`
	AA     int     `json:"aa,omitempty"` // A/A blocks before the first
	// Of "paper".
	Runs int     `json:"runs,omitempty"`
	RSD  float64 `json:"rsd,omitempty"`
	Most int     `json:"most,omitempty"` // groups of runs of a case that are made before it is given up
	Seed uint64  `json:"seed"`           // of every order that is drawn
}
