// Package qemu prepares device hosts of the lab: whole machines that QEMU
// emulates in software, with the distribution's own kernel, so that there are
// real drivers with rings, coalescing, pause frames and interrupts to look at
// and to change, on two NUMA nodes and behind PCIe ports. It finds the emulator
// and a kernel, writes what the machine boots from, says which command boots
// it, and, in the machine, makes the files of the machine outside appear below
// a writable layer of its own. One byte stream, the control line, joins the two.
//
// It starts and stops no machine, makes no network interface and installs
// nothing; it writes in the machine's private directory only, and the files
// outside are read-only to the machine. It measures nothing: an emulated
// processor says nothing about throughput.
package qemu
