package explain

import (
	"math"
	"testing"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func TestWindowShare(t *testing.T) {
	for _, tc := range []struct {
		kernel, scale string
		mss           int
		want          float64
	}{
		{"5.10.0-30-amd64", "1", 1448, 0.5}, {"5.10.0", "2", 1448, 0.75}, {"5.10.0", "-2", 1448, 0.25}, {"5.10.0", "0", 1448, 1},
		{"5.10.0", "x", 1448, 0.5}, {"6.5.9", "1", 8948, 0.5},
		{"6.6.0", "1", 1448, 0.63}, {"6.12.1-arch", "1", 1448, 0.63}, {"7.0", "-2", 0, 0.63}, {"6.18.2", "1", 8948, 0.73},
		{"6.18.2", "1", 536, 0.23}, {"6.18.2", "1", 2948, 0.72}, {"6.18.2", "1", 65483, 0.94},
	} {
		e := &End{Facts: &model.Facts{Kernel: tc.kernel, Settings: map[string]model.Fact[string]{winScaleSetting: model.Known(tc.scale)}}}
		if got := windowShare(e, tc.mss); math.Abs(got-tc.want) > 0.005 {
			t.Errorf("kernel %q, scale %q, segments of %d: %.3f, want %.2f", tc.kernel, tc.scale, tc.mss, got, tc.want)
		}
	}
	for _, e := range []*End{nil, {}, {Facts: &model.Facts{}}} {
		if got := windowShare(e, 1448); math.Abs(got-0.63) > 0.005 {
			t.Errorf("%+v: %.3f of an unknown kernel", e, got)
		}
	}
}

// A window that is full shows its share of the buffer; any other is computed.
func TestWindowShareAsSeen(t *testing.T) {
	for _, tc := range []struct {
		name string
		k    knobs
		want float64
	}{
		{"seen", knobs{rwnd: 0.9, full: true, wnd: 180 << 10, rcvbuf: 256 << 10, rate: 140e6}, 180. / 256},
		{"the window is not full", knobs{cwnd: 50, wnd: 180 << 10, rcvbuf: 256 << 10}, 1448. / 2304},
		{"a reader behind", knobs{rwnd: 0.9, full: true, wnd: 100 << 10, recvQ: 100 << 10, rcvbuf: 256 << 10}, 1448. / 2304},
		{"a connection that starts", knobs{rwnd: 0.9, full: true, wnd: 20 << 10, rcvbuf: 256 << 10}, 1448. / 2304},
	} {
		c := tc.k.build()
		if got := look(c).scenes[0].windowShare(); math.Abs(got-tc.want) > 0.01 {
			t.Errorf("%s: %.3f, want %.3f", tc.name, got, tc.want)
		}
	}
}

// The goodput foretold for a receive buffer of so many bytes is that of the
// recorded path whose buffer was that large, within 15%.
func TestWindowShareForetellsRecordings(t *testing.T) {
	for _, name := range []string{"rmem256.cubic", "rmem256.bbr"} {
		c := readRecording(t, name)
		limit, ok := thirdOf(c.Receiver, rmemSetting)
		if !ok {
			t.Fatalf("%s: no tcp_rmem", name)
		}
		s := look(c).scenes[0]
		for how, share := range map[string]float64{"as seen": s.windowShare(), "computed": windowShare(c.Receiver, s.mss())} {
			told := s.perTrip(float64(limit) * share)
			if off := told/s.total - 1; math.Abs(off) > 0.15 {
				t.Errorf("%s, share %s %.2f: %s foretold, %s measured", name, how, share, unit.BitRate(told), unit.BitRate(s.total))
			}
		}
	}
}
