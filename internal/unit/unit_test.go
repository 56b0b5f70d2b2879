package unit

import (
	"strings"
	"testing"
	"time"
)

func TestBitRateString(t *testing.T) {
	for in, want := range map[BitRate]string{
		0: "0 bit/s", 941e6: "941 Mbit/s", 9.414e9: "9.41 Gbit/s", 999.7e6: "1 Gbit/s",
		1e9: "1 Gbit/s", 10e9: "10 Gbit/s", 123: "123 bit/s", -5e6: "-5 Mbit/s", 33.3e3: "33.3 kbit/s",
	} {
		if got := in.String(); got != want {
			t.Errorf("BitRate(%g) prints %q, want %q", float64(in), got, want)
		}
	}
}

func TestBytesString(t *testing.T) {
	for in, want := range map[Bytes]string{
		0: "0 B", 1023: "1023 B", 256 * KiB: "256 KiB", 4 * MiB: "4 MiB", 3 * GiB / 2: "1.5 GiB", 2 * TiB: "2 TiB", -2 * KiB: "-2 KiB",
	} {
		if got := in.String(); got != want {
			t.Errorf("Bytes(%d) prints %q, want %q", int64(in), got, want)
		}
	}
}

func TestParseBitRate(t *testing.T) {
	for in, want := range map[string]BitRate{"10G": 10 * Gbit, "10g": 10 * Gbit, "2.5M": 2.5 * Mbit, "64k": 64 * Kbit, "1T": 1000 * Gbit, "0.4Tbit/s": 400 * Gbit,
		"1Gbit": 1e9, "1 Gbit/s": 1e9, "2.5Gbps": 2.5e9, "100mbit": 1e8, "10 kbit/s": 1e4, "300Mbit": 3e8, "7bit": 7,
	} {
		if got, err := ParseBitRate(in); err != nil || got != want {
			t.Errorf("ParseBitRate(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "1", "0.5", "1Gi", "10GB/s", "Gbit", "-1Gbit", "1GB", "1GB/s", "1 parsec", "NaNGbit", "1e400Gbit", "mb"} {
		if got, err := ParseBitRate(in); err == nil {
			t.Errorf("ParseBitRate(%q) = %v, want an error", in, got)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]Bytes{"1500": 1500, "256KiB": 256 * KiB, "4 MiB": 4 * MiB, "10GB": 10 * GB, "10TB": 10 * TB, "1.5TiB": 1536 * GiB, "1.5KiB": 1536, "4k": 4096, "1M": MiB, "2g": 2 * GiB, "1T": TiB} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "1Gbit", "9999999999GiB", "4 mib"} {
		if got, err := ParseBytes(in); err == nil {
			t.Errorf("ParseBytes(%q) = %v, want an error", in, got)
		}
	}
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]time.Duration{"500us": 500 * time.Microsecond, "16 ms": 16 * time.Millisecond, "1m30s": 90 * time.Second, "2h": 2 * time.Hour, "0": 0, "0s": 0} {
		if got, err := ParseTime(in); err != nil || got != want {
			t.Errorf("ParseTime(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for in, says := range map[string]string{"5": "5s are seconds, 5ms milliseconds", "1.5": "1.5s are seconds", "": "such as 500us", "s": "such as 500us", "NaN": "unit too", "5 parsec": "such as"} {
		if got, err := ParseTime(in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseTime(%q) = %v, %v; want an error with %q", in, got, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1Gbit", "256KiB", "-", "1e5", "..", "1 Gbit/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := ParseBitRate(s); err == nil && !(r >= 0) {
			t.Errorf("ParseBitRate(%q) = %v, accepted", s, r)
		}
		if b, err := ParseBytes(s); err == nil && b < 0 {
			t.Errorf("ParseBytes(%q) = %v, accepted", s, b)
		}
	})
}

func TestCPUList(t *testing.T) {
	for _, c := range []struct {
		cpus []int
		want string
	}{
		{nil, ""},
		{[]int{3}, "3"},
		{[]int{8, 0, 1, 2, 3, 3}, "0-3,8"},
	} {
		if got := CPUList(c.cpus); got != c.want {
			t.Errorf("CPUList(%v) = %q, want %q", c.cpus, got, c.want)
		}
	}
}
