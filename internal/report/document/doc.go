// Package document is what every command says to people: one model of
// headings, key figures, evidence, tables, charts and notes, and three
// renderers of it: Text for a terminal of any width, Markdown for an issue or
// a wiki, and HTML, one self-contained page that prints well. Whoever has
// something to say builds a Document and formats nothing.
//
// It refuses to: measure, judge or count anything, fetch or reference anything
// outside a page, run scripts, and trust any text. Every text of a document may
// come from a hostile host or file; it is escaped here, once, for where it goes,
// and no caller escapes anything.
package document
