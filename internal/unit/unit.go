// Package unit holds the quantities that linerate prints: bytes and bits per
// second. It parses and prints them and never mixes the two: decimal prefixes
// (GB, Gbit/s) are powers of ten, binary ones (GiB) powers of two, and a value
// without a unit is refused where its meaning would have to be guessed.
package unit

import (
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of data in bytes.
type Bytes int64

// BitRate is a rate in bits per second. Link rates and goodput are BitRates;
// GB/s never appears for a network figure.
type BitRate float64

// Common multiples. GB is 10^9 bytes, GiB 2^30.
const (
	KB  Bytes = 1000
	MB        = 1000 * KB
	GB        = 1000 * MB
	TB        = 1000 * GB
	KiB Bytes = 1024
	MiB       = 1024 * KiB
	GiB       = 1024 * MiB
	TiB       = 1024 * GiB

	Kbit BitRate = 1e3
	Mbit         = 1e6 * BitRate(1)
	Gbit         = 1e9 * BitRate(1)
)

// String prints with a binary prefix and at most three significant digits,
// e.g. "256 KiB", "4 MiB", "1.5 GiB".
func (b Bytes) String() string {
	neg := ""
	v := float64(b)
	if v < 0 {
		neg, v = "-", -v
	}
	for _, u := range []struct {
		name string
		size float64
	}{{"TiB", float64(TiB)}, {"GiB", float64(GiB)}, {"MiB", float64(MiB)}, {"KiB", float64(KiB)}} {
		if v >= u.size {
			return neg + sig3(v/u.size) + " " + u.name
		}
	}
	return neg + strconv.FormatFloat(v, 'f', 0, 64) + " B"
}

// String prints with a decimal prefix and three significant digits, e.g.
// "941 Mbit/s", "9.41 Gbit/s", "0 bit/s".
func (r BitRate) String() string {
	v := float64(r)
	if math.IsNaN(v) {
		return "unknown"
	}
	neg := ""
	if v < 0 {
		neg, v = "-", -v
	}
	for _, u := range []struct {
		name string
		size float64
	}{{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}} {
		// 999.7 Mbit/s would round to "1000 Mbit/s": go one prefix up.
		if v >= u.size*0.9995 {
			return neg + sig3(v/u.size) + " " + u.name
		}
	}
	return neg + sig3(v) + " bit/s"
}

func sig3(v float64) string {
	prec := 2
	switch {
	case v >= 99.95:
		prec = 0
	case v >= 9.995:
		prec = 1
	}
	out := strconv.FormatFloat(v, 'f', prec, 64)
	if strings.Contains(out, ".") {
		out = strings.TrimRight(strings.TrimRight(out, "0"), ".")
	}
	return out
}
