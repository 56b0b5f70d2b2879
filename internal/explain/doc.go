// Package explain says what keeps a transfer below line rate. From the facts
// and samples of one or both ends of a path it computes the goodput ceiling,
// names one limiter of the vocabulary with its evidence, the fix and the gain
// that fix can bring, and lays out the ladder from memory to the whole path.
//
// It is pure: it reads no clock, file or network, and knows nothing of what a
// lab or an operator did to the path; it judges from what was observed.
// It refuses to call a path "at its ceiling" when no ceiling is known, to
// print a number that is not finite, and to be sure of a cause that an unseen
// end could refute: then it names the alternatives and the probe that would
// tell them apart.
//
// The way through the package: case.go (what is given), flow.go (samples of
// both ends paired into connections), window.go (which part of a recording is
// steady), view*.go (features), detect*.go (one small detector per limiter, in
// the order of detectors()), fix.go and gain.go (what to do about it),
// judge.go (the verdict), narrow.go (less of it after a brief look from one end), ladder.go and line.go (how it is told).
//
// To add a detector: write a function scene → *finding in a detect_*.go file,
// add one line to detectors(), and a case to the tables in the tests.
package explain
