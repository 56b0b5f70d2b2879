package shape

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"linerate/internal/unit"
)

// Bounds of what is typed. A mix has a histogram for each of its sizes.
const (
	MaxSizes = 16
	maxBands = 64 // as many as fio takes
)

// ParsePattern reads into s a pattern as a user writes it: sequential, random, once,
// zipf:EXPONENT, seek:PERCENT of the requests that do not follow the one before, or
// zoned:REQUESTS/SPACE:REQUESTS/SPACE… in percent. Zones follow
// each other from the beginning of the area; one that no request goes to is a gap.
// The syntax of zones is that of fio's random_distribution=zoned (fio(1)), and
// seek's percentage is vdbench's seekpct.
func ParsePattern(text string, s *Shape) (err error) {
	name, rest, has := strings.Cut(text, ":")
	pattern, theta, jump, hot := Pattern(name), 0.0, 0.0, []Band(nil)
	switch {
	case pattern == Zipf:
		if theta, err = strconv.ParseFloat(rest, 64); err != nil {
			return fmt.Errorf("pattern %q: want an exponent after the colon, such as zipf:0.99", text)
		}
	case pattern == Seek:
		if jump, err = ParsePercent(rest); err != nil || jump == 0 || jump == 100 {
			return fmt.Errorf("pattern %q: want the percentage of requests that go elsewhere after the colon, above 0 (sequential) and below 100 (random), such as seek:20", text)
		}
	case name == "zoned":
		if hot, err = zones(rest); err != nil {
			return err
		}
		pattern = Random
	case has || pattern != Sequential && pattern != Random && pattern != Once:
		return fmt.Errorf("pattern %q: choose sequential, random, once, zipf:EXPONENT, seek:PERCENT (of the requests that do not follow the one before) or zoned:90/10:10/90 (90%% of the requests to the first 10%% of the space, the others to the rest)", text)
	}
	s.Pattern, s.Theta, s.Jump, s.Hot = pattern, theta, jump/100, hot
	return nil
}

// zones reads REQUESTS/SPACE:REQUESTS/SPACE…
func zones(text string) ([]Band, error) {
	parts := strings.Split(text, ":")
	if len(parts) > maxBands {
		return nil, fmt.Errorf("pattern zoned: %d zones, want at most %d", len(parts), maxBands)
	}
	var out []Band
	requests, space := 0.0, 0.0
	for _, part := range parts {
		a, b, _ := strings.Cut(part, "/")
		share, err1 := ParsePercent(a)
		size, err2 := ParsePercent(b)
		if err1 != nil || err2 != nil || size == 0 {
			return nil, fmt.Errorf("pattern zoned: %q: want REQUESTS/SPACE in percent for each zone, such as zoned:90/10:10/90", part)
		}
		from := space
		requests, space = requests+share, space+size
		if share > 0 {
			out = append(out, Band{From: min(from/100, 1), To: min(space/100, 1), Share: share / 100})
		}
	}
	switch {
	case !hundred(requests):
		return nil, fmt.Errorf("pattern zoned:%s: the zones have %.4g%% of the requests, not 100%%", text, requests)
	case !hundred(space):
		return nil, fmt.Errorf("pattern zoned:%s: the zones have %.4g%% of the space, not 100%%; a gap is a zone that no request goes to, as 0/%.4g", text, space, max(0, 100-space))
	}
	if last := &out[len(out)-1]; hundred(100 * last.To) {
		last.To = 1 // sums of percentages may miss it by a rounding
	}
	return out, nil
}

// ParseSizes reads one request size, or several with the percentage of the
// requests that each has: 4k/60:64k/30:1m/10, the syntax of fio's bssplit (fio(1)).
func ParseSizes(text string) ([]SizeShare, error) {
	if !strings.ContainsAny(text, "/:,") {
		n, err := ParseSize(text)
		return []SizeShare{{Size: n, Share: 1}}, err
	}
	parts := strings.Split(text, ":")
	if len(parts) > MaxSizes {
		return nil, fmt.Errorf("%d sizes, want at most %d", len(parts), MaxSizes)
	}
	var out []SizeShare
	sum := 0.0
	for _, part := range parts {
		a, b, _ := strings.Cut(part, "/")
		n, err1 := ParseSize(a)
		share, err2 := ParsePercent(b)
		if err1 != nil || err2 != nil || share == 0 {
			return nil, fmt.Errorf("%q of %q: want sizes with the percentage of requests that each has, such as 4k/60:64k/30:1m/10", part, text)
		}
		for _, z := range out {
			if z.Size == n {
				return nil, fmt.Errorf("%q: %v stands twice", text, n)
			}
		}
		sum += share
		out = append(out, SizeShare{Size: n, Share: share / 100})
	}
	if !hundred(sum) {
		return nil, fmt.Errorf("%q: the percentages add up to %.4g, not 100", text, sum)
	}
	return out, nil
}

// SizesText is sizes for people: 4 KiB, or 4 KiB (60%), 64 KiB (40%).
func SizesText(sizes []SizeShare) string {
	var parts []string
	for _, z := range sizes {
		if len(sizes) == 1 {
			return z.Size.String()
		}
		parts = append(parts, fmt.Sprintf("%v (%.4g%%)", z.Size, 100*z.Share))
	}
	return strings.Join(parts, ", ")
}

// ParseSize reads a size above 0: 4k is 4096 bytes, as for fio, vdbench and iozone; 4KB is
// 4000 and 4KiB is 4096.
func ParseSize(text string) (unit.Bytes, error) {
	n, err := unit.ParseBytes(text)
	if err == nil && n < 1 {
		err = fmt.Errorf("%q: want a size above 0", text)
	}
	return n, err
}

// ParsePercent reads a number from 0 to 100.
func ParsePercent(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 100) {
		return 0, fmt.Errorf("%q is no percentage", text)
	}
	return v, nil
}

func hundred(sum float64) bool { return math.Abs(sum-100) < 1e-6 }
