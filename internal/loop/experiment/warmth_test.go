package experiment

import (
	"context"
	"strings"
	"testing"

	"linerate/internal/model"
)

func TestHeat(t *testing.T) {
	limit := func(c float64) *float64 { return &c }
	sensor := func(c float64, l *float64) model.Thermal {
		return model.Thermal{Sensors: []model.ThermalSensor{{Name: "nvme nvme0 Composite", Celsius: c, Limit: l, LimitOf: "temp1_max"}}}
	}
	throttled := func(n int64) model.Thermal {
		return model.Thermal{Throttled: map[string]int64{"cpu0 core": 5, "cpu3 package": n}}
	}
	for name, c := range map[string]struct {
		before, after model.Thermal
		want          string
	}{
		"no sensor":                 {},
		"cool":                      {sensor(40, limit(80)), sensor(60, limit(80)), ""},
		"no limit":                  {sensor(140, nil), sensor(150, nil), ""},
		"at its limit after":        {sensor(40, limit(80)), sensor(80, limit(80)), "nvme nvme0 Composite of nas was at 80 °C, and its limit is 80 °C (temp1_max)"},
		"at its limit before":       {sensor(81.5, limit(80)), sensor(70, limit(80)), "was at 81.5 °C"},
		"throttled":                 {throttled(2), throttled(9), "cpu3 package of nas was slowed down for its temperature 7 times"},
		"throttled long before":     {throttled(9), throttled(9), ""},
		"a counter that is new":     {model.Thermal{}, throttled(9), ""},
		"a counter that began anew": {throttled(9), throttled(1), ""},
	} {
		got := strings.Join(heat("nas", c.before, c.after), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A run in which a CPU was throttled does not count, says why, and is made again.
func TestThrottledRunDoesNotCount(t *testing.T) {
	w := newWorld()
	w.throttle = 2
	out, err := begun(t, w, example(), t.TempDir(), "").Run(context.Background())
	if err != nil || !out.Restored {
		t.Fatal(err)
	}
	not := 0
	for _, r := range out.Runs {
		if r.Counted {
			continue
		}
		if not++; r.Value == nil || !strings.Contains(r.Why, "cpu0 core of server was slowed down") {
			t.Errorf("%+v", r)
		}
	}
	if not != 2 || len(values(out.Runs)["buffers"]) != 2 {
		t.Errorf("%d of %d runs do not count", not, len(out.Runs))
	}
}
