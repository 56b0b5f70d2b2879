package studytest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Frames is a study of two streams of video that a client plays from a filer, with
// and without jumbo frames: those let each frame of the video come sooner, and one
// run without them drops some.
func Frames() Example {
	rng := rand.New(rand.NewPCG(9, 1))
	w := model.StudyWorkload{Name: "playout", Kind: "frames", Hosts: []string{"client1"}, Path: "/mnt/nas", Format: "hd-yuv10", FPS: "50", Streams: 2, Buffer: 4, Play: true, Direct: true, Duration: 5 * time.Second}
	s := &model.Study{V: model.StudyVersion, Name: "playout", Question: "Do jumbo frames help the players?", Protocol: "linerate", Primary: "playout", Started: start,
		Restored: true, Complete: true, Ended: "every planned look was made", File: model.StudyFile{V: 1, Name: "playout", Hosts: map[string]string{"client1": "client1", "filer": "filer"}, Primary: "playout",
			Factors:   []model.StudyFactor{{Name: "jumbo", Levels: []model.StudyLevel{{Name: "9000", Set: []model.StudySetting{{Host: "client1", Setting: "linux.link.mtu", Target: "eth0", Value: "9000"}}}}}},
			Workloads: []model.StudyWorkload{w}, Protocol: model.StudyProtocol{Name: "linerate", Design: "one-at-a-time", Alpha: 0.045, Margin: 1.02, Looks: []int{8}, Seed: 2}}}
	m := &maker{rng: rng, s: s, protocol: "linerate"}
	for block := 1; block <= 8; block++ {
		m.played(block, effect{}, 3.1e9, block == 5)
		m.played(block, effect{factor: "jumbo", level: "9000"}, 3.8e9, false)
	}
	ratio := 3.8 / 3.1
	s.Comparisons = []model.StudyComparison{{Factor: "jumbo", Level: "9000", Workload: "playout", Primary: true, N: 8, Made: 16, Unit: "bit/s", Baseline: 3.1e9, Treated: 3.8e9,
		Ratio: &ratio, CILow: of(1.2), CIHigh: of(1.25), P: of(0.0078), PHolm: of(0.0078), Effective: of(true), Conclusion: model.StudyGain}}
	s.Took = m.at
	r := &model.Results{Outcome: model.Outcome{V: 1, Restored: true}, Command: "study run playout.yaml", Started: start, Took: s.Took, Build: "v0.3.0 (67a79e4)", Topology: "filer ── 10 Gbit/s ── client1", Study: s, Hosts: []string{"client1"}}
	return Example{r, nil, nil}
}

// played is a run of 250 frames; with drops, ten of them stall.
func (m *maker) played(block int, e effect, mean float64, drops bool) {
	m.n++
	r := model.StudyRun{N: m.n, Label: fmt.Sprintf("run %d", m.n), Stage: "compare", Block: block, Factor: e.factor, Level: e.level, Workload: "playout", Started: start.Add(m.at), Took: 14 * time.Second,
		Unit: "bit/s", Counted: true, FramesEach: 1, P50: 14 * time.Millisecond, P99: 21 * time.Millisecond, Max: 30 * time.Millisecond}
	for k := range 250 {
		v := mean * (1 + 0.04*m.rng.NormFloat64())
		if drops && k >= 120 && k < 130 {
			v = 0
		}
		r.PerFrame = append(r.PerFrame, v)
	}
	if drops {
		r.Warnings = []model.Warning{{ID: "frames-dropped", What: "10 of 500 frames were not in time on client1, 0 of them failed",
			Evidence: "the streams ask for " + (unit.BitRate(2 * 50 * 8 * 5529600)).String(), Next: "linerate load frames finds how many streams it sustains"}}
	}
	r.Value = of(mean * (1 + 0.01*m.rng.NormFloat64()))
	m.at += r.Took
	m.s.Runs = append(m.s.Runs, r)
}
