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
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
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
	err := b.Lab(ctx, []string{"wan-16ms"}, func(lab.Status) (err error) {
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
	kit.Head(w, "streams × buffer", "n", "window / RTT", "measured", "measured over predicted", "range")
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		c := cells[name]
		var ratios []float64
		for i := range c.measured {
			ratios = append(ratios, c.measured[i]/c.predicted[i])
		}
		fmt.Fprintf(w, "| %s | %d | %v | %v | %.3f | %.3f-%.3f |\n", name, len(ratios), unit.BitRate(kit.MedianOrZero(c.predicted)), unit.BitRate(kit.MedianOrZero(c.measured)),
			kit.MedianOrZero(ratios), slices.Min(ratios), slices.Max(ratios))
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

func number(v *float64) string {
	if v == nil {
		return kit.None
	}
	return strconv.FormatFloat(*v, 'f', 3, 64)
}

func interval(c model.StudyComparison) string {
	if c.CILow == nil && c.CIHigh == nil {
		return kit.None
	}
	return number(c.CILow) + "-" + number(c.CIHigh)
}
