package kernel

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Prefixes of a device id, see DeviceIDs.
const (
	devicePCI = "pci:"
	deviceMAC = "mac:"
	deviceIf  = "if:"
)

// ErrNoDevice is the cause when a device that was named is not there (any
// more).
var ErrNoDevice = errors.New("no such device")

// DeviceIDs names the device behind each interface in a way that survives a
// renamed interface: "pci:0000:3b:00.0", or "mac:…" with the permanent
// address, or "if:NAME" for an interface that has neither. A PCI function with
// two ports (ConnectX-3) does not tell them apart, so these go by MAC. The
// answer is by interface name; ports are those that Source.Port gave.
func DeviceIDs(links []Link, ports map[string]Port) map[string]string {
	users := map[string]int{}
	for _, l := range links {
		users[PCIAddress(l, ports[l.Name])]++
	}
	ids := map[string]string{}
	for _, l := range links {
		pci := PCIAddress(l, ports[l.Name])
		switch {
		case pci != "" && users[pci] == 1:
			ids[l.Name] = devicePCI + pci
		case l.PermMAC != "":
			ids[l.Name] = deviceMAC + l.PermMAC
		default:
			ids[l.Name] = deviceIf + l.Name
		}
	}
	return ids
}

// PCIAddress is where the interface's device sits, or "" when that is not on
// a PCI bus.
func PCIAddress(l Link, p Port) string {
	if l.Bus == "pci" && IsPCIAddress(l.BusID) {
		return l.BusID
	}
	if IsPCIAddress(p.BusInfo) {
		return p.BusInfo
	}
	return ""
}

// IsPCIAddress checks for domain:bus:device.function in hexadecimal. The
// answer becomes part of a path.
func IsPCIAddress(s string) bool {
	f := strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == '.' })
	if len(f) != 4 || len(f[0]) < 4 || len(f[1]) != 2 || len(f[2]) != 2 || len(f[3]) != 1 {
		return false
	}
	if s != f[0]+":"+f[1]+":"+f[2]+"."+f[3] {
		return false
	}
	return strings.Trim(strings.Join(f, ""), "0123456789abcdef") == ""
}

// FindDevice returns the name that the interface of a device id has on this
// host now. No such device, or an id that is none, is an error.
func FindDevice(ctx context.Context, src Source, device string) (string, error) {
	links, err := src.Links(ctx)
	if err != nil {
		return "", fmt.Errorf("find device %s: %w", device, err)
	}
	ports := map[string]Port{}
	for _, l := range links {
		ports[l.Name] = src.Port(l.Name)
	}
	for name, id := range DeviceIDs(links, ports) {
		if id == device {
			return name, nil
		}
	}
	// The device may go by a better id since (a second port appeared).
	for _, l := range links {
		if device == deviceIf+l.Name || (l.PermMAC != "" && device == deviceMAC+l.PermMAC) {
			return l.Name, nil
		}
	}
	return "", fmt.Errorf("find device %s: no interface of this host belongs to it; ids are pci:ADDRESS, mac:PERMANENT-ADDRESS or if:NAME: %w", device, ErrNoDevice)
}
