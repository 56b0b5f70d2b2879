package kernel

import (
	"encoding/binary"
	"testing"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// attr builds one netlink attribute.
func attr(kind uint16, v []byte) []byte {
	b := make([]byte, 4, 4+len(v)+3)
	binary.NativeEndian.PutUint16(b, uint16(4+len(v)))
	binary.NativeEndian.PutUint16(b[2:], kind)
	b = append(b, v...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func word(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

func ethAnswer(parts ...[]byte) []byte {
	b := make([]byte, genlHeaderLen)
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func TestParseEthnl(t *testing.T) {
	ring, err := ParseEthRings(ethAnswer(attr(2, word(8192)), attr(6, word(1024)), attr(5, word(4096)), attr(9, word(512))))
	if want := (model.Ring{Rx: 1024, RxMax: 8192, Tx: 512, TxMax: 4096}); ring != want || err != nil {
		t.Errorf("%+v, %v", ring, err)
	}
	ch, err := ParseEthChannels(ethAnswer(attr(5, word(63)), attr(9, word(1))))
	if want := (model.Channels{CombinedMax: 63, Combined: 1}); ch != want || ch.Receive() != 1 || ch.ReceiveMax() != 63 || err != nil {
		t.Errorf("%+v, %v", ch, err)
	}
	co, err := ParseEthCoalesce(ethAnswer(attr(2, word(8)), attr(11, []byte{1})))
	if want := (model.Coalesce{RxUsecs: 8, AdaptiveRx: true}); co != want || err != nil {
		t.Errorf("%+v, %v", co, err)
	}
	stats := append(attr(2, binary.NativeEndian.AppendUint64(nil, 7)), attr(3, binary.NativeEndian.AppendUint64(nil, 1<<64-1))...)
	pause, counters, err := ParseEthPause(ethAnswer(attr(3, []byte{1}), attr(5|1<<15, stats)))
	if _, told := counters["rx_pause_frames"]; !pause.Rx || pause.Tx || counters["tx_pause_frames"] != 7 || told || err != nil {
		t.Errorf("%+v %v, %v", pause, counters, err)
	}
	fec, counters, err := ParseEthFEC(ethAnswer(attr(4, word(50)), attr(5, attr(3, binary.NativeEndian.AppendUint64(nil, 12)))))
	if fec != "RS" || counters["fec_uncorrectable"] != 12 || err != nil {
		t.Errorf("%q %v, %v", fec, counters, err)
	}
	ours := append(attr(4, word(1<<5)), attr(5, append(word(1<<5|1<<12), word(0)...))...)
	modes, err := ParseEthLinkModes(ethAnswer(attr(2, []byte{1}), attr(3, ours), attr(4, attr(4, word(1<<12)))))
	if want := (model.LinkModes{Autoneg: true, Advertised: unit.Gbit, Supported: 10 * unit.Gbit, Peer: 10 * unit.Gbit}); modes != want || err != nil {
		t.Errorf("%+v, %v", modes, err)
	}
	for _, b := range [][]byte{nil, {1, 2, 3}, {0, 0, 0, 0, 99, 0, 1, 0}} {
		if _, err := ParseEthRings(b); err == nil {
			t.Errorf("%v: no error", b)
		}
	}
}

func FuzzParseEthnl(f *testing.F) {
	f.Add(ethAnswer(attr(3, attr(4, word(1<<5))), attr(5, attr(2, make([]byte, 8)))))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err1 := ParseEthRings(b)
		c, err2 := ParseEthChannels(b)
		k, err3 := ParseEthCoalesce(b)
		_, n, err4 := ParseEthPause(b)
		_, m, err5 := ParseEthFEC(b)
		l, err6 := ParseEthLinkModes(b)
		if r.Rx < 0 || c.Receive() < 0 || c.ReceiveMax() < c.Receive() || k.RxUsecs < 0 || l.Peer < 0 {
			t.Errorf("negative: %+v %+v %+v %+v", r, c, k, l)
		}
		for _, counters := range []map[string]int64{n, m} {
			for name, v := range counters {
				if v < 0 {
					t.Errorf("%s = %d", name, v)
				}
			}
		}
		if len(b) < genlHeaderLen && (err1 == nil || err2 == nil || err3 == nil || err4 == nil || err5 == nil || err6 == nil) {
			t.Error("no error for an answer without a header")
		}
	})
}

// A question that ends a kernel is not asked.
func TestUnaskable(t *testing.T) {
	if unaskable("uml-vector") == "" || unaskable("mlx5_core") != "" || unaskable("") != "" {
		t.Error("the wrong drivers are asked for their rings")
	}
}

func TestVmxnet3Step(t *testing.T) {
	for mtu, want := range map[int]int64{1500: 32, 3054: 32, 3055: 64, 9000: 96} {
		if got := vmxnet3Step(mtu); got != want {
			t.Errorf("MTU %d: %d, want %d", mtu, got, want)
		}
	}
}

func TestEthValues(t *testing.T) {
	g := ethGroups()[EthCoalesce]
	values, err := ethValues(g, map[string]int64{"rx-usecs": 8, "adaptive-rx": 1})
	if err != nil || len(values) != 2 || values[0].kind != 11 || len(values[0].v) != 1 || values[1].kind != 2 || u32(values[1].v, 0) != 8 {
		t.Errorf("%+v, %v", values, err)
	}
	b := ethAnswer(attr(values[0].kind, values[0].v), attr(values[1].kind, values[1].v))
	if got, err := parseEthGroup(g, b); err != nil || len(got) != 2 || got["rx-usecs"] != 8 || got["adaptive-rx"] != 1 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []map[string]int64{{"rx-usecs": -1}, {"rx-usecs": 1 << 32}, {"adaptive-rx": 2}, {"mini": 1}} {
		if _, err := ethValues(g, bad); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}
