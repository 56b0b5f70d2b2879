package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/size"
	"linerate/internal/unit"
)

func nfsSlots() Rule {
	return Rule{
		ID:     "nfs-slots",
		Limits: []model.LimiterID{model.NFSConcurrency},
		Doc:    "A mount has at most as many requests outstanding as slots: it can move at most slots × size / RTT.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				slots, name := int64(0), ""
				if vers := o["vers"]; vers == "4.1" || vers == "4.2" {
					v, _ := setting(f, "linux.module.nfs.max_session_slots")
					slots, name = decimal(v), "nfs.max_session_slots"
				} else {
					v, _ := setting(f, "linux.sysctl.sunrpc.tcp_max_slot_table_entries")
					slots, name = decimal(v)*max(1, o.number("nconnect")), "sunrpc.tcp_max_slot_table_entries × connections"
				}
				transfer := max(o.number("rsize"), o.number("wsize"))
				rtt, ok := m.MinRTT.Get()
				if !isNFS(m) || m.Proto != "tcp" || !ok || rtt <= 0 || slots <= 0 || transfer <= 0 {
					return nil
				}
				bound := perRTT(size.SlotsInFlight(slots, unit.Bytes(transfer)), rtt)
				if *bound >= pathSpeed(f, c, m) {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: m.Point + " has too few slots for this path", Bound: bound,
					Observed: fmt.Sprintf("%s: %s = %d, requests of %s: %d × %s / %v (the current setting; a mount keeps the value from when it was mounted)", m.Point, name, slots, unit.Bytes(transfer), slots, unit.Bytes(transfer), rtt),
					Fix:      "raise " + name + " on the client (and the slots the server offers), and mount again; larger rsize and wsize do the same",
					Source:   "RFC 8881 section 2.10.6; Documentation/admin-guide/kernel-parameters.txt (nfs.max_session_slots)",
				}
			})
		},
	}
}
