package app

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
)

// Seed draws a seed that is not 0 and that a JSON number holds exactly.
func Seed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("draw a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:])>>12 | 1, nil
}
