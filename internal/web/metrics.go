package web

import (
	"github.com/prometheus/client_golang/prometheus"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// collector gives the newest pictures to Prometheus. A path that is stale or lost keeps its time of
// observation and has no goodput: an old value would look like a new one.
type collector struct{ v *View }

// The metrics, by OpenMetrics' rules: base units, and one label for what a family is about.
var (
	build      = describe("linerate_build_info", "The program that made these metrics; always 1.", "build")
	goodput    = describe("linerate_path_goodput_bytes_per_second", "Payload that the path carries, over the window of its verdict.", "path")
	ceiling    = describe("linerate_path_ceiling_bytes_per_second", "Payload that the path could carry, where that is known.", "path")
	limiter    = describe("linerate_path_limiter", "1 for what is shown to hold the path back, 0 for all else; none is a path at its ceiling.", "path", "limiter")
	state      = describe("linerate_path_state", "1 for the state that the path is shown in, 0 for the others.", "path", "state")
	confidence = describe("linerate_path_verdict_confidence_ratio", "Confidence of the last window's verdict, where one was made.", "path")
	changes    = describe("linerate_path_verdict_changes_total", "How often another state or limiter was shown than before.", "path")
	observed   = describe("linerate_path_observed_timestamp_seconds", "When the oldest of the newest samples of the path's hosts came in.", "path")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{build, goodput, ceiling, limiter, state, confidence, changes, observed, busy, limited, cpuTime, pauses, nicErrors, hostInfo, dropped, queueBytes, queueDrops, queueWaits, received, receiveDrops, squeezed} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(build, 1, c.v.build)
	for _, p := range c.v.last {
		if p.Shown.State != watch.Stale && p.Shown.State != watch.Lost {
			gauge(goodput, float64(p.Goodput)/8, p.Path)
		}
		if p.Ceiling != nil {
			gauge(ceiling, float64(*p.Ceiling)/8, p.Path)
		}
		if p.Verdict.Limiter != "" {
			gauge(confidence, p.Verdict.Confidence, p.Path)
		}
		for _, l := range model.Limiters() {
			gauge(limiter, one(p.Shown.State == watch.Moving && p.Shown.Limiter == l.ID), p.Path, string(l.ID))
		}
		for _, s := range watch.States() {
			gauge(state, one(p.Shown.State == s), p.Path, string(s))
		}
		out <- prometheus.MustNewConstMetric(changes, prometheus.CounterValue, c.v.changes[p.Path], p.Path)
		c.v.waits[p.Path].collect(p.Path, out)
		if t := heard(p.Hosts); t > 0 {
			gauge(observed, t, p.Path)
		}
	}
	c.hosts(out)
}

// heard is the time of the newest sample of the host whose newest sample is the oldest; 0 if a
// host has sent none.
func heard(hosts []watch.Host) (oldest float64) {
	for i, h := range hosts {
		if h.Heard.IsZero() {
			return 0
		}
		if t := float64(h.Heard.UnixNano()) / 1e9; i == 0 || t < oldest {
			oldest = t
		}
	}
	return oldest
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
