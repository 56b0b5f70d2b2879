// Package report makes a document (Of) of what a run, a study, a load or a check
// concluded, which package document writes for the places it is read in: a page
// (HTML), a terminal (Text), an issue or a wiki (Markdown). Of a study it is its
// white paper. Every figure carries its unit and how many readings are behind
// it; what is not known is printed as not known, with the reason, and never as a
// number.
//
// It refuses to: measure, conclude or correct anything (a number that is not
// in model.Results or the samples is not in the report), fetch or reference
// anything outside the page, and format or escape any text: document does.
package report
