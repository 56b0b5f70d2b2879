// Package storage is a load on files and devices as a whole: the target is
// opened, blocks that were never written are filled, the generator is tried
// alone, and the load runs. Its Hooks are where whoever asked for it is told how far it
// is, and lets it begin: a command in its own process, or package worker on any host.
//
// It refuses a target that holds somebody's data unless that was named twice,
// creates files only in a directory of its own, which it removes, and judges no
// figures: that is block's and frames', and for several hosts the caller's.
package storage
