// Package studytest makes up studies as their bundles hold them, for tests of
// what is done with a study after it was run: seeded, so that they are the same
// each time, and with every conclusion in them that there is.
//
// It refuses to run anything, and to stand in for the analysis: the intervals
// and p-values in it are plausible, not computed by the tests that linerate
// uses.
package studytest
