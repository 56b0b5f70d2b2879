// Command undo tries to break the promise that every change can be undone: it
// runs every plan, and at every step has the step fail, the process killed
// before or after it, everything done twice, or the host restarted; then it
// undoes, and compares the host with what it was at first, byte for byte.
//
//	go run ./bench/undo                     all kinds of hosts
//	go run ./bench/undo -hosts fake         only the fake host
//	go run ./bench/undo -hosts devices,kernels -every 3
//
// The fake host rounds, clamps, refuses, writes half, has side effects and
// forgets at a restart as kernels do. The rest are real kernels, where the
// process that applies is really killed with SIGKILL: this machine's, in
// namespaces; a device host of the lab (rings, coalescing, pause frames and
// interrupts of an e1000e); a kernel host of the lab, which is really restarted
// under the process, and once more after undoing. It refuses to touch the machine
// itself: every value it changes is the fake's, a namespace's or a lab host's,
// every file lies below a directory of its own.
package main
