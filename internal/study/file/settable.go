package file

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/conf"
	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/tune/profile"
	"linerate/internal/tune/setter"
)

// catalogue is the list of settings that a file is checked against. It is read once per file,
// since reading takes longer than all other checks.
type catalogue struct {
	known    profile.Settings
	checkers []setter.Setter
}

func readCatalogue() *catalogue {
	c := &catalogue{profile.Settings{}, setter.Checkers()}
	for _, s := range guide.All() {
		c.known[s.ID] = s
	}
	return c
}

// canonical returns a setting's value as its mechanism writes it, or why linerate cannot set
// it: there is no such setting, the guide does not describe it (so its risk is not known), it
// is a mount option, or the value is invalid.
func (c *catalogue) canonical(s model.StudySetting) (string, error) {
	if _, ok := c.known.Find(s.Setting); !ok {
		ids := slices.Collect(maps.Keys(c.known))
		return "", fmt.Errorf("setting %q is not known; near it are %s (linerate setting NAME shows one)", s.Setting, strings.Join(conf.Closest(s.Setting, ids, 3), ", "))
	}
	if strings.HasPrefix(s.Setting, "linux.mount.") && !setter.ByRemount(s.Setting) {
		return "", fmt.Errorf("%s needs a new mount, which linerate does not make: write operator: true, instruct, and verify with the fact mount.%s", s.Setting, s.Setting[strings.LastIndexByte(s.Setting, '.')+1:])
	}
	for _, m := range c.checkers {
		if !m.Owns(s.Setting) {
			continue
		}
		target, err := placeholder(s)
		if err != nil {
			return "", err
		}
		value, err := m.Canonical(setter.Place{Setting: s.Setting, Target: target}, s.Value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.Setting, err)
		}
		return value, nil
	}
	return "", fmt.Errorf("%s is described, but linerate cannot set it: make it an operator's factor (operator: true, instruct, verify)", s.Setting)
}

// placeholder is a target of the right form, for checking a value before the host's facts show
// which device is meant.
func placeholder(s model.StudySetting) (string, error) {
	n := setter.NatureOf(s.Setting)
	switch {
	case strings.HasPrefix(s.Setting, "linux.route."):
		return cmp.Or(s.Target, "route:10.0.0.0/24"), nil
	case strings.HasPrefix(s.Setting, "linux.block."):
		return "block:sda", nil
	case strings.HasPrefix(s.Setting, "linux.iscsi."):
		return "iscsi:iqn.2000-01.example:t,10.0.0.1:3260", nil
	case strings.HasPrefix(s.Setting, "any.zfs."):
		if s.Target == "" {
			return "", fmt.Errorf("%s: name the data set: %s@POOL/DATASET", s.Setting, s.Setting)
		}
		return "zfs:" + strings.TrimPrefix(s.Target, "zfs:"), nil
	case n.Scope == "mount":
		return "mount:/mnt", nil
	case n.Scope == "device":
		return "if:eth0", nil
	case s.Target != "":
		return "", fmt.Errorf("%s is of the whole host and has no device: take %q away", s.Setting, "@"+s.Target)
	}
	return "", nil
}

// Same tells whether two settings change the same thing: the same setting of
// the same host and device, and where a value has named parts (rx-gro=off) a
// part in common. A setting without a device is considered to be for any device.
func Same(a, b model.StudySetting) bool {
	if a.Host != b.Host || a.Setting != b.Setting || a.Target != b.Target && a.Target != "" && b.Target != "" {
		return false
	}
	mine, other := parts(a.Value), parts(b.Value)
	if len(mine) == 0 || len(other) == 0 {
		return true
	}
	return slices.ContainsFunc(mine, func(p string) bool { return slices.Contains(other, p) })
}

// parts are the names in "rx-gro=off tx-tcp-segmentation=on"; none if the value has another
// form.
func parts(value string) []string {
	var out []string
	for _, word := range strings.Fields(value) {
		name, _, ok := strings.Cut(word, "=")
		if !ok {
			return nil
		}
		out = append(out, name)
	}
	return out
}
