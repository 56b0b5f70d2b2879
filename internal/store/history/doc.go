// Package history keeps the records of live views on disk, beside the bundles: of ten seconds for
// a week, of five minutes for sixty days, of an hour for 400 days, below a bound in bytes.
//
// Each set of hosts that is watched together has a folder of its own, with one writer at a time.
// A segment is an hour of records of ten seconds, a day of those of five minutes, or a month of
// those of an hour. While it lasts each record is appended as a block of its own; when it is over
// all blocks are written anew as one, which replaces them. A block has a checksum, a segment a
// version. What a crash tore, or a disk spoiled, is skipped and said; the rest is read.
//
// Late records take the place of time that was stale in the others. They are added in parts of their
// own, of the segments that they belong to and of wider ones that have them already, and become one
// with the others when the segment is sealed, or read.
package history
