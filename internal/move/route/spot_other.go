//go:build !linux

package route

import "errors"

// Spots refuses: copy works on Linux alone for now.
func (s Source) Spots() ([]Spot, error) { return nil, errors.ErrUnsupported }

// Landing refuses likewise.
func (t Target) Landing([]string) (Landing, error) { return Landing{}, errors.ErrUnsupported }
