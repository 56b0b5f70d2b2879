// Package profile turns what a host is for into changes of its settings. A
// profile is YAML: for each setting a rule for its value, the source of the
// rule, its risk, and what it needs. Eight of them are built in, made from the
// papers by the work they are about; users write, keep and share their own in
// the same form. Make evaluates a profile for one host and one path.
//
// Values are rules, not constants: what depends on the path is computed from
// its rate and round trip, what depends on the machine from its memory, CPUs
// and NIC, and amounts never fall below what runs already.
//
// The package refuses to guess: a rule of which a number is not known (no
// round trip was measured, the other end is not known) gives no change but a
// reason. It never takes from a profile what trades data safety or security:
// that has to be typed with its name. It changes nothing and reads neither
// host nor file; what runs is given to it.
package profile
