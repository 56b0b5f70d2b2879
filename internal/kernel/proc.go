package kernel

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"linerate/internal/model"
)

// Tick is the unit of the times in /proc/stat: USER_HZ, which is 100 on every
// architecture that linerate is built for (proc(5), asm-generic/param.h).
const Tick = 10 * time.Millisecond

// ParseStat reads the per-core lines of /proc/stat. A file without one is an error.
func ParseStat(b []byte) ([]model.CPUTime, error) {
	var cpus []model.CPUTime
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break // the CPU lines come first
		}
		f := strings.Fields(string(line))
		if f[0] == "cpu" {
			continue // the sum of all
		}
		cpu, err := strconv.Atoi(strings.TrimPrefix(f[0], "cpu"))
		if err != nil || len(f) < 9 {
			return nil, fmt.Errorf("parse /proc/stat line %q: want cpuN and at least 8 numbers", strings.TrimSpace(string(line)))
		}
		t, err := ticks(f[1:9])
		if err != nil {
			return nil, fmt.Errorf("parse /proc/stat: %w", err)
		}
		cpus = append(cpus, model.CPUTime{
			CPU: cpu, User: t[0] + t[1], System: t[2], Idle: t[3], IOWait: t[4], IRQ: t[5], SoftIRQ: t[6], Steal: t[7],
		})
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("parse /proc/stat: no line cpuN")
	}
	return cpus, nil
}

func ticks(fields []string) ([8]time.Duration, error) {
	var t [8]time.Duration
	for i, s := range fields {
		n, err := number(s)
		if err != nil {
			return t, err
		}
		t[i] = scaled(n, Tick)
	}
	return t, nil
}

// number reads a cumulative counter. One past the int64 range, or a negative one, is an error.
func number(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("counter %q: want a number of at most 63 bits", s)
	}
	return n, nil
}

// scaled multiplies without overflow.
func scaled(n int64, unit time.Duration) time.Duration {
	const most = int64(1<<63 - 1)
	if n > most/int64(unit) {
		return time.Duration(most)
	}
	return time.Duration(n) * unit
}

// ParseSoftnet reads /proc/net/softnet_stat: hexadecimal columns, one line
// per core that is on. Since Linux 5.10 column 13 is the core's number; before, lines are
// counted (net/core/net-procfs.c).
func ParseSoftnet(b []byte) ([]model.Softnet, error) {
	var out []model.Softnet
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) < 3 {
			return nil, fmt.Errorf("parse softnet_stat: line %d has %d columns, want at least 3", len(out)+1, len(f))
		}
		s := model.Softnet{CPU: len(out)}
		for i, to := range map[int]*int64{0: &s.Processed, 1: &s.Dropped, 2: &s.Squeezed} {
			v, err := strconv.ParseUint(f[i], 16, 32)
			if err != nil {
				return nil, fmt.Errorf("parse softnet_stat column %d: %w", i+1, err)
			}
			*to = int64(v)
		}
		if len(f) > 12 {
			cpu, err := strconv.ParseUint(f[12], 16, 31)
			if err != nil {
				return nil, fmt.Errorf("parse softnet_stat column 13: %w", err)
			}
			s.CPU = int(cpu)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("parse softnet_stat: it is empty")
	}
	return out, nil
}

// ParseSchedstat reads /proc/PID/task/TID/schedstat: time on a CPU and time
// spent runnable, waiting for one (Documentation/scheduler/sched-stats.rst).
func ParseSchedstat(b []byte) (cpu, wait time.Duration, err error) {
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, 0, fmt.Errorf("parse schedstat: %d numbers, want 3", len(f))
	}
	on, err := number(f[0])
	if err != nil {
		return 0, 0, fmt.Errorf("parse schedstat: %w", err)
	}
	off, err := number(f[1])
	if err != nil {
		return 0, 0, fmt.Errorf("parse schedstat: %w", err)
	}
	return time.Duration(on), time.Duration(off), nil
}

// TaskStat is the part of /proc/PID/stat that linerate uses.
type TaskStat struct {
	State  string // the kernel's letter, as proc(5) has them
	Name   string
	Core   int           // where it ran last
	CPU    time.Duration // user and system, in ticks: for kernels without schedstat
	Kernel bool          // a thread of the kernel, which holds no files
	Ended  bool          // only its exit status is left of it
}

// kernelThread is PF_KTHREAD of include/linux/sched.h, in field 9 (flags).
const kernelThread = 0x00200000

// ParseTaskStat reads /proc/PID/task/TID/stat. The name stands in parentheses
// and may hold any character, parentheses and spaces included.
func ParseTaskStat(b []byte) (TaskStat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return TaskStat{}, fmt.Errorf("parse task stat: no name in parentheses")
	}
	// Field 3 (state) is the first after the name: f[i] is field i+3.
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 37 {
		return TaskStat{}, fmt.Errorf("parse task stat: %d fields after the name, want at least 37", len(f))
	}
	core, err := strconv.Atoi(f[36])
	if err != nil || core < 0 {
		return TaskStat{}, fmt.Errorf("parse task stat: field 39 is %q, want a CPU number", f[36])
	}
	flags, err := strconv.ParseUint(f[6], 10, 32)
	if err != nil {
		return TaskStat{}, fmt.Errorf("parse task stat: field 9 is %q, want flags", f[6])
	}
	t := TaskStat{Name: string(b[open+1 : end]), Core: core, Kernel: flags&kernelThread != 0, State: f[0], Ended: f[0] == "Z" || f[0] == "X"}
	for _, i := range []int{11, 12} { // utime, stime
		n, err := number(f[i])
		if err != nil {
			return TaskStat{}, fmt.Errorf("parse task stat: %w", err)
		}
		t.CPU += min(scaled(n, Tick), time.Duration(1<<62)) // the sum of two of them must not overflow
	}
	return t, nil
}

// ParseSocketLink reads the target of a /proc/PID/fd link: "socket:[123]".
func ParseSocketLink(target string) (inode uint32, ok bool) {
	s, ok := strings.CutPrefix(target, "socket:[")
	if !ok {
		return 0, false
	}
	s, ok = strings.CutSuffix(s, "]")
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), ok && err == nil
}

// MaxCPUs is the largest number of CPUs that a list may name.
const MaxCPUs = 1 << 16

// ParseCPUList reads "0-3,8" into CPU numbers. An empty text is an empty list.
func ParseCPUList(s string) ([]int, error) {
	var out []int
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		a, err1 := strconv.ParseUint(lo, 10, 31)
		b, err2 := strconv.ParseUint(hi, 10, 31)
		if err1 != nil || err2 != nil || b < a || b >= MaxCPUs || len(out) > MaxCPUs {
			return nil, fmt.Errorf("parse CPU list %q: want numbers and ranges such as 0-3,8", s)
		}
		for cpu := a; cpu <= b; cpu++ {
			out = append(out, int(cpu))
		}
	}
	return out, nil
}
