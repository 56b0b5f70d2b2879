package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// This is the one grammar of quantities, in flags as in files:
//
//	rate  10Gbit, 10 Gbit/s, 10Gbps, 10Gb, 10G or 10g: bits per second, prefixes of ten
//	size  1500 and 1500B are bytes; 4KB is 4000, 4KiB 4096; and 4k, 4K is 4096 too, as for
//	      fio, dd and mount options
//	time  500us, 16ms, 90s, 1m30s, 2h
//
// A rate or time without a unit is refused, 0 excepted: which one was meant would be a guess.

// ParseBitRate reads a rate in bits per second. A bare number, a rate in bytes, a negative
// or non-finite one is an error.
func ParseBitRate(s string) (BitRate, error) {
	num, suffix := split(s)
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("parse rate %q: want a number and a unit, such as 1Gbit", s)
	}
	suffix = strings.TrimSuffix(strings.TrimSuffix(suffix, "/s"), "ps")
	mult, ok := map[string]BitRate{
		"bit": 1, "kbit": Kbit, "Kbit": Kbit, "mbit": Mbit, "Mbit": Mbit, "gbit": Gbit, "Gbit": Gbit, "tbit": 1000 * Gbit, "Tbit": 1000 * Gbit,
		"b": 1, "kb": Kbit, "Kb": Kbit, "Mb": Mbit, "Gb": Gbit, "Tb": 1000 * Gbit,
		"k": Kbit, "K": Kbit, "m": Mbit, "M": Mbit, "g": Gbit, "G": Gbit, "t": 1000 * Gbit, "T": 1000 * Gbit,
	}[suffix]
	if !ok {
		return 0, fmt.Errorf("parse rate %q: unit must be bit, kbit, Mbit or Gbit per second", s)
	}
	return BitRate(v) * mult, nil
}

// ParseBytes reads an amount of data.
func ParseBytes(s string) (Bytes, error) {
	num, suffix := split(s)
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("parse size %q: want a number and a unit, such as 256KiB", s)
	}
	mult, ok := map[string]Bytes{
		"": 1, "B": 1, "KB": KB, "kB": KB, "MB": MB, "GB": GB, "TB": TB, "KiB": KiB, "MiB": MiB, "GiB": GiB, "TiB": TiB,
		"k": KiB, "K": KiB, "m": MiB, "M": MiB, "g": GiB, "G": GiB, "t": TiB, "T": TiB,
	}[suffix]
	if !ok {
		return 0, fmt.Errorf("parse size %q: unit must be B, KB, MB, GB, TB, KiB, MiB, GiB or TiB", s)
	}
	total := v * float64(mult)
	if total >= math.MaxInt64 {
		return 0, fmt.Errorf("parse size %q: too large", s)
	}
	return Bytes(total), nil
}

// ParseTime reads a time. Of a bare number it cannot be told whether seconds or
// milliseconds are meant: it is refused, and so is what is not finite.
func ParseTime(s string) (time.Duration, error) {
	text := strings.ReplaceAll(strings.TrimSpace(s), " ", "")
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, bare := strconv.ParseFloat(text, 64); bare == nil {
		return 0, fmt.Errorf("parse time %q: want a unit too: %ss are seconds, %sms milliseconds", s, text, text)
	}
	return 0, fmt.Errorf("parse time %q: want a number and a unit, such as 500us, 16ms, 90s or 2h", s)
}

func split(s string) (num, suffix string) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if i < 0 {
		return s, ""
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i:])
}
