package facts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/unit"
)

const cpuDir = "/sys/devices/system/cpu/"

// readCPU reads what determines the CPUs' speed, and which cores received the packets. A virtual
// machine shows little of it.
func readCPU(_ context.Context, src kernel.Source, f *model.Facts) error {
	f.Uptime = readUptime(src)
	f.Memory = readMemory(src)
	f.CPU.Clocksource = word(src, "/sys/devices/system/clocksource/clocksource0/current_clocksource")
	f.CPU.NoTurbo = flagged(src, cpuDir+"intel_pstate/no_turbo")
	readFrequency(src, f)
	f.CPU.IdleExit = readIdle(src)
	f.CPU.Nodes = readNodes(src)
	f.CPU.Times = readTimes(src)
	b, err := src.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		f.CPU.Softnet = lost[[]model.Softnet](err)
		return nil
	}
	s, err := kernel.ParseSoftnet(b)
	if err != nil {
		f.CPU.Softnet = model.Unknown[[]model.Softnet](model.Unsupported, err.Error())
		return nil
	}
	f.CPU.Softnet = model.Known(s)
	return nil
}

// readTimes reads how each CPU spent its time.
func readTimes(src kernel.Files) model.Fact[[]model.CPUTime] {
	b, err := src.ReadFile("/proc/stat")
	if err != nil {
		return lost[[]model.CPUTime](err)
	}
	t, err := kernel.ParseStat(b)
	if err != nil {
		return model.Unknown[[]model.CPUTime](model.Unsupported, err.Error())
	}
	return model.Known(t)
}

func readUptime(src kernel.Files) model.Fact[time.Duration] {
	w := word(src, "/proc/uptime")
	if w.State != model.Present {
		return model.Unknown[time.Duration](w.State, w.Why)
	}
	first, _, _ := strings.Cut(w.Value, " ")
	s, err := strconv.ParseFloat(first, 64)
	if err != nil || !(s >= 0) || s > 1e9 {
		return model.Unknown[time.Duration](model.Unsupported, "/proc/uptime holds no time")
	}
	return model.Known(time.Duration(s) * time.Second)
}

func readMemory(src kernel.Files) model.Fact[unit.Bytes] {
	b, err := src.ReadFile("/proc/meminfo")
	if err != nil {
		return lost[unit.Bytes](err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 50)
			if err == nil && n > 0 {
				return model.Known(unit.Bytes(n) * 1024)
			}
		}
	}
	return model.Unknown[unit.Bytes](model.Unsupported, "/proc/meminfo has no MemTotal")
}

// readFrequency reads the policies of frequency scaling
// (Documentation/admin-guide/pm/cpufreq.rst).
func readFrequency(src kernel.Files, f *model.Facts) {
	names, err := src.ReadDir(cpuDir + "cpufreq")
	if err != nil {
		f.CPU.Governors = lost[[]string](err)
		return
	}
	var governors []string
	for i, policy := range numberedNames(names, "policy") {
		dir := cpuDir + "cpufreq/" + policy + "/"
		if g, ok := word(src, dir+"scaling_governor").Get(); ok && !slices.Contains(governors, g) {
			governors = append(governors, g)
		}
		limit := integer(src, dir+"scaling_max_freq")
		if n, ok := limit.Get(); ok && n < f.CPU.CapKHz.Or(1<<62) {
			f.CPU.CapKHz = limit
			// On a hybrid CPU each core's limit is compared with that core's maximum.
			f.CPU.MaxKHz = integer(src, dir+"cpuinfo_max_freq")
		}
		if i == 0 {
			f.CPU.Driver = word(src, dir+"scaling_driver")
			f.CPU.Preference = word(src, dir+"energy_performance_preference")
		}
	}
	slices.Sort(governors)
	if len(governors) > 0 {
		f.CPU.Governors = model.Known(governors)
	}
}

// readIdle is the exit latency of the deepest enabled idle state of the first CPU.
func readIdle(src kernel.Files) model.Fact[time.Duration] {
	dir := cpuDir + "cpu0/cpuidle"
	names, err := src.ReadDir(dir)
	if err != nil {
		return lost[time.Duration](err)
	}
	deepest, found := int64(0), false
	for _, state := range numberedNames(names, "state") {
		n, ok := integer(src, dir+"/"+state+"/latency").Get()
		if ok && integer(src, dir+"/"+state+"/disable").Or(0) == 0 {
			deepest, found = max(deepest, n), true
		}
	}
	if !found {
		return model.Unknown[time.Duration](model.Unsupported, "no idle state is in use")
	}
	return model.Known(time.Duration(min(deepest, 1e9)) * time.Microsecond)
}

func readNodes(src kernel.Files) model.Fact[[]model.Node] {
	const dir = "/sys/devices/system/node"
	names, err := src.ReadDir(dir)
	if err != nil {
		return lost[[]model.Node](err)
	}
	nodes := []model.Node{}
	for _, name := range numberedNames(names, "node") {
		cpus, err := kernel.ParseCPUList(word(src, dir+"/"+name+"/cpulist").Value)
		if err != nil {
			return model.Unknown[[]model.Node](model.Unsupported, fmt.Sprintf("%s: %v", name, err))
		}
		id, _ := strconv.Atoi(strings.TrimPrefix(name, "node")) // numberedNames has checked the name
		nodes = append(nodes, model.Node{ID: id, CPUs: cpus})
	}
	return model.Known(nodes)
}
