// Package past makes records of what a live view showed: one for each 10 seconds, which add up to
// those of 5 minutes and of an hour. A record holds sums alone (bytes, time, counts, a histogram
// of round trips), so that two of them add up to what one of the whole time would have been, and
// no mean of means, no percentile of percentiles comes about.
//
// It refuses to fill a gap: time in which nothing was shown is in no record. It reads no clock and
// no file: pictures and times are handed in.
package past
