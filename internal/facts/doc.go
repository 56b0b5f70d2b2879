// Package facts reads one host's state: kernel, CPUs, interfaces and their slots, routes, mounts
// and settings. It only reads, needs no privilege, and distinguishes absent, unsupported and
// denied from a value. It draws no conclusion, changes nothing, and sends nothing; what it may
// not read it lists instead of guessing.
package facts
