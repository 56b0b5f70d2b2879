//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/model"
)

// dellLab is a host and an array on one cable: at 20 Gbit/s one core just keeps up
// as long as the offloads help it, so that what costs CPU shows, and what does not
// leaves the link full. The kernel's own token bucket keeps the rate.
const dellLab = `name: dell
title: a host and an array on one cable
paper: DELL
hosts:
  client1: {interfaces: {eth0: {address: 10.20.0.1/24}}}
  server1: {interfaces: {eth0: {address: 10.20.0.11/24}}}
links:
  - {between: [client1.eth0, server1.eth0], rate: 20Gbit/s, direct: true}
flow: {from: [server1], to: client1, via: eth0}
`

// dellStudy is DELL's sequence for the X520 (BP1057, tables 4 and 5) by what does
// the same here.
const dellStudy = `v: 1
name: NAME
question: which of DELL's settings pay here?
source: Dell BP1057 (2013), tables 4 and 5
hosts: {client: lab:client1, server: lab:server1}
baseline:
  - {name: jumbo, set: {client: {linux.link.mtu: 9000}, server: {linux.link.mtu: 9000}}}
  - name: buffers
    set:
      client: {linux.sysctl.net.ipv4.tcp_rmem: 4096 65536 16777216}
      server: {linux.sysctl.net.ipv4.tcp_wmem: 4096 65536 16777216}
factors:
  - {name: one-core, levels: [{name: rss-off, set: {client: {linux.queue.rps_cpus: "1"}}}]}
  - {name: receive-coalescing, levels: [{name: "off", set: {client: {linux.ethtool.features: rx-gro=off}}}]}
  - {name: window-autotuning, levels: [{name: "off", set: {client: {linux.sysctl.net.ipv4.tcp_moderate_rcvbuf: "0"}}}]}
  - {name: delayed-ack, levels: [{name: "off", set: {client: {linux.route.quickack: "1"}}}]}
  - {name: nagle, levels: [{name: "off", NAGLE}]}
  - {name: send-offload, levels: [{name: "off", set: {server: {linux.ethtool.features: tx-tcp-segmentation=off tx-generic-segmentation=off}}}]}
workloads:
  - {name: WORKLOAD, senders: [server], receivers: [client], congestion: cubic, LOAD, seconds: SECONDS, warmup: WARMUP}
primary: WORKLOAD
protocol: {PROTOCOL}
`

// dellWorkload is one of DELL's, with what turning Nagle's algorithm off is for it.
type dellWorkload struct{ name, load, nagle string }

// DELL's sequential reads fill the cable: their program has Nagle's algorithm off,
// and what the kernel still gathers of small writes is autocorking's. Its small
// random requests wait for their answers, in two pieces with the algorithm on.
func dellWorkloads() []dellWorkload {
	return []dellWorkload{
		{"read", "streams: 1", `set: {server: {linux.sysctl.net.ipv4.tcp_autocorking: "0"}}`},
		{"requests", "streams: 8, exchange: 8KiB", `workload: {nodelay: true}`},
	}
}

// dellWay is one way to make the sequence.
type dellWay struct {
	name, protocol string
	measured, warm time.Duration
	what           string
}

const (
	longRun, longWarmup   = 5 * time.Second, 500 * time.Millisecond
	shortRun, shortWarmup = 400 * time.Millisecond, 200 * time.Millisecond
	// referenceBlocks on both sides of each comparison tell the true effect.
	referenceBlocks = 32
	// dellComparisons are those of dellStudy; with two A/A blocks a reference is of
	// so many runs for each of its blocks.
	dellComparisons = 8
	// perRun is what a run takes beside its load, to plan the reference by; the
	// tables say what it was.
	perRun = 150 * time.Millisecond
)

const (
	reference  = "reference"
	paperLong  = "paper"
	paperShort = "paper-short"
	ours       = "linerate"
)

