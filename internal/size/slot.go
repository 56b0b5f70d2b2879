package size

import "linerate/internal/unit"

// UsualPayload is the Maximum Payload Size of most servers in bytes, taken where
// it could not be read.
const UsualPayload = 256

// LineCode is the share of a PCIe lane's transfers that its line code leaves, by
// the transfer rate in GT/s: 8b/10b up to 5, 128b/130b up to 32, and 242 of the
// 256 bytes of a flit above (PCI Express Base Specification).
func LineCode(gts float64) float64 {
	switch {
	case gts <= 5:
		return 8.0 / 10
	case gts > 32:
		return 242.0 / 256
	}
	return 128.0 / 130
}

// SlotRate is what a PCIe link carries in one direction after its line code and
// before packet headers: GT/s × lanes × code. With SlotPayload it is the one
// place of this formula: findings, ceilings and the calculator use it.
func SlotRate(gts float64, lanes int) unit.BitRate {
	return unit.BitRate(gts * 1e9 * float64(lanes) * LineCode(gts))
}

// SlotPayload is what is left of that for data in packets of so many bytes of payload: rate ×
// payload / (payload + 24). Acknowledgements, flow control and descriptors come on top, so that
// it is an upper bound. Without a payload it is UsualPayload.
func SlotPayload(link unit.BitRate, payload int) unit.BitRate {
	if payload <= 0 {
		payload = UsualPayload
	}
	return link * unit.BitRate(payload) / unit.BitRate(payload+PacketOverhead)
}
