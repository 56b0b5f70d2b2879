package model

// Thermal is how warm a host is at one moment. A host that shows no sensor has
// neither: nothing is known of it.
type Thermal struct {
	Sensors []ThermalSensor `json:"sensors"`
	// Throttled is how often each CPU, or its package, was slowed down for its
	// temperature since the host was started, by "cpu3 core" or "cpu3 package".
	Throttled map[string]int64 `json:"throttled"`
}

// ThermalSensor is what one sensor shows.
type ThermalSensor struct {
	Name    string  `json:"name"` // driver and label, e.g. "nvme nvme0 Composite", "thermal zone x86_pkg_temp"
	Celsius float64 `json:"celsius"`
	// Limit is the temperature at which the device, or the kernel, begins to slow
	// down or to shut off, °C; nil: the sensor names none.
	Limit *float64 `json:"limit"`
	// LimitOf is what names it, e.g. "temp1_crit", "trip point passive".
	LimitOf string `json:"limit_of,omitempty"`
}

// AtLimit tells whether a sensor shows its limit or more.
func (s ThermalSensor) AtLimit() bool { return s.Limit != nil && s.Celsius >= *s.Limit }
