package cli

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/load/shape"
	"linerate/internal/load/tcp"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Words for CPUs and sizes of writes.
const (
	cpusAuto    = "auto"
	cpusAny     = "any"
	writeSearch = "search"
)

// setWrite reads --write.
func (f *tcpFlags) setWrite() (err error) {
	if f.write == "" || f.write == writeSearch {
		return nil
	}
	if f.writeSize, err = positive(shape.ParseSize)(f.write); err != nil || f.writeSize > unit.MiB {
		return failure.Of(failure.Usage, "--write %s: want a size up to 1 MiB, or search", f.write)
	}
	return nil
}

// tcpPlace is where the threads of a direction run.
type tcpPlace struct {
	From         string `json:"from"`
	To           string `json:"to"`
	SenderCPUs   []int  `json:"sender_cpus,omitempty"`
	ReceiverCPUs []int  `json:"receiver_cpus,omitempty"`
}

func (r *tcpResult) place(d tcpEnds) {
	if len(d.cpus[0])+len(d.cpus[1]) == 0 {
		return
	}
	r.Spec.Placed = append(r.Spec.Placed, tcpPlace{d.names[0], d.names[1], d.cpus[0], d.cpus[1]})
	for i, does := range []string{"sends", "receives"} {
		if len(d.cpus[i]) > 0 {
			r.Load.Evidence = append(r.Load.Evidence, fmt.Sprintf("%s %s on CPUs %s", d.names[i], does, cpuList(d.cpus[i])))
		}
	}
}

// zeroCopy says what became of sends without a copy.
func (r *tcpResult) zeroCopy(d tcp.Figures) {
	switch z := d.ZeroCopy; {
	case z == nil:
	case z.Sends == 0:
		r.Load.Evidence = append(r.Load.Evidence, d.From+": the kernel did not tell what became of the sends without a copy")
	case z.Copied > 0:
		r.Load.Evidence = append(r.Load.Evidence, fmt.Sprintf("%s: the kernel copied %.0f%% of the sends that asked for none, as it does on loopback, on veth and where the card cannot gather: --zerocopy only costs here", d.From, 100*float64(z.Copied)/float64(z.Sends)))
	default:
		r.Load.Evidence = append(r.Load.Evidence, fmt.Sprintf("%s: %d sends went out without a copy", d.From, z.Sends))
	}
}

// placeTCP chooses the CPUs of every end.
func placeTCP(ctx context.Context, f tcpFlags, directions []tcpEnds) ([]tcpEnds, error) {
	seen := map[*host.Client]*model.Facts{}
	for i := range directions {
		d := &directions[i]
		for k, want := range []string{f.sendCPUs, f.recvCPUs} {
			var err error
			switch want {
			case cpusAny:
			case cpusAuto:
				if seen[d.agents[k]] == nil {
					if seen[d.agents[k]], err = d.agents[k].Facts(ctx); err != nil {
						return nil, fmt.Errorf("look at %s: %w", d.names[k], err)
					}
				}
				d.cpus[k] = nearCard(seen[d.agents[k]], d.addrs[1-k])
			default:
				if d.cpus[k], err = parseCPUs(want); err != nil {
					return nil, failure.Of(failure.Usage, "%w", err)
				}
			}
		}
	}
	return directions, nil
}

// nearCard are the CPUs that this host may use near the card towards an address:
// those of its NUMA node. nil where all are, or where that is not known.
func nearCard(f *model.Facts, to netip.Addr) []int {
	route, ok := f.RouteTo(to)
	if !ok {
		return nil
	}
	for _, n := range f.NICs {
		if n.Name != route.Dev || n.LocalCPUs.State != model.Present {
			continue
		}
		var near []int
		for _, c := range n.LocalCPUs.Value {
			if slices.Contains(f.CPUs, c) {
				near = append(near, c)
			}
		}
		if len(near) < len(f.CPUs) {
			return near
		}
	}
	return nil
}

// maxCPU bounds the numbers of CPUs, as the kernel's largest configurations do.
const maxCPU = 8192

// parseCPUs reads a list as 0-3,8 (cpuset(7), "list format").
func parseCPUs(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, aerr := strconv.Atoi(first)
		b, berr := strconv.Atoi(last)
		if aerr != nil || berr != nil || a < 0 || b < a || b >= maxCPU {
			return nil, fmt.Errorf("CPUs %q: want a list as 0-3,8, auto or any", s)
		}
		for c := a; c <= b; c++ {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// cpuList writes what parseCPUs reads.
func cpuList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		k := i
		for k+1 < len(cpus) && cpus[k+1] == cpus[k]+1 {
			k++
		}
		if k > i {
			parts = append(parts, fmt.Sprintf("%d-%d", cpus[i], cpus[k]))
		} else {
			parts = append(parts, strconv.Itoa(cpus[i]))
		}
		i = k + 1
	}
	return strings.Join(parts, ",")
}

// writeTry is a size of writes that was tried.
type writeTry struct {
	Size    unit.Bytes `json:"write_bytes"`
	Goodput float64    `json:"goodput_bps"`
}

// Sizes that are searched, and for how long each is tried after a warm-up.
const (
	leastWrite = 16 * unit.KiB
	tryTime    = 2 * time.Second
	tryWarmup  = 500 * time.Millisecond
)

// searchWrite tries sizes of writes, each once, and returns the one that moved
// most.
func searchWrite(ctx context.Context, env *environment, p *progress, w model.Workload, directions []tcpEnds) (best unit.Bytes, tries []writeTry, err error) {
	w.Duration, w.Warmup = tryTime+tryWarmup, tryWarmup
	most := -1.0
	for size := leastWrite; size <= unit.MiB; size *= 2 {
		w.WriteSize = size
		p.Say("write size: run with %v", size)
		runs, err := moveTCP(ctx, env, p, w, directions)
		if err != nil {
			return 0, nil, err
		}
		t := writeTry{Size: size}
		for _, r := range runs {
			t.Goodput += float64(r.Goodput)
		}
		tries = append(tries, t)
		if t.Goodput > most {
			best, most = size, t.Goodput
		}
	}
	return best, tries, nil
}

// searched says what the search found, and how little one try each tells.
func (r *tcpResult) searched(tries []writeTry) {
	if len(tries) == 0 {
		return
	}
	r.Spec.Tried = tries
	var parts []string
	for _, t := range tries {
		parts = append(parts, fmt.Sprintf("%v: %v", t.Size, unit.BitRate(t.Goodput)))
	}
	r.Load.Evidence = append(r.Load.Evidence, fmt.Sprintf("writes of %v moved most (%s; one try of %v each, so that small differences are chance)", r.Spec.Write, strings.Join(parts, ", "), tryTime))
}
