package facts

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// readPCIID reads the ids of a device (Documentation/ABI/testing/sysfs-bus-pci).
func readPCIID(src kernel.Files, dir string) model.Fact[model.PCIID] {
	var n [3]uint64
	for i, f := range []struct {
		name string
		bits int
	}{{"vendor", 16}, {"device", 16}, {"revision", 8}} {
		w := word(src, dir+f.name)
		if w.State != model.Present {
			return model.Unknown[model.PCIID](w.State, w.Why)
		}
		v, err := strconv.ParseUint(strings.TrimPrefix(w.Value, "0x"), 16, f.bits)
		if err != nil {
			return model.Unknown[model.PCIID](model.Unsupported, dir+f.name+" holds no number")
		}
		n[i] = v
	}
	return model.Known(model.PCIID{Vendor: uint16(n[0]), Device: uint16(n[1]), Revision: uint8(n[2])})
}

// Offsets and bits of the configuration space (PCI Express Base Specification
// sections 7.5.1 and 7.5.3; include/uapi/linux/pci_regs.h).
const (
	pciPlainSpace  = 64 // what an ordinary user gets of it
	pciStatus      = 0x06
	pciHasCaps     = 1 << 4
	pciFirstCap    = 0x34
	pciCapExpress  = 0x10
	pciDevCaps     = 4 // within the capability
	pciDevControl  = 8
	pciSmallest    = 128 // bytes of payload that the value 0 means
	pciMostPayload = 5   // 4096 bytes; 6 and 7 are reserved
)

var errOnlyRoot = errors.New("only root sees more than the first 64 bytes of the configuration space")

// readPayload reads the maximum payload size of a PCIe device.
func readPayload(src kernel.Files, dir string) model.Fact[model.PCIPayload] {
	b, err := src.ReadFile(dir + "config")
	if err != nil {
		return lost[model.PCIPayload](err)
	}
	p, err := parsePayload(b)
	switch {
	case errors.Is(err, errOnlyRoot):
		return model.Unknown[model.PCIPayload](model.Denied, err.Error())
	case err != nil:
		return model.Unknown[model.PCIPayload](model.Unsupported, err.Error())
	}
	return model.Known(p)
}

// parsePayload finds the PCIe capability in a configuration space, binary as the kernel returns
// it or hexadecimal as in a recording.
func parsePayload(b []byte) (model.PCIPayload, error) {
	if text := bytes.TrimSpace(b); len(text) >= 2*pciPlainSpace && len(bytes.Trim(text, "0123456789abcdef")) == 0 {
		plain := make([]byte, hex.DecodedLen(len(text)))
		n, _ := hex.Decode(plain, text) // an odd last digit is dropped
		b = plain[:n]
	}
	if len(b) < pciPlainSpace || binary.LittleEndian.Uint16(b[pciStatus:])&pciHasCaps == 0 {
		return model.PCIPayload{}, errors.New("the device has no PCIe capability")
	}
	if len(b) == pciPlainSpace {
		return model.PCIPayload{}, errOnlyRoot
	}
	// At most 48 capabilities fit; the bound ends a circular list.
	for at, n := int(b[pciFirstCap])&^3, 0; at >= pciPlainSpace && at+pciDevControl+2 <= len(b) && n < 48; at, n = int(b[at+1])&^3, n+1 {
		if b[at] != pciCapExpress {
			continue
		}
		caps, control := binary.LittleEndian.Uint32(b[at+pciDevCaps:]), binary.LittleEndian.Uint16(b[at+pciDevControl:])
		most, now, read := caps&7, control>>5&7, control>>12&7
		if most > pciMostPayload || now > pciMostPayload || read > pciMostPayload {
			break
		}
		return model.PCIPayload{Payload: pciSmallest << now, PayloadMax: pciSmallest << most, ReadRequest: pciSmallest << read}, nil
	}
	return model.PCIPayload{}, errors.New("the device has no PCIe capability")
}

// payloadBlind says once what an ordinary user cannot read of PCIe.
func payloadBlind(f *model.Facts) {
	for _, n := range f.NICs {
		if n.Payload.State == model.Denied {
			f.CouldNotSee = append(f.CouldNotSee, model.Blind{
				What: "PCIe payload sizes", WouldShow: "what packet headers take of the slot of " + n.Name + " and others", How: "run as root on that host",
			})
			return
		}
	}
}
