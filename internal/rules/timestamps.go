package rules

import "linerate/internal/model"

// Without timestamps a segment is 12 bytes smaller.
func timestamps() Rule {
	return Rule{
		ID:  "timestamps-off",
		Doc: "Without TCP timestamps nothing protects against wrapped sequence numbers, which at 40 Gbit/s come around in 0.9 s.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return switchedOff(f, "tcp_timestamps", model.Finding{
				Severity: Info,
				Title:    "no protection against wrapped sequence numbers",
				Fix:      "set net.ipv4.tcp_timestamps to 1, its default: switching them off gains only 12 bytes per segment",
				Source:   "RFC 7323 section 5",
			})
		},
	}
}
