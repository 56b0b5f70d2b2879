package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/model"
)

// tooWarm says why the warmth of a host keeps a run from counting; empty: it does
// not, or no sensor tells.
func (x *Experiment) tooWarm(ctx context.Context, m *work) (string, error) {
	var why []string
	for _, h := range m.hosts() {
		now, err := h.agent.Thermal(ctx)
		if err != nil {
			return "", fmt.Errorf("look how warm %s is: %w", h.Name, err)
		}
		why = append(why, heat(h.Name, h.warm, now)...)
	}
	return strings.Join(why, "; "), nil
}

// heat compares a host before and after a run: a CPU was slowed down for its
// temperature meanwhile, or a sensor was at its limit before or after. What such a
// run measured is the cooling.
func heat(host string, before, after model.Thermal) (why []string) {
	times, of := int64(0), ""
	for _, name := range slices.Sorted(maps.Keys(after.Throttled)) {
		// A counter that is new, or that fell, belongs to a CPU that came online again.
		was, ok := before.Throttled[name]
		if d := after.Throttled[name] - was; ok && d > times {
			times, of = d, name
		}
	}
	if times > 0 {
		why = append(why, fmt.Sprintf("%s of %s was slowed down for its temperature %d times during the run", of, host, times))
	}
	said := map[string]bool{}
	for _, s := range slices.Concat(before.Sensors, after.Sensors) {
		if s.AtLimit() && !said[s.Name] {
			said[s.Name] = true
			why = append(why, fmt.Sprintf("%s of %s was at %.3g °C, and its limit is %.3g °C (%s)", s.Name, host, s.Celsius, *s.Limit, s.LimitOf))
		}
	}
	return why
}

// joined are reasons in one sentence, without those that are empty.
func joined(why ...string) string {
	return strings.Join(slices.DeleteFunc(why, func(s string) bool { return s == "" }), "; ")
}
