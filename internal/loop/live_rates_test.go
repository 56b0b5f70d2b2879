package loop

import (
	"testing"

	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Each path has the line rate that is stated for it, unless one is given for all.
func TestEachPathHasItsLineRate(t *testing.T) {
	for _, c := range []struct {
		all  model.Fact[unit.BitRate]
		want [3]unit.BitRate
	}{{model.Unknown[unit.BitRate](model.Absent, "not stated"), [3]unit.BitRate{unit.Gbit, 10 * unit.Gbit, 0}}, {model.Known(2 * unit.Gbit), [3]unit.BitRate{2 * unit.Gbit, 2 * unit.Gbit, 2 * unit.Gbit}}} {
		l := &Live{LineRate: c.all, LineRates: map[[2]int]unit.BitRate{{0, 2}: unit.Gbit, {1, 2}: 10 * unit.Gbit}}
		for i, key := range [][2]int{{0, 2}, {1, 2}, {0, 1}} {
			if got := l.lineRate(key, explain.Case{}).Or(0); got != c.want[i] {
				t.Errorf("%v given: path %v has %v, want %v", c.all, key, got, c.want[i])
			}
		}
	}
}
