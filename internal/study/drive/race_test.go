//go:build race

package drive

// fewer: the race detector makes simulations some twenty times slower, and has
// nothing to find in a package without goroutines.
const fewer = 10
