package fault

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

// linkKey is a property of a link that can be set by hand. parse reads a value and returns its
// printed form and the change that it stands for.
type linkKey struct {
	name  string
	like  string // an example
	parse func(string) (string, func(*topology.Shape), error)
}

func linkKeys() []linkKey {
	return []linkKey{
		{"rate", "300Mbit/s", rateKey},
		{"delay", "5ms", durationKey(func(s *topology.Shape, d time.Duration) { s.Delay = d })},
		{"jitter", "2ms", durationKey(func(s *topology.Shape, d time.Duration) { s.Jitter = d })},
		{"loss", "0.1%", shareKey(func(s *topology.Shape, v float64) { s.Loss = v })},
		{"burst", "10", burstKey},
		{"duplicate", "1%", shareKey(func(s *topology.Shape, v float64) { s.Duplicate = v })},
		{"reorder", "1%", shareKey(reorderShare)},
		{"reorder-by", "4ms", durationKey(func(s *topology.Shape, d time.Duration) { s.ReorderBy = d })},
		{"mtu", "1500", mtuKey},
		{"queue", "64KB", queueKey},
	}
}

// reorderShare sets the share of late segments, and a default lateness if none is set.
func reorderShare(s *topology.Shape, v float64) {
	if s.Reorder = v; s.ReorderBy == 0 {
		s.ReorderBy = 4 * time.Millisecond
	}
}

// Bounds of the values that a link accepts.
const (
	slowestRate  = 8 * unit.Kbit // a full packet takes 1.5 s
	fastestRate  = 1e12
	longestDelay = 10 * time.Second
	smallestMTU  = 68 // RFC 791
	largestMTU   = 65535
	smallQueue   = 2 * unit.KB // one full packet
	largeQueue   = unit.GB
	longestBurst = 1e6
)

func rateKey(text string) (string, func(*topology.Shape), error) {
	r, err := unit.ParseBitRate(text)
	if err != nil {
		return "", nil, err
	}
	r = unit.BitRate(math.Round(float64(r)))
	if r < slowestRate || r > fastestRate {
		return "", nil, fmt.Errorf("rate %s: want %s to %s", text, slowestRate, unit.BitRate(fastestRate))
	}
	return exactRate(r), func(s *topology.Shape) { s.Rate = r }, nil
}

// exactRate prints whole bits per second without rounding.
func exactRate(r unit.BitRate) string {
	n := int64(r)
	for _, u := range []struct {
		size int64
		name string
	}{{1e9, "Gbit"}, {1e6, "Mbit"}, {1e3, "kbit"}} {
		if n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name + "/s"
		}
	}
	return strconv.FormatInt(n, 10) + "bit/s"
}

func durationKey(set func(*topology.Shape, time.Duration)) func(string) (string, func(*topology.Shape), error) {
	return func(text string) (string, func(*topology.Shape), error) {
		d, err := unit.ParseTime(text)
		if err != nil {
			return "", nil, err
		}
		if d < 0 || d > longestDelay {
			return "", nil, fmt.Errorf("duration %s: want 0 to %s", text, longestDelay)
		}
		return d.String(), func(s *topology.Shape) { set(s, d) }, nil
	}
}

// shareKey reads "0.1%" or "0.001". A share is kept in parts per 10^9, so that it is printed
// exactly.
func shareKey(set func(*topology.Shape, float64)) func(string) (string, func(*topology.Shape), error) {
	return func(text string) (string, func(*topology.Shape), error) {
		number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(v) {
			return "", nil, fmt.Errorf("share %q: want a percentage, such as 0.1%%", text)
		}
		if percent {
			v /= 100
		}
		if v < 0 || v > 1 {
			return "", nil, fmt.Errorf("share %s: want 0%% to 100%%", text)
		}
		parts := math.Round(v * 1e9)
		return strconv.FormatFloat(parts/1e7, 'f', -1, 64) + "%", func(s *topology.Shape) { set(s, parts/1e9) }, nil
	}
}

func burstKey(text string) (string, func(*topology.Shape), error) {
	n, err := whole(text, 1, longestBurst)
	if err != nil {
		return "", nil, fmt.Errorf("burst: %w", err)
	}
	return strconv.Itoa(n), func(s *topology.Shape) { s.LossBurst = float64(n) }, nil
}

func mtuKey(text string) (string, func(*topology.Shape), error) {
	n, err := whole(text, smallestMTU, largestMTU)
	if err != nil {
		return "", nil, fmt.Errorf("MTU: %w", err)
	}
	return strconv.Itoa(n), func(s *topology.Shape) { s.MTU = n }, nil
}

