package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
)

// core is what one core did in a run.
type core struct {
	panel document.Panel
	busy  float64
}

// maxCores is the most cores drawn per host: the busiest.
const maxCores = 16

// processors shows each host's cores over the measured part of the run, and the
// threads at the ends of its connections.
func processors(run model.Run, samples map[string][]model.Sample, facts map[string]*model.Facts) (figures []document.Figure, threads document.Table) {
	threads = document.Table{Caption: "Threads at the ends of the connections, share of wall time", Head: document.Columns("Host", "Thread", "#On a CPU", "#Waiting for one")}
	for i, host := range sorted(samples) {
		e := end{host, samples[host]}.after(run.Workload.Warmup)
		if len(e.samples) < 2 {
			continue
		}
		first, last := e.samples[0], e.samples[len(e.samples)-1]
		threads.Rows = append(threads.Rows, tasks(host, first, last)...)
		cores := cores(i, host, first, last, facts[host])
		if len(cores) == 0 {
			continue
		}
		f := document.Figure{Caption: host, Rows: true, Note: fmt.Sprintf("Mean over %s, n = %d samples.", duration(last.At-first.At), len(e.samples)),
			Legend: []document.Legend{legend("p3", "user", ""), legend("p1", "system", ""), legend("p2", "softirq", ""), legend("p5", "irq and stolen", "")}}
		if shared(host, samples, facts) {
			f.Note += " Scope: machine. The hosts share one kernel, so a core's time includes everything else on this machine."
		}
		if len(cores) > maxCores {
			f.Note += fmt.Sprintf(" The %d busiest of %d cores.", maxCores, len(cores))
			cores = cores[:maxCores]
		}
		for _, c := range cores {
			f.Panels = append(f.Panels, c.panel)
		}
		figures = append(figures, f)
	}
	return figures, threads
}

// shared tells whether another host of the run has the same kernel.
func shared(host string, samples map[string][]model.Sample, facts map[string]*model.Facts) bool {
	mine := facts[host]
	if mine == nil || mine.BootID == "" {
		return false
	}
	for other := range samples {
		if f := facts[other]; other != host && f != nil && f.BootID == mine.BootID {
			return true
		}
	}
	return false
}

func cores(n int, host string, first, last model.Sample, facts *model.Facts) []core {
	before := map[int]model.CPUTime{}
	for _, c := range first.CPUs {
		before[c.CPU] = c
	}
	var out []core
	for _, now := range last.CPUs {
		was, ok := before[now.CPU]
		if !ok || facts != nil && len(facts.CPUs) > 0 && !slices.Contains(facts.CPUs, now.CPU) {
			continue
		}
		if c, ok := coreOf(fmt.Sprintf("cpu-%d-%d", n, now.CPU), host, was, now); ok {
			out = append(out, c)
		}
	}
	if len(out) > maxCores {
		slices.SortStableFunc(out, func(a, b core) int { return cmp.Compare(b.busy, a.busy) })
	}
	return out
}

// coreOf turns the difference of two readings into shares of the core's time.
func coreOf(id, host string, was, now model.CPUTime) (core, bool) {
	d := func(a, b time.Duration) float64 { return float64(max(0, b-a)) }
	user, system := d(was.User, now.User), d(was.System, now.System)
	soft, hard := d(was.SoftIRQ, now.SoftIRQ), d(was.IRQ, now.IRQ)+d(was.Steal, now.Steal)
	idle := d(was.Idle, now.Idle) + d(was.IOWait, now.IOWait)
	all := user + system + soft + hard + idle
	if all <= 0 {
		return core{}, false
	}
	name := fmt.Sprintf("CPU %d", now.CPU)
	parts := []chart.Part{{Name: "user", Class: "p3", Share: user / all}, {Name: "system", Class: "p1", Share: system / all},
		{Name: "softirq", Class: "p2", Share: soft / all}, {Name: "irq and stolen", Class: "p5", Share: hard / all}}
	busy := 1 - idle/all
	fig := stackFigure(id, name+" of "+host+": share of time by kind", parts)
	fig.Panels[0].Title = name + ", " + shareText(busy)
	return core{fig.Panels[0], busy}, true
}

// tasks are the threads of a host at the ends of the run's connections.
func tasks(host string, first, last model.Sample) [][]document.Entry {
	before := map[int]model.Task{}
	for _, t := range first.Tasks {
		before[t.TID] = t
	}
	wall := float64(last.At - first.At)
	var out [][]document.Entry
	for _, now := range last.Tasks {
		was, ok := before[now.TID]
		cpu, wait := float64(now.CPU-was.CPU), float64(now.Wait-was.Wait)
		if !ok || wall <= 0 || cpu < 0 || wait < 0 || cpu+wait < wall/1000 {
			continue
		}
		out = append(out, []document.Entry{{Text: host}, {Text: now.Name, Sub: fmt.Sprintf("thread %d, last on CPU %d", now.TID, now.Core)},
			{Text: shareText(cpu / wall)}, {Text: shareText(wait / wall)}})
	}
	return out
}
