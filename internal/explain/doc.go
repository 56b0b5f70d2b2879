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
// A case becomes a verdict in five steps:
//
//  1. case.go: the case, which is all that is given: samples and facts of the ends,
//     probes that were made, notes, findings of the rules.
//  2. views.go: the views, each worked out once. flow.go pairs the samples of both
//     ends into connections, ceiling.go has the link, window.go the steady part of a
//     connection, view_*.go the features of connections, hosts, mount and server.
//  3. detect.go: the detectors in one list, one for each signature (detect_*.go). They
//     read views and nothing else. Those of connections name a limiter for each
//     connection; those of calls are asked after the vote.
//  4. judge.go: the election. The weight of a connection's vote is the goodput that it
//     lacks of its fair share (vote.go).
//  5. judge.go: the verdict with fix.go and gain.go, the probes (probe*.go, several.go),
//     and what stands beside it (narrow.go, findings.go, place.go). Nobody outside this
//     package changes a verdict.
//
// predict.go and ladder.go have the rungs, line.go the verdict in one line.
//
// To add a detector: write a function scene → *finding in a detect_*.go file,
// add one line to detectors(), and a case to the tables in the tests. A feature that
// it needs and no view has becomes a field of a view.
package explain
