// Package facts looks at one host and writes down what it sees: kernel, CPUs,
// interfaces and the slots they sit in, routes, mounts and settings. It only
// reads, needs no privilege, and keeps absent, unsupported and denied apart
// from a value. It draws no conclusion, changes nothing, and puts nothing on
// the wire; what it may not see it lists instead of guessing.
package facts
