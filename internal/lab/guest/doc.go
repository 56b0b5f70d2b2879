// Package guest is both ends of the cable to a lab host that runs a kernel of
// its own. Inside, it is the host's first process: it gives the kernel a root
// (this machine's tree, read-only, under a writable layer that outlives a
// reboot), names the interfaces, and runs commands. Outside, it starts the
// kernel, keeps the other end of its serial line, and lets any process of the
// same user run a command inside over a socket, with its streams, signals and
// exit code.
//
// It does not know what makes the kernel run (packages uml and qemu do), gives
// no terminal to a command, and opens no network: the cable is a serial line,
// so that nothing of it is seen in the host's interfaces and counters.
package guest
