package explain

import (
	"fmt"
	"slices"

	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// mostCited findings of each host stand beside a verdict: the results list them all.
const mostCited = 3

// refutes: a bound that goodput exceeds by more than this was none of this path
// (another connection's round trip, several streams at once).
const refutes = 1.05

// cite notes beside a verdict the findings that name the same limiter, at the
// verdict's host or, where it has none, at any: what was read of the hosts and
// what was measured then point the same way, and the finding says which setting
// or part it may be. It changes neither limiter nor confidence: those come from
// what was measured alone. Findings of no consequence (severity info), and those
// whose bound the measurement exceeds, are not cited.
func cite(v *model.Verdict, found []model.Finding) {
	cited := map[string]int{}
	for _, f := range found {
		if cited[f.Host] >= mostCited || f.Severity == rules.Info || !slices.Contains(f.Limiters, v.Limiter) {
			continue
		}
		if v.Host != "" && f.Host != v.Host || f.Bound != nil && v.Measured > refutes*unit.BitRate(*f.Bound) {
			continue
		}
		note := fmt.Sprintf("linerate check finds the same on %s: %s [%s]", f.Host, f.Title, f.Rule)
		if v.Fix.Kind != model.FixSetting {
			note += "; " + f.Fix
		}
		v.Notes = append(v.Notes, note)
		cited[f.Host]++
	}
}
