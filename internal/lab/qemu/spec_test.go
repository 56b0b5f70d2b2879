package qemu

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/unit"
)

func mac(last byte) net.HardwareAddr { return net.HardwareAddr{0x52, 0x54, 0, 0, 0, last} }

// someSpec uses everything that there is.
func someSpec() Spec {
	return Spec{
		Name: "client1", Memory: unit.GiB, Work: "/var/lab, the first/client1", Init: "/usr/bin/linerate",
		InitArgs: []string{"lab-guest", "two words", "-x=a b"},
		Kernel:   Kernel{QEMU: "/usr/bin/qemu", Image: "/boot/vmlinuz-6", Modules: "/lib/modules/6", Release: "6"},
		NICs: []NIC{
			{Model: E1000E, MAC: mac(1), Tap: "tap0", Node: 0, PortSpeed: 5, PortWidth: 4},
			{Model: VMXNet3, MAC: mac(2), Node: 1},
		},
	}
}

func TestArgv(t *testing.T) {
	s := someSpec()
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	want := `/usr/bin/env|-C|/var/lab, the first/client1|/usr/bin/qemu
-name|client1|-nodefaults|-no-user-config|-display|none
-no-reboot
-machine|q35|-accel|tcg,thread=multi|-cpu|max
-m|1024M|-smp|4,sockets=2,cores=2,threads=1
-object|memory-backend-ram,id=memory0,size=512M|-numa|node,nodeid=0,memdev=memory0,cpus=0-1
-object|memory-backend-ram,id=memory1,size=512M|-numa|node,nodeid=1,memdev=memory1,cpus=2-3
-kernel|/boot/vmlinuz-6|-initrd|initramfs|-append|console=ttyS0 quiet panic=-1 -- lab-guest "two words" "-x=a b"
-serial|file:console.log
-chardev|socket,id=control,path=control,server=on,wait=off
-device|virtio-serial-pci|-device|virtserialport,chardev=control,name=linerate.control
-drive|file=disk.img,format=raw,if=none,id=disk,cache=unsafe|-device|virtio-blk-pci,drive=disk
-fsdev|local,id=root,path=/,security_model=none,readonly=on,multidevs=remap
-device|virtio-9p-pci,fsdev=root,mount_tag=root
-device|pxb-pcie,id=node0,bus=pcie.0,bus_nr=32,numa_node=0
-device|pxb-pcie,id=node1,bus=pcie.0,bus_nr=64,numa_node=1
-device|pcie-root-port,id=port0,bus=node0,chassis=1,slot=1,x-speed=5,x-width=4
-netdev|tap,id=net0,ifname=tap0,script=no,downscript=no,vhost=off
-device|e1000e,id=nic0,netdev=net0,bus=port0,mac=52:54:00:00:00:01,romfile=
-device|pcie-root-port,id=port1,bus=node1,chassis=2,slot=2,x-speed=2_5,x-width=1
-netdev|hubport,id=net1,hubid=1
-device|vmxnet3,id=nic1,netdev=net1,bus=port1,mac=52:54:00:00:00:02,romfile=`
	lines := strings.Split(strings.ReplaceAll(want, "\n", "|"), "|")
	if diff := cmp.Diff(lines, s.argv()); diff != "" {
		t.Error(diff)
	}
}

func TestSpecsAreRefused(t *testing.T) {
	for says, change := range map[string]func(*Spec){
		`"a,b" is no host name`:            func(s *Spec) { s.Name = "a,b" },
		`"" is no host name`:               func(s *Spec) { s.Name = "" },
		"memory is 256 MiB":                func(s *Spec) { s.Memory = 256 * unit.MiB },
		"no multiple of 2 MiB":             func(s *Spec) { s.Memory = unit.GiB + unit.MiB },
		"private directory":                func(s *Spec) { s.Work = "here" },
		"init: \"\" is not":                func(s *Spec) { s.Init = "" },
		"emulator":                         func(s *Spec) { s.Kernel.QEMU = "" },
		"want at most 24":                  func(s *Spec) { s.InitArgs = make([]string, 25) },
		"1500 bytes":                       func(s *Spec) { s.InitArgs = []string{strings.Repeat("x", 1501)} },
		"without double quotes":            func(s *Spec) { s.InitArgs = []string{`"`} },
		`argument ""`:                      func(s *Spec) { s.InitArgs = []string{""} },
		`argument "--"`:                    func(s *Spec) { s.InitArgs = []string{"a", "--"} },
		"no blank before":                  func(s *Spec) { s.InitArgs = []string{"a b=c"} },
		"card 1: MAC address":              func(s *Spec) { s.NICs[1].MAC = mac(1) },
		"is no MAC":                        func(s *Spec) { s.NICs[1].MAC = net.HardwareAddr{1, 2, 3, 4, 5, 6} },
		`card 0: no such model: "rtl8139"`: func(s *Spec) { s.NICs[0].Model = "rtl8139" },
		"is no name of an interface":       func(s *Spec) { s.NICs[0].Tap = "a,b" },
		"want 0 or 1":                      func(s *Spec) { s.NICs[0].Node = 2 },
		"both its speed and its width":     func(s *Spec) { s.NICs[0].PortWidth = 0 },
		"port of 6 GT/s":                   func(s *Spec) { s.NICs[0].PortSpeed = 6 },
		"3 lanes":                          func(s *Spec) { s.NICs[0].PortWidth = 3 },
		"9 network cards, want at most 8":  func(s *Spec) { s.NICs = make([]NIC, 9) },
	} {
		s := someSpec()
		change(&s)
		if err := s.validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want an error with %q", err, says)
		}
	}
}
