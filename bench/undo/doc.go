// Command undo tries to break the promise that every change can be undone: it
// runs every plan, and at every step has the step fail, the process killed
// before or after it, everything done twice, or the host restarted; then it
// undoes, and compares the host with what it was at first, byte for byte.
//
//	go run ./bench/undo                     the fake host and this kernel's namespaces
//	go run ./bench/undo -hosts fake         only the fake host
//
// The fake host rounds, clamps, refuses, writes half, has side effects and
// forgets at a restart as kernels do. The rest runs on this machine's own
// kernel, in namespaces whose processes are really killed with SIGKILL. It
// refuses to touch the machine itself: every value it changes is the fake's or a
// namespace's, every file below a directory of its own. A restart is the fake's
// alone: namespaces have none.
package main
