//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/unit"
)

// Runs are of a second at most: what a window lets through is known at once.
const wanStudy = `v: 1
name: wan
question: what do so many streams of such a window carry over 16 ms?
source: Caltech, 1 to 16 streams over a wide area
hosts: {client: lab:client1, server: lab:server1}
factors:
  - name: streams
    levels:
      - {name: "2", workload: {streams: 2}}
      - {name: "4", workload: {streams: 4}}
      - {name: "8", workload: {streams: 8}}
      - {name: "16", workload: {streams: 16}}
  - name: window
    levels:
      - {name: 256KiB, workload: {recv_buffer: 256KiB}}
workloads:
  - {name: bulk, senders: [client], receivers: [server], streams: 1, recv_buffer: 64KiB, seconds: 0.6, warmup: 400ms}
primary: bulk
protocol: {name: linerate, design: factorial, looks: [8], aa: 2}
`

// wan holds what came out against streams × window / RTT: the windows that the
// senders saw advertised, and the smallest round trip that they timed.
func (b bench) wan(ctx context.Context, w io.Writer) error {
	var s *model.Study
	var samples store.Samples
	err := b.inLab(ctx, "wan-16ms", func() (err error) {
		s, samples, err = b.study(ctx, "wan", wanStudy)
		return err
	})
	if err != nil {
		return err
	}
	type cell struct{ measured, predicted []float64 }
	cells := map[string]*cell{}
	for _, r := range s.Runs {
		if !r.Counted || r.Value == nil || r.Stage == "a/a" {
			continue
		}
		name := fmt.Sprintf("%2s streams × %s", cmp.Or(r.Levels["streams"], "1"), cmp.Or(r.Levels["window"], "64KiB"))
		if cells[name] == nil {
			cells[name] = &cell{}
		}
		if p := windowOverRTT(samples[r.Label]["lab:client1"]); p > 0 {
			cells[name].measured, cells[name].predicted = append(cells[name].measured, *r.Value), append(cells[name].predicted, p)
		}
	}
	fmt.Fprintf(w, "| streams × buffer | n | window / RTT | measured | measured over predicted | range |\n|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		c := cells[name]
		var ratios []float64
		for i := range c.measured {
			ratios = append(ratios, c.measured[i]/c.predicted[i])
		}
		fmt.Fprintf(w, "| %s | %d | %v | %v | %.3f | %.3f-%.3f |\n", name, len(ratios), unit.BitRate(median(c.predicted)), unit.BitRate(median(c.measured)),
			median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	return nil
}

// windowOverRTT is what the connections of the last sample may carry together.
func windowOverRTT(samples []model.Sample) float64 {
	sum := 0.0
	if len(samples) == 0 {
		return 0
	}
	for _, c := range samples[len(samples)-1].Conns {
		if c.MinRTT > 0 && c.MinRTT < time.Minute && c.BytesAcked > c.BytesReceived {
			sum += float64(c.SndWnd) * 8 / c.MinRTT.Seconds()
		}
	}
	return sum
}

const clientsStudy = `v: 1
name: clients
question: how does one server serve one to five clients?
source: SFC, figure of the scaling over clients
hosts: {c1: lab:client1, c2: lab:client2, c3: lab:client3, c4: lab:client4, c5: lab:client5, server: lab:server1}
factors:
  - name: clients
    levels:
      - {name: "2", workload: {clients: 2}}
      - {name: "3", workload: {clients: 3}}
      - {name: "4", workload: {clients: 4}}
      - {name: "5", workload: {clients: 5}}
workloads:
  - {name: read, senders: [server], receivers: [c1, c2, c3, c4, c5], clients: 1, rate: 200Mbit, seconds: 0.8, warmup: 400ms}
primary: read
protocol: {name: linerate, design: one-at-a-time, looks: [8], aa: 2}
`

// clients takes 200 Mbit/s each, so that the server and its link have room for all:
// what is asked is whether several begin together, and are counted one by one.
func (b bench) clients(ctx context.Context, w io.Writer) error {
	var s *model.Study
	err := b.inLab(ctx, "cluster", func() (err error) {
		s, _, err = b.study(ctx, "clients", clientsStudy)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| clients | n | together | over one client | 95%% interval | least and most of one client |\n|---|---|---|---|---|---|\n")
	for _, c := range s.Comparisons {
		low, high := spread(s.Runs, c.Level)
		fmt.Fprintf(w, "| %s | %d | %v | %s | %s | %v, %v |\n", c.Level, c.N, unit.BitRate(c.Treated), number(c.Ratio), interval(c), unit.BitRate(low), unit.BitRate(high))
	}
	return nil
}

// spread is the least and the most that a client of a level got in any run.
func spread(runs []model.StudyRun, level string) (low, high float64) {
	for _, r := range runs {
		if r.Level != level || !r.Counted {
			continue
		}
		for _, v := range r.PerClient {
			if low == 0 || v < low {
				low = v
			}
			high = max(high, v)
		}
	}
	return low, high
}

// dellStudy is DELL's list on the network alone. What each is worth here is not
// what it was on their hosts: the long reference tells.
const dellStudy = `v: 1
name: NAME
question: which of DELL's settings pay here?
source: Dell BP1057 (2013), tables 4 and 5
hosts: {client: lab:client1, server: lab:server1}
baseline:
  - {name: jumbo, set: {client: {linux.link.mtu: 9000}, server: {linux.link.mtu: 9000}}}
factors:
  - {name: one-core, levels: [{name: rss-off, set: {client: {linux.queue.rps_cpus: "1"}}}]}
  - {name: window-autotuning, levels: [{name: "off", set: {client: {linux.sysctl.net.ipv4.tcp_moderate_rcvbuf: "0"}}}]}
  - {name: nagle, levels: [{name: "off", set: {server: {linux.sysctl.net.ipv4.tcp_autocorking: "0"}}}]}
  - {name: send-offload, levels: [{name: "off", set: {server: {linux.ethtool.features: tx-tcp-segmentation=off tx-generic-segmentation=off}}}]}
workloads:
  - {name: read, senders: [server], receivers: [client], streams: 1, seconds: 0.8, warmup: 400ms}
primary: read
PROTOCOL
`

// dell makes the same sequence by both protocols, with runs of one length.
func (b bench) dell(ctx context.Context, w io.Writer) error {
	protocols := []struct{ name, text string }{
		{"paper", "protocol: {name: paper, design: sequence}"},
		{"linerate", "protocol: {name: linerate, design: sequence, looks: [8], aa: 2}"},
	}
	found := map[string]*model.Study{}
	err := b.inLab(ctx, "demo", func() error {
		for _, p := range protocols {
			text := strings.NewReplacer("NAME", p.name, "PROTOCOL", p.text).Replace(dellStudy)
			s, _, err := b.study(ctx, p.name, text)
			if err != nil {
				return err
			}
			found[p.name] = s
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| factor | paper: ratio, conclusion | linerate: ratio, 95%% interval, conclusion |\n|---|---|---|\n")
	for _, ours := range found["linerate"].Comparisons {
		theirs := "–"
		for _, c := range found["paper"].Comparisons {
			if c.Factor == ours.Factor && c.Level == ours.Level {
				theirs = number(c.Ratio) + ", " + c.Conclusion
			}
		}
		fmt.Fprintf(w, "| %s %s | %s | %s, %s, %s |\n", ours.Factor, ours.Level, theirs, number(ours.Ratio), interval(ours), ours.Conclusion)
	}
	for _, p := range protocols {
		s := found[p.name]
		fmt.Fprintf(w, "\n%s: %d runs of 1.2 s in %v, %d groups discarded, A/A and reference included.\n", p.name, len(s.Runs), s.Took.Round(time.Second), len(s.Discarded))
	}
	return nil
}

func number(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 3, 64)
}

func interval(c model.StudyComparison) string {
	if c.CILow == nil && c.CIHigh == nil {
		return "–"
	}
	return number(c.CILow) + "-" + number(c.CIHigh)
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
