// Package study compares two states of one path by interleaved pairs of runs.
//
// A pair is one run without and one run with the treatment, close in time and
// in random order, so that drift of the path hits both alike. The number of
// pairs is fixed before the first run and no test is made in between: testing
// after every pair finds an effect where there is none in a third of all studies.
// Before the pairs, an A/A check runs pairs that do not differ at all and so
// shows what the path does by itself.
//
// The test is the sign-flip randomisation test on log-ratios, enumerated in
// full; the interval comes from inverting the same test, so the two never
// contradict each other. Both rest on one assumption only: without an effect,
// a pair's log-ratio is as likely to be x as -x, which random order within
// identical pairs gives. No normal distribution is assumed.
//
// A study of many factors may end sooner, at interim analyses ("looks") that are
// planned before it begins: Sequence spends one error rate over them.
//
// The statistics are pure. RunPairs drives the runs, but how a run is measured
// and how a treatment is applied is given to it. The package refuses to test
// more than MaxPairs pairs at once, to look where no look was planned, and to
// give a ratio where a run moved nothing.
package study
