package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
)

// condition is one thing that holds while a copy runs, and the limiters that
// are right to name then. The link is the server's way out: the client sees it
// as the network.
type condition struct {
	name   string
	link   link
	rmem   string // of the client; empty is the kernel's default
	copies bool
	// readAheadKB of the mount; 0 is the kernel's 128 KiB.
	readAheadKB int
	appRate     int64 // bytes/s that the application takes; 0 is unlimited
	disk        int64 // bytes/s that the server's disk gives; 0 is the speed of memory
	// atMost is the goodput in bit/s above which the condition cannot have held.
	atMost float64
	path   string
	right  []model.LimiterID // empty: an error line is right
}

// deep is a read-ahead that keeps the path busy, in KiB: what is advised for
// NFS since Linux 5.4 reads no more than 128 KiB ahead.
const deep = 4096

// conditions is the list; a new one is a new line.
func conditions() []condition {
	gigabit := link{Rate: 1000 * megabit, Delay: time.Millisecond, Queue: 1000, Segments: 44}
	with := func(f func(*link)) link { l := gigabit; f(&l); return l }
	return []condition{
		{name: "plain", copies: true, path: nas, readAheadKB: deep, link: link{Queue: 1000, Segments: 44},
			right: []model.LimiterID{model.None, model.SenderCPU, model.ReceiverCPU, model.PacketCost, model.NFSConcurrency, model.ServerTime}},
		{name: "link-300", copies: true, atMost: 300 * megabit, path: nas, readAheadKB: deep,
			link:  with(func(l *link) { l.Rate, l.Queue = 300*megabit, 300 }),
			right: []model.LimiterID{model.LinkRate, model.None}},
		{name: "window", copies: true, atMost: 100 * megabit, path: nas, readAheadKB: deep, rmem: "4096 131072 262144",
			link:  with(func(l *link) { l.Delay = 10 * time.Millisecond }),
			right: []model.LimiterID{model.ReceiverWindow}},
		{name: "loss", copies: true, atMost: 80 * megabit, path: nas, readAheadKB: deep,
			link:  with(func(l *link) { l.Loss, l.Segments = 1, 1; l.Delay = 5 * time.Millisecond }),
			right: []model.LimiterID{model.PathLoss}},
		{name: "readahead", copies: true, atMost: 220 * megabit, path: nas,
			link:  with(func(l *link) { l.Delay = 20 * time.Millisecond }),
			right: []model.LimiterID{model.NFSConcurrency}},
		{name: "slow-disk", copies: true, atMost: 90 * megabit, path: nas, readAheadKB: deep, link: gigabit, disk: 10e6,
			right: []model.LimiterID{model.ServerTime}},
		{name: "slow-reader", copies: true, atMost: 40 * megabit, path: nas, readAheadKB: deep, appRate: 4e6,
			link:  with(func(l *link) { l.Rate, l.Queue = 300*megabit, 300 }),
			right: []model.LimiterID{model.ApplicationSink, model.ApplicationSource}},
		{name: "idle", path: nas, link: gigabit},
		{name: "local", path: "/mnt/local", link: gigabit},
		{name: "not-there", path: "/mnt/nowhere", link: gigabit},
	}
}

// check tells when the condition was not in force: then explain is not to
// blame, and not to be praised.
func (r *row) check() {
	if r.atMost > 0 && r.copied > r.atMost {
		r.problem = fmt.Sprintf("the copy ran at %s: the condition did not hold", rate(r.copied))
	}
}

// row is one line of the table.
type row struct {
	condition
	uid     int
	copied  float64 // bit/s
	took    time.Duration
	said    string
	problem string // why what explain did is not right; empty: it is
}

// judge reads what explain printed. Where an error is right it has to be one
// line, below what told of progress, with an exit code that is not 0.
func (r *row) judge(res runResult, stdout, stderr []byte) {
	r.took = res.Took
	if len(r.right) == 0 || res.Exit != 0 {
		last := lastLine(stderr)
		r.said = fmt.Sprintf("exit %d: %s", res.Exit, last)
		switch {
		case len(r.right) > 0:
			r.problem = "no verdict"
		case res.Exit == 0:
			r.problem = "exit 0, want an error"
		case !strings.HasPrefix(last, "linerate: "):
			r.problem = "the last line does not say what is wrong"
		}
		return
	}
	var o model.Outcome
	if err := json.Unmarshal(stdout, &o); err != nil {
		r.problem = fmt.Sprintf("print JSON: %v", err)
		return
	}
	r.said = describe(o.Verdict)
	if !slices.Contains(r.right, o.Verdict.Limiter) {
		r.problem = fmt.Sprintf("named %s, want %v", o.Verdict.Limiter, r.right)
	}
}

func lastLine(b []byte) string {
	b = bytes.TrimSpace(b)
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}

func describe(v model.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s", v.Limiter, v.Where)
	if v.ShareOfCeiling != nil {
		fmt.Fprintf(&b, ", %.0f%% of the ceiling", *v.ShareOfCeiling*100)
	}
	fmt.Fprintf(&b, ", measured %.1f Mbit/s, confidence %.2f", float64(v.Measured)/megabit, v.Confidence)
	for i, a := range v.Alternatives {
		fmt.Fprintf(&b, "%s%s", map[bool]string{true: "; or ", false: ", "}[i == 0], a.Limiter)
	}
	return b.String()
}

func (r *row) print(w io.Writer) {
	mark := "right"
	if r.problem != "" {
		mark = "WRONG"
	}
	fmt.Fprintf(w, "%-12s %5d %9s  %-5s %5.1f  %s\n", r.name, r.uid, rate(r.copied), mark, r.took.Seconds(), r.said)
	if r.problem != "" {
		fmt.Fprintf(w, "%30s  %s\n", "", r.problem)
	}
}

func rate(bps float64) string {
	if bps == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f Mb/s", bps/megabit)
}
