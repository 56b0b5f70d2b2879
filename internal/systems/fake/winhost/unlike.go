package winhost

// unlike makes the second adapter one of another vendor: its driver takes other values for jumbo
// frames, names transmit buffers one by one, keeps receive buffers under a keyword of its own, and
// has no RSS profile. The first one takes fewer frames than it else does.
func unlike(d *data) {
	one, two := d.Adapters[0].Keywords, d.Adapters[1].Keywords
	d.Adapters[1].Description, d.Adapters[1].Driver = "Andere Karte 10G", `\SystemRoot\System32\drivers\other.sys`
	one["*JumboPacket"] = keyword{Value: "1514", Valid: []string{"1514", "9014"}, Default: "1514", Display: "Jumbo Packet"}
	two["*JumboPacket"] = keyword{Value: "1514", Valid: []string{"1514", "4088", "9014", "16128"}, Default: "1514", Display: "Großrahmen (MTU)"}
	two["*TransmitBuffers"] = keyword{Value: "1024", Valid: []string{"1024", "2048"}, Default: "1024", Display: "Sendepuffer"}
	two["RxRing"] = keyword{Value: "512", Min: "128", Max: "4096", Step: "8", Default: "512", Display: "Empfangspuffer"}
	delete(two, "*ReceiveBuffers")
	delete(two, "*RSSProfile")
}

// tampered is a host with one adapter, from which old advice took RSS and large send offload.
func tampered(d *data) {
	d.Adapters = d.Adapters[:1]
	d.Adapters[0].Name = "Ethernet 2" // as Windows itself calls one
	for _, name := range []string{"*RSS", "*LsoV2IPv4"} {
		k := d.Adapters[0].Keywords[name]
		k.Value = "0"
		d.Adapters[0].Keywords[name] = k
	}
}