func whole(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: want a whole number from %d to %d", text, least, most)
	}
	return n, nil
}

func queueKey(text string) (string, func(*topology.Shape), error) {
	b, err := unit.ParseBytes(text)
	if err != nil {
		return "", nil, err
	}
	if b < smallQueue || b > largeQueue {
		return "", nil, fmt.Errorf("queue %s: want %d to %d bytes", text, smallQueue, largeQueue)
	}
	return exactBytes(b), func(s *topology.Shape) { s.Queue = b }, nil
}

func exactBytes(b unit.Bytes) string {
	if b%unit.KB == 0 {
		return strconv.FormatInt(int64(b/unit.KB), 10) + "KB"
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// directionKey selects the direction of a link: ab, ba, or both, which is the default.
const directionKey = "direction"

// parseByHand reads TARGET key=value… and brings each value into its printed form.
func parseByHand(args []string) (Injection, error) {
	i := Injection{Target: args[0]}
	if len(args) == 1 {
		return i, fmt.Errorf("%s: say what to set, as key=value", args[0])
	}
	for _, a := range args[1:] {
		key, value, ok := strings.Cut(a, "=")
		if !ok || key == "" {
			return i, fmt.Errorf("%s: %q is not key=value", i.Target, a)
		}
		if slices.ContainsFunc(i.Settings, func(s Setting) bool { return s.Key == key }) {
			return i, fmt.Errorf("%s: %s is set twice", i.Target, key)
		}
		value, err := canonical(i.Target, key, value)
		if err != nil {
			return i, fmt.Errorf("%s: %w", i.Target, err)
		}
		i.Settings = append(i.Settings, Setting{key, value})
	}
	return i, nil
}

// canonical returns a value in its printed form. It fails if no target of this kind accepts
// the value.
func canonical(target, key, value string) (string, error) {
	switch kind, _, _ := strings.Cut(target, ":"); kind {
	case "link":
		if key == directionKey {
			return direction(value)
		}
		k, err := findLinkKey(key)
		if err != nil {
			return "", err
		}
		text, _, err := k.parse(value)
		return text, err
	case "host":
		return hostValue(key, value)
	case "switch":
		if key != "mtu" {
			return "", fmt.Errorf("unknown key %q of a switch: it has mtu", key)
		}
		text, _, err := mtuKey(value)
		return text, err
	}
	return "", fmt.Errorf("unknown kind of target: write link:ID, host:NAME or switch:NAME")
}

func direction(value string) (string, error) {
	if value != "ab" && value != "ba" && value != "both" {
		return "", fmt.Errorf("direction %q: want ab (from the link's first end), ba or both", value)
	}
	return value, nil
}

func findLinkKey(name string) (linkKey, error) {
	var names []string
	for _, k := range linkKeys() {
		if k.name == name {
			return k, nil
		}
		names = append(names, k.name+"="+k.like)
	}
	return linkKey{}, fmt.Errorf("unknown key %q of a link: it has %s, direction=ab", name, strings.Join(names, ", "))
}

// byHand returns the effects of the settings at the site.
func (i Injection) byHand(s *site) ([]effect, error) {
	kind, name, _ := strings.Cut(i.Target, ":")
	switch kind {
	case "link":
		if err := s.aimLink(name); err != nil {
			return nil, err
		}
		return i.linkEffects(name)
	case "switch":
		if err := s.aimSwitch(name); err != nil {
			return nil, err
		}
		return i.switchEffects(name)
	}
	if err := s.aimHost(name); err != nil {
		return nil, err
	}
	return i.hostEffects(s)
}

func (i Injection) linkEffects(link string) ([]effect, error) {
	dirs := []int{0, 1}
	var changes []func(*topology.Shape)
	for _, set := range i.Settings {
		if set.Key == directionKey {
			dirs = map[string][]int{"ab": {0}, "ba": {1}, "both": {0, 1}}[set.Value]
			continue
		}
		k, err := findLinkKey(set.Key)
		if err != nil {
			return nil, err
		}
		_, change, err := k.parse(set.Value)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	if len(changes) == 0 {
		return nil, fmt.Errorf("link %s: a direction alone changes nothing", link)
	}
	var out []effect
	for _, d := range dirs {
		out = append(out, reshape(link, d, func(s *topology.Shape) {
			for _, c := range changes {
				c(s)
			}
		}))
	}
	return out, nil
}

func (i Injection) switchEffects(sw string) ([]effect, error) {
	var out []effect
	for _, set := range i.Settings {
		mtu, err := whole(set.Value, smallestMTU, largestMTU)
		if err != nil {
			return nil, err
		}
		out = append(out, switchMTU(sw, mtu))
	}
	return out, nil
}
