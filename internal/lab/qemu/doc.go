// Package qemu prepares device hosts of the lab: whole machines that QEMU
// emulates in software, with the distribution's own kernel, so that there are real drivers
// with rings, coalescing, pause frames and interrupts to read and to change, on two NUMA nodes
// and behind PCIe ports. It finds the emulator and a kernel, writes the files that the
// emulated machine boots from, and returns the command that boots it. Inside the emulated
// machine it mounts the files of the real machine, read-only, below a writable layer. One byte
// stream, the control line, connects the two.
//
// It starts and stops no machine, creates no network interface and installs nothing. It writes
// only in the private directory of the emulated machine. It measures nothing: the speed of an
// emulated processor says nothing about throughput.
package qemu
