// Package measure makes runs and samples: a run starts load workers on both ends, passes them
// through one start barrier, samples both hosts' counters meanwhile, and converts the samples to
// the controller's clock.
//
// It counts and never concludes: explain interprets the figures, study judges whether a
// difference is significant. It reaches no host itself (host does), and a figure that it cannot
// vouch for carries a warning.
package measure
