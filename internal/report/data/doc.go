// Package data turns a bundle into flat tables for other programs: the runs,
// what was compared, what every core did, the counters as they were sampled;
// as CSV (RFC 4180, with a line of names) or as Parquet.
//
// It refuses to: round, convert or summarise (rates stay bits per second,
// durations nanoseconds, as in the bundle), write a number for what is not
// known (an empty cell in CSV, null in Parquet), and hand a spreadsheet a text
// that it would take for a formula.
package data
