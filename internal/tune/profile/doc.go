// Package profile turns a host's purpose into changes of its settings. A profile is YAML: for
// each setting a rule for its value, the source of the rule, its risk, and what it needs. Eight
// are built in, made from the papers by kind of work; users write, keep and share their own in
// the same form. Make evaluates a profile for one host and one path.
//
// Values are rules, not constants: what depends on the path is computed from its rate and round
// trip, what depends on the machine from its memory, CPUs and NIC, and amounts never fall below
// the running value.
//
// The package refuses to guess: a rule with an unknown number (no measured round trip, an unknown
// other end) gives a reason instead of a change. It never takes from a profile what trades data
// safety or security: the user has to name that setting. It changes nothing and reads neither
// host nor file; the running values are passed in.
package profile
