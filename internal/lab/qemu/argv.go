package qemu

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/unit"
)

// ConsoleLog is the file in the private directory that receives what the kernel prints.
const ConsoleLog = "console.log"

// File names in the private directory.
const (
	initramfsFile = "initramfs"
	diskFile      = "disk.img"
	controlSocket = "control"
)

// Names under which the machine finds the devices that the emulator gives it.
const (
	controlPort = "linerate.control" // a virtio-serial port
	rootTag     = "root"             // a 9p file system
	diskDevice  = "/dev/vda"         // the only disk
)

// argv is the command that boots s. It changes into the private directory first, so that every
// file there has a short name: a socket's path may not be longer than 107 bytes, and a comma
// in a path would end an option.
func (s Spec) argv() []string {
	a := []string{"/usr/bin/env", "-C", s.Work, s.Kernel.QEMU,
		"-name", s.Name, "-nodefaults", "-no-user-config", "-display", "none",
		// The emulator exits when the machine reboots or panics; otherwise it would boot again
		// unnoticed.
		"-no-reboot",
		"-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
		"-m", mebibytes(s.Memory), "-smp", "4,sockets=2,cores=2,threads=1",
	}
	for node, cpus := range []string{"0-1", "2-3"} {
		a = append(a,
			"-object", fmt.Sprintf("memory-backend-ram,id=memory%d,size=%s", node, mebibytes(s.Memory/2)),
			"-numa", fmt.Sprintf("node,nodeid=%d,memdev=memory%d,cpus=%s", node, node, cpus))
	}
	a = append(a,
		"-kernel", s.Kernel.Image, "-initrd", initramfsFile, "-append", s.commandLine(),
		"-serial", "file:"+ConsoleLog,
		"-chardev", "socket,id=control,path="+controlSocket+",server=on,wait=off",
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=control,name="+controlPort,
		// Flushes may be ignored: the image survives the emulator's death without them and
		// need not survive a crash of the real machine.
		"-drive", "file="+diskFile+",format=raw,if=none,id=disk,cache=unsafe", "-device", "virtio-blk-pci,drive=disk",
		"-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
		"-device", "virtio-9p-pci,fsdev=root,mount_tag="+rootTag)
	return append(a, s.nicArgs()...)
}

// nicArgs puts each card behind a PCIe port of its own, below the root bus of its NUMA node: a
// card on the first bus would have no node.
func (s Spec) nicArgs() []string {
	var a []string
	for node, bus := range []int{32, 64} {
		a = append(a, "-device", fmt.Sprintf("pxb-pcie,id=node%d,bus=pcie.0,bus_nr=%d,numa_node=%d", node, bus, node))
	}
	for i, n := range s.NICs {
		// A hub of its own gives the card a carrier and no other station on the wire.
		wire := fmt.Sprintf("hubport,id=net%d,hubid=%d", i, i)
		if n.Tap != "" {
			wire = fmt.Sprintf("tap,id=net%d,ifname=%s,script=no,downscript=no,vhost=off", i, n.Tap)
		}
		a = append(a,
			"-device", fmt.Sprintf("pcie-root-port,id=port%d,bus=node%d,chassis=%d,slot=%d,x-speed=%s,x-width=%d",
				i, n.Node, i+1, i+1, portSpeed(n.PortSpeed), max(n.PortWidth, 1)),
			"-netdev", wire,
			// Without its boot ROM: no machine boots from the card.
			"-device", fmt.Sprintf("%s,id=nic%d,netdev=net%d,bus=port%d,mac=%s,romfile=", n.Model, i, i, i, n.MAC))
	}
	return a
}

// commandLine is the kernel's. What follows "--" are the arguments of init.
func (s Spec) commandLine() string {
	line := "console=ttyS0 quiet panic=-1"
	if len(s.InitArgs) == 0 {
		return line
	}
	line += " --"
	for _, a := range s.InitArgs {
		if strings.Contains(a, " ") {
			a = `"` + a + `"`
		}
		line += " " + a
	}
	return line
}

func mebibytes(b unit.Bytes) string { return strconv.FormatInt(int64(b/unit.MiB), 10) + "M" }
