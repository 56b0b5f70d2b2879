// Package watch turns the samples of one or two hosts into a picture that goes on: what a path
// carries now, what share of its ceiling that is, what holds it back, and when that changed. A
// Window keeps the last seconds, Steady decides when another verdict takes the place of the one
// that is shown, a Picture is what people and programs see of one moment.
//
// It refuses to show what is old as if it were new, to draw an idle path as a slow one, and to
// name a limiter that the verdict itself does not stand by: "cannot tell" is a state of its own.
// It reads no clock and no host: samples and times are handed in.
package watch
