//go:build race

package lab

// raced: this program was built with the race detector.
const raced = true
