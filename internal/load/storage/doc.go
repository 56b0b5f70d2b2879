// Package storage is a load on files and devices as a whole: the target is
// opened, blocks that were never written are filled, the generator is tried
// alone, and the load runs. It does so in the process of a command, or in a
// process of its own on another host, which is told what to do by one JSON line
// on its standard input, waits at a barrier until the instant that it is given,
// and says what it did by JSON lines on its standard output.
//
// It refuses a target that holds somebody's data unless that was named twice,
// creates files only in a directory of its own, which it removes, and judges no
// figures: that is block's and frames', and for several hosts the caller's.
package storage