// dellWays are the ways to make the sequence of one workload. Ten blocks are the
// fewest whose p of 1/512 passes the correction for eight comparisons; what they
// leave undecided goes on to twenty.
func dellWays(forReference time.Duration) []dellWay {
	one := forReference/time.Duration(2*(referenceBlocks*dellComparisons+2)) - perRun - shortWarmup
	return []dellWay{
		{reference, fmt.Sprintf("name: linerate, design: sequence, looks: [%d], aa: 2", referenceBlocks), max(one, shortRun).Round(10 * time.Millisecond), shortWarmup, "the true effect"},
		{paperLong, "name: paper, design: sequence", longRun, longWarmup, "paper, long runs"},
		{paperShort, "name: paper, design: sequence", shortRun, shortWarmup, "paper, runs as long as ours"},
		{ours, "name: linerate, design: sequence, looks: [10, 20], aa: 2", shortRun, shortWarmup, "linerate"},
	}
}

// dellHere is what each of DELL's settings is in this lab.
const dellHere = `| DELL's setting (tables 4 and 5) | here |
|---|---|
| jumbo frames | an MTU of 9000 at both ends |
| receive and transmit buffers at most | tcp_rmem and tcp_wmem up to 16 MiB: an emulated port has no rings |
| RSS off | rps_cpus: the client's packets are handled on the core that the server works on |
| RSC off | rx-gro=off; what the server does not cut crosses this cable whole, and leaves little to merge |
| receive window autotuning off | tcp_moderate_rcvbuf 0: the buffer stays at 64 KiB |
| delayed ACK off | quickack 1 of the client's route |
| Nagle off | of reads, whose writes are large: tcp_autocorking 0; of requests: TCP_NODELAY |
| LSO off | TSO and GSO of the sender off |
| flow control, interrupt moderation, number of RSS queues, RSS profile | none: an emulated port has no pause frames, interrupts, queues of a card or NUMA nodes |
`

func (b bench) dell(ctx context.Context, w io.Writer) error {
	fmt.Fprint(w, dellHere)
	for _, load := range dellWorkloads() {
		found := map[string]*model.Study{}
		for _, way := range dellWays(b.reference / time.Duration(len(dellWorkloads()))) {
			s, err := b.dellOnce(ctx, load, way)
			if err != nil {
				return err
			}
			if s != nil {
				found[way.name] = s
			}
		}
		if len(found) > 0 {
			dellTable(w, load, found)
		}
	}
	return nil
}

