// Package study compares two states of one path by interleaved pairs of runs.
//
// A pair is one run without and one run with the treatment, close in time and in random order,
// so that drift of the path affects both alike. The number of pairs is fixed before the first
// run and there is no test in between: testing after every pair finds an effect where there is
// none in a third of all studies. Before the pairs, an A/A check runs pairs of two baseline
// runs and so shows how much the path varies by itself.
//
// The test is the sign-flip randomisation test on log-ratios, with all sign patterns
// enumerated; the interval comes from inverting the same test, so that the two never
// contradict each other. Both rest on a single assumption: without an effect, a pair's
// log-ratio is as likely to be x as -x. The random order within pairs makes that true. No
// normal distribution is assumed.
//
// A study of many factors may end sooner, at interim analyses ("looks") that are
// planned before it begins: Sequence spends one error rate over them.
//
// The statistics are pure. RunPairs drives the runs, but the caller supplies how a run is
// measured and how a treatment is applied. The package refuses to test more than MaxPairs
// pairs at once, to test between planned looks, and to give a ratio if a run moved no data.
package study
