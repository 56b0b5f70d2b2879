// Package frames records and plays uncompressed video: streams of frames of exact
// size, each with a deadline of its own that does not move when one is missed.
//
// A camera hands over frame k at k divided by the frame rate, whether or not
// there is room; a player shows it then, or not at all. Between them and the
// storage is a buffer of some frames. What does not fit, or comes too late, is a
// dropped frame.
//
// It writes to a directory of its own below the one that it is given, and removes
// that. It refuses to touch any other file, and to call a recording sustained
// that only the page cache has taken.
package frames
