package main

import (
	"encoding/json"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// sizeOf is what a sample weighs on its way.
func sizeOf(s model.Sample) (unit.Bytes, error) {
	b, err := json.Marshal(s)
	return unit.Bytes(len(b)), err
}
