package model

import "linerate/internal/unit"

// Cause is one of the limiters of a path. They come in the order in which they
// bind: removing the first raises goodput, removing a later one does nothing
// until those before it are gone.
type Cause struct {
	Limiter LimiterID `json:"limiter"`
	Where   Where     `json:"where"`
	Host    string    `json:"host,omitempty"`
	// GainLow and GainHigh are how much more goodput removing it brings, in
	// bit/s, once the causes before it are gone; null when nothing bounds it.
	GainLow    *unit.BitRate `json:"gain_low"`
	GainHigh   *unit.BitRate `json:"gain_high"`
	Confidence float64       `json:"confidence"` // 0..1
	Evidence   []Evidence    `json:"evidence"`
	Fix        Fix           `json:"fix"`
}

// NextLimit is what stops goodput from rising further once the first cause is
// gone: the next cause or, when there is none, the link itself.
type NextLimit struct {
	Limiter LimiterID    `json:"limiter"` // none: the ceiling of the link
	Host    string       `json:"host,omitempty"`
	At      unit.BitRate `json:"at_bps"` // goodput it allows
	// Low and High are the range around At: what removing the first cause alone brings.
	Low  unit.BitRate `json:"low_bps"`
	High unit.BitRate `json:"high_bps"`
	Why  string       `json:"why"`
}

// Probe is the one experiment that would tell the named limiter from others
// that look like it.
type Probe struct {
	Between []LimiterID `json:"between"` // the named one first
	Do      string      `json:"do"`
}
