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

// ErrNoDevice is the cause if a named device does not exist, or no longer does.
var ErrNoDevice = errors.New("no such device")

// DeviceIDs gives the device behind each interface an id that survives a renamed interface:
// "pci:0000:3b:00.0", or "mac:…" with the permanent address, or "if:NAME" for an interface that
// has neither. Ports that share a PCI function (ConnectX-3) go by MAC. The result is by interface
// name; ports are those of Source.Port.
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

// PCIAddress is the PCI address of the interface's device; "" if it has none.
func PCIAddress(l Link, p Port) string {
	if l.Bus == "pci" && IsPCIAddress(l.BusID) {
		return l.BusID
	}
	if IsPCIAddress(p.BusInfo) {
		return p.BusInfo
	}
	return ""
}

// IsPCIAddress checks for domain:bus:device.function in hexadecimal, since the address becomes
// part of a path.
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

// FindDevice returns the current interface name of a device id on this host. A missing device or
// a malformed id is an error.
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
	// The device may have got a better id since (a second port appeared).
	for _, l := range links {
		if device == deviceIf+l.Name || (l.PermMAC != "" && device == deviceMAC+l.PermMAC) {
			return l.Name, nil
		}
	}
	return "", fmt.Errorf("find device %s: no interface of this host belongs to it; ids are pci:ADDRESS, mac:PERMANENT-ADDRESS or if:NAME: %w", device, ErrNoDevice)
}
