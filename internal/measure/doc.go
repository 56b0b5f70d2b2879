// Package measure makes runs and samples: one run brings load workers up on
// both ends, lets them pass one start barrier, samples both hosts' counters
// meanwhile, and puts the samples on the controller's clock.
//
// It counts and never concludes: what the figures mean is explain's, whether
// a difference is real is study's. It reaches no host itself (host does), and
// a figure that it cannot vouch for carries a warning.
package measure
