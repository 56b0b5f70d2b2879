package qemu

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/unit"
)

// Models of network cards, and what can be set on each.
const (
	E1000E  = "e1000e"  // Intel 82574L: ring, coalescing and pause
	VMXNet3 = "vmxnet3" // VMware: ring and channels
	IGB     = "igb"     // Intel 82576; emulated since QEMU 8
)

// Models lists the cards that can be emulated.
func Models() []string { return []string{E1000E, VMXNet3, IGB} }

// NIC is a network card. Its interface name in the machine depends on the order in which the
// drivers find the cards, so it is identified by its MAC address.
type NIC struct {
	Model string
	MAC   net.HardwareAddr
	// Tap is an interface in the network namespace of the emulator. Without one the card has a
	// carrier and no other station on the wire.
	Tap  string
	Node int // NUMA node, 0 or 1
	// PortSpeed (GT/s: 2.5, 5, 8 or 16) and PortWidth (lanes) are the capability of the PCIe
	// port above the card. Every emulated card is 2.5 GT/s x1, so that with a larger
	// capability the link has trained below it. Zero: the port is as capable as the card.
	PortSpeed float64
	PortWidth int
}

// Spec is a machine.
type Spec struct {
	Name     string // becomes the host name
	Memory   unit.Bytes
	Kernel   Kernel
	Init     string   // a program: the machine's first process
	InitArgs []string // its arguments
	Work     string   // absolute, private to this machine; its disk stays there
	NICs     []NIC
}

const (
	minMemory = 512 * unit.MiB
	maxNICs   = 8 // more ports need more I/O space than the firmware has
	// The kernel accepts 2048 bytes of command line and 32 arguments for init; linerate itself
	// uses some of both.
	maxInitArgs  = 24
	maxInitBytes = 1500
)

func (s Spec) validate() error {
	switch {
	case !isHostName(s.Name):
		return fmt.Errorf("%q is no host name: want letters, digits and inner hyphens, at most 63", s.Name)
	case s.Memory < minMemory:
		return fmt.Errorf("memory is %s, want at least %s", s.Memory, minMemory)
	case s.Memory%(2*unit.MiB) != 0:
		return fmt.Errorf("memory is %s, which is no multiple of 2 MiB: each NUMA node gets half", s.Memory)
	case len(s.NICs) > maxNICs:
		return fmt.Errorf("%d network cards, want at most %d", len(s.NICs), maxNICs)
	}
	for _, p := range []struct{ what, path string }{
		{"emulator", s.Kernel.QEMU}, {"kernel image", s.Kernel.Image}, {"modules", s.Kernel.Modules},
		{"init", s.Init}, {"private directory", s.Work},
	} {
		if !filepath.IsAbs(p.path) {
			return fmt.Errorf("%s: %q is not an absolute path", p.what, p.path)
		}
	}
	if err := validateArgs(s.InitArgs); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, n := range s.NICs {
		if err := n.validate(); err != nil {
			return fmt.Errorf("network card %d: %w", i, err)
		}
		if seen[n.MAC.String()] {
			return fmt.Errorf("network card %d: MAC address %s is another's too", i, n.MAC)
		}
		seen[n.MAC.String()] = true
	}
	return nil
}

// validateArgs refuses arguments that the kernel's command line would alter: quotes protect
// blanks there, but nothing protects a quote.
func validateArgs(args []string) error {
	if len(args) > maxInitArgs || len(strings.Join(args, "   ")) > maxInitBytes {
		return fmt.Errorf("arguments of init: want at most %d, and %d bytes", maxInitArgs, maxInitBytes)
	}
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return r == '"' || r < ' ' || r > '~' }) {
			return fmt.Errorf("argument %q of init: the kernel's command line carries only printable ASCII without double quotes", a)
		}
		if a == "--" {
			return fmt.Errorf("argument %q of init: the kernel takes it for the end of the arguments", a)
		}
		// The kernel splits at the first '=', and takes a quote after it only if
		// the value starts there.
		if name, _, ok := strings.Cut(a, "="); ok && strings.Contains(name, " ") {
			return fmt.Errorf("argument %q of init: the kernel's command line carries no blank before an equals sign", a)
		}
	}
	return nil
}

func (n NIC) validate() error {
	switch {
	case !slices.Contains(Models(), n.Model):
		return fmt.Errorf("no such model: %q; there are %s", n.Model, strings.Join(Models(), ", "))
	case len(n.MAC) != 6 || n.MAC[0]&1 != 0 || n.MAC.String() == "00:00:00:00:00:00":
		return fmt.Errorf("%q is no MAC address that a card can have", n.MAC)
	case n.Tap != "" && !isInterfaceName(n.Tap):
		return fmt.Errorf("%q is no name of an interface", n.Tap)
	case n.Node != 0 && n.Node != 1:
		return fmt.Errorf("NUMA node %d, want 0 or 1", n.Node)
	case (n.PortSpeed == 0) != (n.PortWidth == 0):
		return errors.New("PCIe port: give both its speed and its width, or neither")
	case n.PortSpeed != 0 && portSpeed(n.PortSpeed) == "":
		return fmt.Errorf("PCIe port of %g GT/s, want 2.5, 5, 8 or 16", n.PortSpeed)
	case n.PortWidth != 0 && !slices.Contains([]int{1, 2, 4, 8, 16, 32}, n.PortWidth):
		return fmt.Errorf("PCIe port with %d lanes, want 1, 2, 4, 8, 16 or 32", n.PortWidth)
	}
	return nil
}

// portSpeed is the emulator's name of a speed; "" if it has none.
func portSpeed(gts float64) string {
	switch gts {
	case 0, 2.5:
		return "2_5"
	case 5:
		return "5"
	case 8:
		return "8"
	case 16:
		return "16"
	}
	return ""
}

func isHostName(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '-' && !isAlnum(r) })
}

// isInterfaceName allows fewer characters than the kernel: only those that need no quoting in
// an option of the emulator.
func isInterfaceName(s string) bool {
	return len(s) <= 15 && s != "." && s != ".." &&
		!strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune("-_.@", r) && !isAlnum(r) })
}

func isAlnum(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}
