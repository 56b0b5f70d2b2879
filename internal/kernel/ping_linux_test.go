package kernel

import (
	"errors"
	"net/netip"
	"os"
	"testing"

	"linerate/internal/lab/labtest"
)

func TestPingWhole(t *testing.T) {
	labtest.Needs(t, labtest.Root) // for a raw socket
	for _, addr := range []string{"127.0.0.1", "::1"} {
		to := netip.MustParseAddr(addr)
		for _, size := range []int{100, 1500, 9001} {
			err := PingWhole(t.Context(), to, size)
			if errors.Is(err, os.ErrPermission) {
				t.Skipf("raw sockets are refused here: %v", err)
			}
			if err != nil {
				t.Errorf("%s, %d octets: %v", to, size, err)
			}
		}
		// The loopback interface takes 65536.
		if err := PingWhole(t.Context(), to, 65560); err == nil {
			t.Errorf("%s: 65560 octets got through", to)
		}
	}
}

func TestChecksum(t *testing.T) {
	// RFC 1071 section 3: the sum of these is ddf2.
	if got := checksum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != ^uint16(0xddf2) {
		t.Errorf("%04x", got)
	}
	if got := checksum([]byte{0x01}); got != ^uint16(0x0100) {
		t.Errorf("odd: %04x", got)
	}
}
