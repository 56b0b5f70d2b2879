package setter

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// limits is the range of one number. A switch is on (1) or off (0).
type limits struct {
	low, high int64
	onOff     bool
}

func toggle() limits { return limits{0, 1, true} }

// numberIn parses a decimal number. It refuses a leading 0 and 0x, which kernels take for octal
// and hexadecimal.
func numberIn(at Place, what, s string, l limits) (int64, error) {
	if l.onOff {
		if s != "on" && s != "off" {
			return 0, fmt.Errorf("%s of %s: %q is not on or off: %w", what, at, s, ErrValue)
		}
		return map[string]int64{"on": 1}[s], nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s || n < l.low || n > l.high {
		return 0, fmt.Errorf("%s of %s: %q is no decimal number from %d to %d: %w", what, at, s, l.low, l.high, ErrValue)
	}
	return n, nil
}

// oneNumber is the canonical form of a value that is a single number.
func oneNumber(at Place, value string, l limits) (string, error) {
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if len(words) != 1 {
		return "", fmt.Errorf("value %q of %s: want one number: %w", value, at, ErrValue)
	}
	n, err := numberIn(at, "value", words[0], l)
	return strconv.FormatInt(n, 10), err
}

// parseParts parses "name=number" words, each known name at most once.
func parseParts(at Place, value string, known map[string]limits) (map[string]int64, error) {
	words, err := fields(at, value)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(words))
	for _, w := range words {
		name, number, _ := strings.Cut(w, "=")
		l, ok := known[name]
		_, twice := out[name]
		if !ok || twice {
			return nil, fmt.Errorf("value %q of %s: %q: want NAME=NUMBER, once each, of %s: %w",
				value, at, w, strings.Join(slices.Sorted(maps.Keys(known)), ", "), ErrValue)
		}
		if out[name], err = numberIn(at, name, number, l); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// formatParts is the canonical form, sorted by name.
func formatParts(parts map[string]int64, known map[string]limits) string {
	words := make([]string, 0, len(parts))
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		s := strconv.FormatInt(parts[name], 10)
		if known[name].onOff {
			s = map[int64]string{0: "off", 1: "on"}[parts[name]]
		}
		words = append(words, name+"="+s)
	}
	return strings.Join(words, " ")
}

// namedWords checks "PART=WORD" words, each known part at most once; a setting whose only part has
// no name takes plain words.
func namedWords[P interface {
	check(at Place, v string) (string, error)
}](at Place, value string, words []string, known map[string]P) (map[string]string, error) {
	out := map[string]string{}
	for _, w := range words {
		name, v := "", w
		if _, single := known[""]; !single {
			name, v, _ = strings.Cut(w, "=")
		}
		part, ok := known[name]
		if _, twice := out[name]; !ok || twice {
			return nil, fmt.Errorf("value %q of %s: %q: want PART=VALUE, once each, of %s: %w", value, at, w, strings.Join(slices.Sorted(maps.Keys(known)), ", "), ErrValue)
		}
		var err error
		if out[name], err = part.check(at, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}
