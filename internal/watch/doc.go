// Package watch turns the samples of one or two hosts into a live picture of the path between
// them: what it carries now, what share of its ceiling that is, what limits it, and when that
// changed. A Window keeps the samples of the last seconds. Steady decides when a new verdict
// replaces the one that is shown. A Picture is what people and programs see at one moment.
//
// The package never shows old data as new and never draws an idle path as a slow one. It names a
// limiter only if the verdict is certain enough; otherwise the state is "cannot tell". It reads no
// clock and no host: the caller passes in samples and times.
package watch
