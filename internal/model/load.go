package model

import "encoding/json"

// LoadVersion is the version of Load that this build writes.
const LoadVersion = 1

// Load is the result of a load that was run by a command of its own: in results.json of its
// bundle.
type Load struct {
	V    int    `json:"v"`
	Kind string `json:"kind"` // "block", "tcp", "frames", "jobs", "pools"
	Line string `json:"line"` // the result in one line
	Text string `json:"text"` // what the command printed
	// Series are the rates over time, empty where a load has none.
	Series []LoadSeries `json:"series"`
	// Data is what the command prints with --json, but for the place of the report.
	Data json.RawMessage `json:"data"`
}

// LoadSeries is a figure over time, one value for so many seconds.
type LoadSeries struct {
	// Figure is what series with the same one are drawn in together; empty: Name has one of
	// its own.
	Figure string    `json:"figure,omitempty"`
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`             // "B/s", "bit/s", "frames", "ms"
	Most   bool      `json:"maxima,omitempty"` // each value is the largest of its seconds
	Each   int       `json:"each_s"`
	Values []float64 `json:"values"`
	// Change is where the series goes over to another level; nil: nowhere.
	Change *LoadChange `json:"change,omitempty"`
}

// LoadChange is where a load went over to another level, as where a write cache is full. A mean
// over both is neither.
type LoadChange struct {
	At     int     `json:"at_s"`
	Before float64 `json:"before"` // median, in the series' unit
	Behind float64 `json:"behind"`
}
