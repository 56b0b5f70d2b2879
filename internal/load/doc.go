// Package load is the traffic generator: a TCP source and a TCP sink, a memory
// copy and a sequential file reader, each a process of its own that is told
// what to do by one JSON line on its standard input and says what it did by
// JSON lines on its standard output.
//
// A worker binds the data address it was given and no other, on one port. A
// peer has to prove the run's token by a mutual HMAC challenge before a byte
// of load flows; the token is never on the wire, in argv or in a message. The
// number of connections, the length of every message and the life of the
// process are bounded.
//
// The roles without a peer copy memory on one core or read one file from its
// start. They open regular files only, for reading only, and drop what they
// read: no byte of it leaves the process.
//
// It refuses to measure anything but its own bytes and time: counters of the
// host, clocks of other hosts and conclusions belong to measure and explain.
package load
