package facts

import (
	"cmp"
	"path"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

const (
	hwmonDir   = "/sys/class/hwmon"
	thermalDir = "/sys/class/thermal"
	// hottest is above every limit of a real sensor; an unset limit reads far higher.
	hottest = 200.0
)

// ReadThermal reads a host's temperatures: the sensors of its CPUs, disks and cards
// (Documentation/hwmon/sysfs-interface.rst: millidegrees), the kernel's thermal zones with the
// trip points from which it slows down (Documentation/driver-api/thermal/sysfs-api.rst), and how
// often CPUs were throttled (thermal_throttle of drivers/thermal/intel/therm_throt.c). What is
// absent or cannot be read is left out.
func ReadThermal(src kernel.Files) model.Thermal {
	t := model.Thermal{Sensors: []model.ThermalSensor{}, Throttled: map[string]int64{}}
	for _, name := range entries(src, hwmonDir) {
		t.Sensors = append(t.Sensors, readChip(src, path.Join(hwmonDir, name))...)
	}
	for _, name := range numberedNames(entries(src, thermalDir), "thermal_zone") {
		if s, ok := readZone(src, path.Join(thermalDir, name)); ok {
			t.Sensors = append(t.Sensors, s)
		}
	}
	for _, cpu := range numberedNames(entries(src, cpuDir), "cpu") {
		for _, of := range []string{"core", "package"} {
			n, ok := integer(src, path.Join(cpuDir, cpu, "thermal_throttle", of+"_throttle_count")).Get()
			if ok {
				t.Throttled[cpu+" "+of] = n
			}
		}
	}
	return t
}

// entries are the names in a folder; none if it is missing.
func entries(src kernel.Files, dir string) []string {
	names, err := src.ReadDir(dir)
	if err != nil {
		return nil
	}
	return names
}

// readChip reads the temperatures of one sensor chip.
func readChip(src kernel.Files, dir string) []model.ThermalSensor {
	driver := word(src, path.Join(dir, "name")).Or(path.Base(dir))
	// The device behind the sensor, e.g. nvme0, since several have the same driver.
	if link, err := src.Readlink(path.Join(dir, "device")); err == nil && path.Base(link) != driver {
		driver += " " + path.Base(link)
	}
	var out []model.ThermalSensor
	for _, file := range entries(src, dir) {
		channel, ok := strings.CutSuffix(file, "_input")
		if !ok || !strings.HasPrefix(channel, "temp") {
			continue
		}
		now, ok := degrees(src, path.Join(dir, file))
		if !ok {
			continue
		}
		label := cmp.Or(word(src, path.Join(dir, channel+"_label")).Or(""), channel)
		s := model.ThermalSensor{Name: driver + " " + label, Celsius: now}
		lower := func(limit string) {
			if at, ok := degrees(src, path.Join(dir, channel+limit)); ok && at > 0 && (s.Limit == nil || at < *s.Limit) {
				s.Limit, s.LimitOf = &at, channel+limit
			}
		}
		// An NVMe drive slows down from temp1_max on, its warning temperature
		// (drivers/nvme/host/hwmon.c; NVM Express base specification, WCTEMP). Elsewhere the
		// driver defines max, and on many boards' chips it is not set, so only the critical
		// temperature is used there.
		lower("_crit")
		if strings.HasPrefix(driver, "nvme") {
			lower("_max")
		}
		out = append(out, s)
	}
	return out
}

// readZone reads a thermal zone with its lowest trip point that slows something down (passive),
// or is hot or critical; "active" ones start fans.
func readZone(src kernel.Files, dir string) (model.ThermalSensor, bool) {
	now, ok := degrees(src, path.Join(dir, "temp"))
	if !ok {
		return model.ThermalSensor{}, false
	}
	s := model.ThermalSensor{Name: "thermal zone " + word(src, path.Join(dir, "type")).Or(path.Base(dir)), Celsius: now}
	for _, file := range entries(src, dir) {
		point, ok := strings.CutSuffix(file, "_type")
		if !ok || !strings.HasPrefix(point, "trip_point_") {
			continue
		}
		kind := word(src, path.Join(dir, file)).Or("")
		at, ok := degrees(src, path.Join(dir, point+"_temp"))
		if ok && at > 0 && (kind == "passive" || kind == "hot" || kind == "critical") && (s.Limit == nil || at < *s.Limit) {
			s.Limit, s.LimitOf = &at, "trip point "+kind
		}
	}
	return s, true
}

// degrees reads a file of millidegrees Celsius.
func degrees(src kernel.Files, file string) (float64, bool) {
	n, ok := integer(src, file).Get()
	c := float64(n) / 1000
	return c, ok && c < hottest && c > -hottest
}
