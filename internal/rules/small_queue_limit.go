package rules

import (
	"fmt"
	"strconv"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// The bound is the lowest value that was ever a default, 128 KiB. The severity is Info, since
// the limit costs only with drivers that report late what they have sent.
func smallQueues() Rule {
	return Rule{
		ID:  "small-queue-limit",
		Doc: "A low limit on the bytes that one socket may have in the transmit queue leaves a NIC idle if its driver reports completed transmissions late.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			v, ok := sysctl(f, "tcp_limit_output_bytes")
			n, err := strconv.ParseInt(v, 10, 64)
			if !ok || err != nil || n <= 0 || n >= 131072 || fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "one connection may queue little at the NIC",
				Observed: fmt.Sprintf("net.ipv4.tcp_limit_output_bytes = %s", unit.Bytes(n)),
				Fix:      "raise it to its default, 1 MiB (4 MiB in later kernels)",
				Source:   "Documentation/networking/ip-sysctl.rst (tcp_limit_output_bytes); Linux commit 98e09386c0ef (drivers that complete late need it, others do not)",
			}}
		},
	}
}
