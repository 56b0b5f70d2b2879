// Package published holds the results that the five papers published, as data: every number with
// its place in the paper, its conditions, and the known reasons to doubt it. It finds results
// that resemble a query and places a measured rate among them. It measures nothing and judges
// no host. If the values of a picture are not in a paper's text, the picture is listed as a
// gap and not read off by eye. A rate is never placed among results whose meaning the paper
// leaves open.
package published

import (
	"embed"
	"fmt"

	"linerate/internal/unit"
)

// Paper is one publication with its results.
type Paper struct {
	Key     string `json:"key"` // ATTO, DELL, NAPPIT, SFC or CIT
	Title   string `json:"title"`
	Authors string `json:"authors"`
	// Year as printed in the paper; 0: none is printed.
	Year    int      `json:"year,omitempty"`
	Printed string   `json:"printed"`           // the printed date and number
	Remarks []string `json:"remarks,omitempty"` // remarks that apply to all its results
	// Gaps lists results of the paper that this data lacks, and why.
	Gaps    []string `json:"gaps,omitempty"`
	Results []Result `json:"-"`
}

// Metric is what was measured.
type Metric string

// Metrics. Throughput is payload as the paper's tool counts it.
const (
	Throughput  Metric = "throughput"  // MB/s, Gbps
	IOPS        Metric = "iops"        // ops/s
	Latency     Metric = "latency"     // ms
	CPU         Metric = "cpu"         // % of the CPUs that the paper means
	CPUPerOp    Metric = "cpu_per_op"  // us
	Retransmits Metric = "retransmits" // % of packets
	Change      Metric = "change"      // of one run against another: ×, % more, % less, …
)

// Directions of data, as the client sees them.
const (
	Read     = "read"
	Write    = "write"
	Mixed    = "mixed"    // reads and writes
	Transfer = "transfer" // one way, memory to memory or between sites
)

// As is how the paper qualifies a number; empty: not at all.
type As string

// Qualifiers.
const (
	About  As = "about"
	Almost As = "almost"
	Over   As = "over"
	Under  As = "under"
	UpTo   As = "up to"
)

// Result is one published number.
type Result struct {
	ID    string `json:"id"`             // paper, run and value: atto.t6.x200.read
	Paper string `json:"paper"`          // key
	Where string `json:"where"`          // table, figure, section or slide
	Page  string `json:"page,omitempty"` // as printed; empty: the text has no pages

	Metric Metric  `json:"metric"`
	As     As      `json:"as,omitempty"`
	Value  float64 `json:"value"` // in the paper's own unit
	// To is the upper end of a range; 0: a single number.
	To   float64 `json:"to,omitempty"`
	Unit string  `json:"unit"`

	Protocol  string `json:"protocol,omitempty"` // nfs, smb, iscsi, tcp, local; empty: not stated
	Version   string `json:"version,omitempty"`  // as printed: SMB2, SMBX, NFSv3
	Direction string `json:"direction,omitempty"`
	Tool      string `json:"tool,omitempty"`
	// Link is the rate of one port of the path; 0: not stated, or no network.
	Link unit.BitRate `json:"link_bps,omitempty"`
	MTU  int          `json:"mtu,omitempty"`
	// Jumbo: frames larger than 1500 bytes, their size not stated.
	Jumbo   bool       `json:"jumbo,omitempty"`
	Block   unit.Bytes `json:"block_bytes,omitempty"`
	File    unit.Bytes `json:"file_bytes,omitempty"`
	Clients string     `json:"clients,omitempty"`
	Threads int        `json:"threads,omitempty"` // streams or outstanding requests, all together
	Client  string     `json:"client,omitempty"`
	Server  string     `json:"server,omitempty"`
	Storage string     `json:"storage,omitempty"`
	Change  string     `json:"change,omitempty"` // what was changed, or which part is meant

	// Claim: the paper states it in a sentence and shows no measurement.
	Claim  bool     `json:"claim,omitempty"`
	Doubts []string `json:"doubts,omitempty"` // why the number may mislead
	// Unclear is what the paper leaves open about the meaning of the number.
	Unclear string `json:"unclear,omitempty"`
}

//go:embed data/*.yaml
var files embed.FS

// Keys of the papers, in the order in which they are listed.
func Keys() []string { return []string{"ATTO", "DELL", "NAPPIT", "SFC", "CIT"} }

// Papers are all papers with their results.
func Papers() []Paper {
	var out []Paper
	for _, name := range []string{"atto", "dell", "nappit", "sfc", "cit"} {
		b, err := files.ReadFile("data/" + name + ".yaml")
		if err != nil {
			panic(fmt.Sprintf("embedded results: %v", err)) // part of the program
		}
		p, err := Parse(b)
		if err != nil {
			// The file is part of the program and its tests parse it.
			panic(fmt.Sprintf("embedded results %s.yaml: %v", name, err))
		}
		out = append(out, p)
	}
	return out
}

// All are the results of all papers, in the order of the papers.
func All() []Result {
	var out []Result
	for _, p := range Papers() {
		out = append(out, p.Results...)
	}
	return out
}
