// Package lab builds emulated hosts on one Linux machine: two namespace hosts
// joined by a link with a stated rate, delay and queue, and one thing wrong
// with it on request. It also plays the operator who cures what a setting
// cannot, and removes every trace of itself, of a killed predecessor too.
//
// It runs no load, reads no counters and draws no conclusions: what it put in
// place is known to its caller only. It changes nothing outside its own
// namespaces but for control groups named linerate-*, and never touches a lab
// whose owner lives or that is another user's.
package lab
