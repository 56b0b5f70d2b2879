// Package guest implements both ends of the cable to a lab host that runs a kernel of its own.
// Inside, it is the host's first process: it gives the kernel a root (this machine's file
// tree, read-only, under a writable layer that survives a reboot), names the interfaces, and
// runs commands. Outside, it starts the kernel, holds the other end of its serial line, and
// lets any process of the same user run a command inside through a socket, with its streams,
// signals and exit code.
//
// It does not know what makes the kernel run (packages uml and qemu do), gives no terminal to
// a command, and uses no network: the cable is a serial line, so that the host's interfaces
// and counters show the lab's traffic only.
package guest
