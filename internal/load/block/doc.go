// Package block runs a workload of reads and writes on one file or device and
// says what it took: rates, latency from the intended start and service time,
// per second and over all.
//
// A request's latency counts from when it was due, not from when it was
// submitted: with a rate, what a stall makes later requests wait is theirs
// (coordinated omission, as G. Tene calls its absence). Service time is what the
// target took. Without a rate the two are the same moment.
//
// It uses io_uring where there is one, and threads with pread and pwrite
// elsewhere; the same loop drives both, and a target that does nothing, which
// tells what the loop itself costs. No channel, lock or garbage is in the loop.
//
// It refuses to choose a target, to create or enlarge a file, and to draw
// conclusions: whether a result was the page cache's or the generator's is
// judged by those who see the host.
package block
