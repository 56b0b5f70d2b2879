// Package load makes loads of a given duration: the streams of one end, as a TCP source
// or a TCP sink; a copy of memory; a sequential read or write of a file; requests on a
// file or device; frames of video. A Spec describes the load. At its Stage the load
// reports that it is ready, and waits for its start. Package worker runs these loads, and
// those of package storage, in a process of its own.
//
// The streams bind only the data address that they are given, on one port. A peer has to
// prove by a mutual HMAC challenge that it knows the run's token before a byte of load
// flows; the token is never on the wire, in argv or in a message. The number of
// connections and the time of the run are bounded.
//
// A load that reads files opens only regular files and named devices, only for reading,
// and drops the data: no byte of it leaves the process. A load that writes makes files of
// its own and removes them, or overwrites a target that the user named twice.
//
// It refuses to measure anything but its own bytes and time: counters of the
// host, clocks of other hosts and conclusions belong to measure and explain.
package load
