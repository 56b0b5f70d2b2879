package fault

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// featureKeys are the short names of NIC features, as ethtool(8) has them.
func featureKeys() map[string][]string {
	return map[string][]string{
		"tso": {txSegmentation}, "gso": {txGenericSegmnt}, "gro": {rxMerge},
	}
}

// hostValue checks a setting of a host and returns its value in its printed form. A key is
// mtu, fill (of a disk), a feature, a TCP sysctl by its short name (tcp_rmem), or any dotted sysctl of net or
// vm.
func hostValue(key, value string) (string, error) {
	value = strings.Join(strings.Fields(value), " ")
	if _, ok := fillOf(key); ok {
		text, _, err := percentKey(value)
		return text, err
	}
	switch {
	case key == "mtu":
		text, _, err := mtuKey(value)
		return text, err
	case featureKeys()[key] != nil:
		if value != "on" && value != "off" {
			return "", fmt.Errorf("%s is on or off, not %q", key, value)
		}
		return value, nil
	case sysctlName(key) == "":
		return "", fmt.Errorf("unknown key %q of a host: it has mtu, fill, %s, tcp_… (such as tcp_rmem) and any sysctl of net.* or vm.*", key,
			strings.Join(slices.Sorted(maps.Keys(featureKeys())), ", "))
	case value == "":
		return "", fmt.Errorf("%s: no value", key)
	}
	return value, buffers(key, value)
}

// buffers checks the keys of which the kernel accepts invalid values without an error.
func buffers(key, value string) error {
	if name := sysctlName(key); name != rmemKey && name != wmemKey {
		return nil
	}
	f := strings.Fields(value)
	last := 0
	for _, n := range f {
		v, err := strconv.Atoi(n)
		if err != nil || v <= 0 || v < last {
			f = nil
			break
		}
		last = v
	}
	if len(f) != 3 {
		return fmt.Errorf("%s %q: want three rising sizes in bytes, such as \"4096 131072 6291456\"", key, value)
	}
	return nil
}

// sysctlName returns the dotted name of a key, or "" if it cannot be a sysctl.
func sysctlName(key string) string {
	for _, r := range key {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-') {
			return ""
		}
	}
	switch {
	case strings.Contains(key, "..") || strings.HasSuffix(key, "."):
		return ""
	case strings.HasPrefix(key, "net.") || strings.HasPrefix(key, "vm."):
		return key
	case strings.HasPrefix(key, "tcp_") && !strings.Contains(key, "."):
		return "net.ipv4." + key
	}
	return ""
}

func (i Injection) hostEffects(s *site) ([]effect, error) {
	var out []effect
	for _, set := range i.Settings {
		names := featureKeys()[set.Key]
		disk, fills := fillOf(set.Key)
		switch {
		case fills:
			_, percent, err := percentKey(set.Value)
			if err != nil {
				return nil, err
			}
			out = append(out, fill(s.end.Node, disk, percent))
		case set.Key == "mtu":
			mtu, err := whole(set.Value, smallestMTU, largestMTU)
			if err != nil {
				return nil, err
			}
			out = append(out, hostMTU(s.end, mtu))
		case names != nil:
			out = append(out, features(s.end, set.Value == "on", names...))
		default:
			out = append(out, sysctl(s.end.Node, sysctlName(set.Key), set.Value))
		}
	}
	return out, nil
}
