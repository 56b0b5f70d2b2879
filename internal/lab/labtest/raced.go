//go:build race

package labtest

// Raced: this program was built with the race detector.
const Raced = true
