package fault

import (
	"fmt"
	"slices"

	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Catalogue lists every fault, in the order of the documentation.
func Catalogue() []Fault {
	all := slices.Concat(pathFaults(), hostFaults(), ofApplications(applicationFaults()), storageFaults())
	for i := range all {
		complete(&all[i])
	}
	return all
}

// complete fills in the fields that follow from others. A fault of TCP shows in any workload
// and on any host that carries traffic. The kind of fix is that of the limiter's row in the
// vocabulary, unless the fault states its own.
func complete(f *Fault) {
	if f.Workloads == nil {
		f.Workloads = []string{"tcp"}
	}
	if f.HostKinds == nil {
		f.HostKinds = []topology.Kind{topology.Namespace, topology.Kernel}
	}
	if f.Road == "" {
		f.Road = LongRoad
	}
	if f.FixKind != "" {
		return
	}
	for _, l := range model.Limiters() {
		if l.ID == f.Limiter {
			f.FixKind = l.Fix
		}
	}
}

// Texts of severities.

func percentText(v float64) string { return unit.PercentDigits(v, 4) }

func shareText(v float64) string { return percentText(v) + " of the rate" }

func mtuText(v float64) string { return percentText(v) + " of the hosts' MTU" }

func mtuBytesText(v float64) string { return fmt.Sprintf("MTU %.0f", v) }

func rateText(v float64) string { return unit.BitRate(v).String() }

func bytesText(v float64) string { return unit.Bytes(v).String() }

func delayText(v float64) string { return fmt.Sprintf("±%.3g ms", v*1000) }

func offloadText(v float64) string {
	return map[float64]string{1: "gro of the receiver", 2: "tso and gso of the sender", 3: "both"}[v]
}

// squeezeText is the share of the CPU that a task of nice 19 gets beside
// squeezers tasks of nice v (the weights of kernel/sched/core.c).
func squeezeText(v float64) string {
	weight := map[float64]float64{10: 110, 5: 335, 0: 1024}[v]
	return fmt.Sprintf("about %.2g%% of a CPU is left", 100*15/(15+squeezers*weight))
}