// dellOnce makes the sequence one way, or takes what is kept of an earlier call;
// nil: it is neither kept nor asked for.
func (b bench) dellOnce(ctx context.Context, load dellWorkload, way dellWay) (*model.Study, error) {
	name := "dell-" + load.name + "-" + way.name
	kept := ""
	if b.keep != "" {
		kept = filepath.Join(b.keep, name+".json")
		text, err := os.ReadFile(kept)
		switch {
		case err == nil:
			var s model.Study
			if err := json.Unmarshal(text, &s); err != nil {
				return nil, fmt.Errorf("read %s: %w", kept, err)
			}
			return &s, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if len(b.only) > 0 && !slices.Contains(b.only, name) {
		return nil, nil
	}
	var s *model.Study
	err := b.inOwnLab(ctx, dellLab, func(lab.Status) (err error) {
		// A card merges what it receives; a virtual one has that off.
		if err := b.Inside(ctx, "client1", "ethtool", "-K", "eth0", "gro", "on"); err != nil {
			return fmt.Errorf("have client1 merge what it receives: %w", err)
		}
		s, _, err = b.study(ctx, name, way.text(load, name))
		return err
	})
	if err != nil || kept == "" {
		return s, err
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(kept, text, 0o600)
	}
	return s, err
}

func (y dellWay) text(load dellWorkload, name string) string {
	return strings.NewReplacer("NAME", name, "WORKLOAD", load.name, "LOAD", load.load, "NAGLE", load.nagle, "PROTOCOL", y.protocol,
		"SECONDS", fmt.Sprint(y.measured.Seconds()), "WARMUP", y.warm.String()).Replace(dellStudy)
}

// dellTable has a row for each factor and the counts of each way below.
func dellTable(w io.Writer, load dellWorkload, found map[string]*model.Study) {
	head := []string{"factor", "true effect, 95% interval"}
	var ways []dellWay
	for _, way := range dellWays(0)[1:] {
		if found[way.name] != nil {
			ways = append(ways, way)
			head = append(head, way.what)
		}
	}
	fmt.Fprintf(w, "\n%s\n\n", load.name)
	kit.Head(w, head...)
	for _, row := range dellRows(found) {
		truth, known := comparisonOf(found[reference], row)
		cell := "not measured"
		if known {
			cell = number(truth.Ratio) + ", " + interval(truth)
		}
		fmt.Fprintf(w, "| %s %s | %s |", row.Factor, row.Level, cell)
		for _, way := range ways {
			c, ok := comparisonOf(found[way.name], row)
			fmt.Fprintf(w, " %s |", dellCell(truth, c, known, ok))
		}
		fmt.Fprintln(w)
	}
	dellTotals(w, found)
}

// dellCell is what one way says of a factor, and whether that is right.
func dellCell(truth, c model.StudyComparison, known, made bool) string {
	if !made {
		return kit.None
	}
	said := number(c.Ratio) + ", " + c.Conclusion
	if c.CILow != nil {
		said = number(c.Ratio) + " (" + interval(c) + "), " + c.Conclusion
	}
	if known {
		said += ": **" + judge(effectOf(truth), c) + "**"
	}
	return said
}

func dellTotals(w io.Writer, found map[string]*model.Study) {
	fmt.Fprintln(w)
	kit.Head(w, "", "runs", "of", "groups discarded", "time", "beside the load, a run", "effects of 5% and more found", "missed", "invented")
	for _, way := range dellWays(0) {
		s := found[way.name]
		if s == nil {
			continue
		}
		load := s.File.Workloads[0]
		counts := map[string]int{}
		for _, row := range dellRows(found) {
			truth, known := comparisonOf(found[reference], row)
			c, made := comparisonOf(s, row)
			if known && made && way.name != reference {
				count(counts, effectOf(truth), judge(effectOf(truth), c))
			}
		}
		verdicts := fmt.Sprintf("%d of %d | %d | %d", counts[foundIt], counts[large], counts[missed], counts[invented])
		if way.name == reference {
			verdicts = "– | – | –"
		}
		fmt.Fprintf(w, "| %s | %d | %v + %v | %d | %v | %v | %s |\n", way.what, len(s.Runs), load.Warmup, load.Duration, len(s.Discarded),
			s.Took.Round(time.Second), beside(s).Round(time.Millisecond), verdicts)
	}
}

// beside is the median of what runs took beside their load.
func beside(s *model.Study) time.Duration {
	var took []time.Duration
	for _, r := range s.Runs {
		if r.Counted {
			took = append(took, r.Took-s.File.Workloads[0].Duration-s.File.Workloads[0].Warmup)
		}
	}
	return kit.MedianOrZero(took)
}

// dellRows are the comparisons of any study that was made, in their order.
func dellRows(found map[string]*model.Study) []model.StudyComparison {
	for _, way := range dellWays(0) {
		if s := found[way.name]; s != nil {
			return s.Comparisons
		}
	}
	return nil
}

func comparisonOf(s *model.Study, row model.StudyComparison) (model.StudyComparison, bool) {
	if s == nil {
		return model.StudyComparison{}, false
	}
	i := slices.IndexFunc(s.Comparisons, func(c model.StudyComparison) bool { return c.Factor == row.Factor && c.Level == row.Level })
	if i < 0 {
		return model.StudyComparison{}, false
	}
	return s.Comparisons[i], true
}
