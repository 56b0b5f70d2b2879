// Package load makes the loads that run for a time they are told: the streams of one
// end, as a TCP source or a TCP sink; a copy of memory; a sequential read or write of a
// file; requests on a file or device; frames of video. Its Spec says which, its Stage is
// where the load says that it is ready and waits for its start. Package worker runs them,
// as it runs the loads of package storage, in a process of its own.
//
// The streams bind the data address they were given and no other, on one port. A
// peer has to prove the run's token by a mutual HMAC challenge before a byte
// of load flows; the token is never on the wire, in argv or in a message. The
// number of connections and the time of the run are bounded.
//
// What reads files opens regular files and named devices only, for reading only, and
// drops what it read: no byte of it leaves the process. What writes makes files of its own
// and removes them, or overwrites a target that was named twice.
//
// It refuses to measure anything but its own bytes and time: counters of the
// host, clocks of other hosts and conclusions belong to measure and explain.
package load
