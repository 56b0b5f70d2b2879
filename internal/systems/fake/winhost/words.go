package winhost

import (
	"slices"
	"strings"
)

// in gives the words of the host's language, which is German unless it is told to be English.
func (h *Host) in(german, english string) string {
	if slices.Contains(h.how, "english") {
		return english
	}
	return german
}

// shown is what a property is called for people: by the driver's own words where it has some.
func (h *Host) shown(name string, k keyword) string {
	if k.Display != "" {
		return k.Display
	}
	return map[string]string{
		"*JumboPacket": h.in("Großrahmen", "Jumbo Packet"), "*FlowControl": h.in("Flusssteuerung", "Flow Control"),
		"*ReceiveBuffers": h.in("Empfangspuffer", "Receive Buffers"), "*TransmitBuffers": h.in("Übertragungspuffer", "Transmit Buffers"),
		"*InterruptModeration": h.in("Interruptüberprüfung", "Interrupt Moderation"), "*RSS": h.in("Empfangsseitige Skalierung", "Receive Side Scaling"),
	}[name]
}

// value is what a property's value is called for people.
func (h *Host) value(name string, k keyword) string {
	switch {
	case name == "*JumboPacket" && k.Value != "1514":
		return strings.TrimSuffix(k.Value, "14") + h.in(",014 KByte", ".014 kBytes")
	case name == "*FlowControl" && k.Value == "3":
		return h.in("Rx- & Tx-fähig", "Rx & Tx Enabled")
	case k.Value == "0" || name == "*JumboPacket":
		return h.in("Deaktiviert", "Disabled")
	case k.Value == "1":
		return h.in("Aktiviert", "Enabled")
	}
	return k.Value
}

// looks are the state, the medium and the speed of an adapter, as they are shown to people.
func (h *Host) looks(a adapter) (state, media, speed string) {
	if a.Up {
		return h.in("Betriebsbereit", "Up"), h.in("Verbunden", "Connected"), h.in("10,0 GBit/s", "10.0 Gbps")
	}
	return h.in("Getrennt", "Disconnected"), h.in("Getrennt", "Disconnected"), h.in("0,0 Bit/s", "0.0 bps")
}
