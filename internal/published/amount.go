package published

import (
	"strconv"

	"linerate/internal/unit"
)

// binaryMega is the ratio of a megabyte of 2^20 bytes to one of 10^6. No paper says which of
// the two its tool means.
const binaryMega = 1 << 20 / 1e6

// Rate is the printed throughput with a megabyte of 10^6 bytes; for a range, its lower end. 0:
// the result is not a throughput.
func (r Result) Rate() unit.BitRate {
	return r.rate(r.Value)
}

// RateTo is the upper end of a range of throughputs, like Rate; 0: no range.
func (r Result) RateTo() unit.BitRate {
	return r.rate(r.To)
}

func (r Result) rate(v float64) unit.BitRate {
	switch {
	case r.Metric != Throughput:
		return 0
	case r.Unit == "Gbps":
		return unit.BitRate(v) * unit.Gbit
	}
	return unit.BitRate(v) * 8e6
}

// bounds are the rates between which a throughput certainly is, according to the paper: "over"
// has no upper end (-1), "up to" no lower one. The upper end of a value in MB/s is its value
// with a megabyte of 2^20 bytes.
func (r Result) bounds() (low, high unit.BitRate) {
	low, high = r.Rate(), max(r.Rate(), r.RateTo())
	if r.Unit == "MB/s" {
		high *= binaryMega
	}
	switch r.As {
	case Over:
		high = -1
	case Under, UpTo, Almost:
		low = 0
	}
	return low, high
}

// Share is the throughput over the link's rate; for a range, of its lower end. nil: the result
// is not a throughput, the link's rate is not stated, or the throughput exceeds it and so is
// not that of one direction of one link.
func (r Result) Share() *float64 {
	if r.Metric != Throughput || r.Link == 0 || max(r.Rate(), r.RateTo()) > r.Link {
		return nil
	}
	s := float64(r.Rate() / r.Link)
	return &s
}

// Amount prints the number as the paper does: "600 MB/s", "over 9 Gbps",
// "200-300 MB/s", "up to 20-50% more".
func (r Result) Amount() string {
	s := strconv.FormatFloat(r.Value, 'f', -1, 64)
	if r.To > 0 {
		s += "-" + strconv.FormatFloat(r.To, 'f', -1, 64)
	}
	if r.Unit[0] != '%' && r.Unit != "×" {
		s += " "
	}
	s += r.Unit
	if r.As != "" {
		s = string(r.As) + " " + s
	}
	return s
}
