// Package report renders what a run concluded, for the three places it is
// read in: one self-contained HTML page with charts (HTML), the terminal
// (Text), and an issue or a wiki (Markdown). Of a study the page is its white
// paper. Every figure carries its unit and
// how many readings are behind it; what is not known is printed as not known,
// with the reason, and never as a number.
//
// It refuses to: measure, conclude or correct anything (a number that is not
// in model.Results or the samples is not in the report), fetch or reference
// anything outside the page, run scripts, and trust any text: host names,
// advice and evidence are escaped for where they go.
package report
