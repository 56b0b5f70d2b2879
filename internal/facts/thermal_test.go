package facts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// warmTree writes files below a folder, as a kernel would show them.
func warmTree(t *testing.T, files map[string]string) kernel.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return kernel.Root(dir)
}

func TestReadThermal(t *testing.T) {
	limit := func(c float64) *float64 { return &c }
	const chip, zone, cpu = "sys/class/hwmon/hwmon0/", "sys/class/thermal/thermal_zone0/", "sys/devices/system/cpu/"
	for name, c := range map[string]struct {
		files   map[string]string
		sensors []model.ThermalSensor
		counts  map[string]int64
	}{
		"no sensors": {files: map[string]string{cpu + "cpu0/online": "1"}},
		"a core, whose max is where fans run and not where it slows down": {
			files:   map[string]string{chip + "name": "coretemp", chip + "temp2_label": "Core 0", chip + "temp2_input": "91000", chip + "temp2_max": "80000", chip + "temp2_crit": "100000"},
			sensors: []model.ThermalSensor{{Name: "coretemp Core 0", Celsius: 91, Limit: limit(100), LimitOf: "temp2_crit"}}},
		"an NVMe drive, which slows down at its max": {
			files:   map[string]string{chip + "name": "nvme", chip + "temp1_label": "Composite", chip + "temp1_input": "81850", chip + "temp1_max": "81850", chip + "temp1_crit": "84850"},
			sensors: []model.ThermalSensor{{Name: "nvme Composite", Celsius: 81.85, Limit: limit(81.85), LimitOf: "temp1_max"}}},
		"limits that are not set": {
			files:   map[string]string{chip + "name": "nvme", chip + "temp1_input": "40000", chip + "temp1_max": "65261850", chip + "temp1_crit": "0"},
			sensors: []model.ThermalSensor{{Name: "nvme temp1", Celsius: 40}}},
		"a board's chip with a max that nobody set": {
			files:   map[string]string{chip + "name": "nct6775", chip + "temp1_input": "127000", chip + "temp1_max": "80000"},
			sensors: []model.ThermalSensor{{Name: "nct6775 temp1", Celsius: 127}}},
		"a sensor that does not answer": {files: map[string]string{chip + "name": "x", chip + "temp1_input": "N/A", chip + "fan1_input": "900"}},
		"a zone, whose fans are no limit": {
			files: map[string]string{zone + "type": "x86_pkg_temp", zone + "temp": "60000", zone + "trip_point_0_type": "active", zone + "trip_point_0_temp": "50000",
				zone + "trip_point_1_type": "critical", zone + "trip_point_1_temp": "105000", zone + "trip_point_2_type": "passive", zone + "trip_point_2_temp": "95000"},
			sensors: []model.ThermalSensor{{Name: "thermal zone x86_pkg_temp", Celsius: 60, Limit: limit(95), LimitOf: "trip point passive"}}},
		"CPUs that were throttled": {
			files:  map[string]string{cpu + "cpu0/thermal_throttle/core_throttle_count": "3", cpu + "cpu0/thermal_throttle/package_throttle_count": "0", cpu + "cpufreq/x": "1"},
			counts: map[string]int64{"cpu0 core": 3, "cpu0 package": 0}},
	} {
		if c.sensors == nil {
			c.sensors = []model.ThermalSensor{}
		}
		if c.counts == nil {
			c.counts = map[string]int64{}
		}
		if d := cmp.Diff(model.Thermal{Sensors: c.sensors, Throttled: c.counts}, ReadThermal(warmTree(t, c.files))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	at, below := model.ThermalSensor{Celsius: 80, Limit: limit(80)}, model.ThermalSensor{Celsius: 79.9, Limit: limit(80)}
	if !at.AtLimit() || below.AtLimit() || (model.ThermalSensor{Celsius: 150}).AtLimit() {
		t.Error("a sensor is at its limit from there on, and only where it names one")
	}
}
