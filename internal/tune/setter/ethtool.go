package setter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/kernel"
)

// ethtoolPrefix is the prefix of this mechanism's ids; a kernel.EthGroup follows.
const ethtoolPrefix = "linux.ethtool."

// Driver reads and changes the parameters of a NIC's driver; the kernel package implements it by
// netlink. Names are those of ethtool(8).
type Driver interface {
	Get(ifname string, group kernel.EthGroup) (map[string]int64, error)
	Set(ifname string, group kernel.EthGroup, want map[string]int64) error
}

// Ethtool sets rings, channels, coalescing and pause frames of a NIC. A value is a list "rx=4096
// tx=4096" with the names of ethtool(8), sorted; it covers only the parameters that it names. It
// refuses to change the channels while an administrator's RSS table is set: the kernel replaces
// the table, or refuses, and restoring the channels would not restore the table
// (net/ethtool/channels.c, ethtool_check_max_channel).
type Ethtool struct {
	Driver Driver
	RSS    Tables
	// Interface finds the present interface name of a model.NIC.Device.
	Interface func(device string) (ifname string, err error)
}

// ethGroupLimits are the parameters of each group; a device's own upper bounds are read before a
// write.
func ethGroupLimits(setting string) (kernel.EthGroup, map[string]limits, bool) {
	const u32 = 1<<32 - 1
	group := kernel.EthGroup(strings.TrimPrefix(setting, ethtoolPrefix))
	known, ok := map[kernel.EthGroup]map[string]limits{
		kernel.EthRing:     {"rx": {1, u32, false}, "tx": {1, u32, false}},
		kernel.EthChannels: {"rx": {0, u32, false}, "tx": {0, u32, false}, "combined": {0, u32, false}},
		kernel.EthCoalesce: {
			"rx-usecs": {0, u32, false}, "rx-frames": {0, u32, false}, "tx-usecs": {0, u32, false}, "tx-frames": {0, u32, false},
			"adaptive-rx": toggle(), "adaptive-tx": toggle(),
		},
		kernel.EthPause: {"autoneg": toggle(), "rx": toggle(), "tx": toggle()},
	}[group]
	return group, known, ok && strings.HasPrefix(setting, ethtoolPrefix)
}

func (Ethtool) Owns(setting string) bool { _, _, ok := ethGroupLimits(setting); return ok }

func (Ethtool) Canonical(at Place, value string) (string, error) {
	_, known, want, err := parseEthtool(at, value)
	return formatParts(want, known), err
}

func parseEthtool(at Place, value string) (kernel.EthGroup, map[string]limits, map[string]int64, error) {
	group, known, ok := ethGroupLimits(at.Setting)
	if !ok {
		return "", nil, nil, fmt.Errorf("ethtool %s: want ring, channels, coalesce or pause: %w", at, ErrValue)
	}
	if _, err := shellInterface(at.Target); err != nil {
		return "", nil, nil, err
	}
	want, err := parseParts(at, value, known)
	return group, known, want, err
}

// Read implements Setter. An empty like is all that the driver has.
func (e Ethtool) Read(_ context.Context, at Place, like string) (string, error) {
	empty := strings.TrimSpace(like) == ""
	if group, known, ok := ethGroupLimits(at.Setting); ok && empty {
		_, have, err := e.get(at, group, nil)
		maps.DeleteFunc(have, func(name string, _ int64) bool { _, ok := known[name]; return !ok })
		return formatParts(have, known), err
	}
	group, known, want, err := parseEthtool(at, like)
	if err != nil {
		return "", err
	}
	_, have, err := e.get(at, group, want)
	if err != nil {
		return "", err
	}
	for name := range want {
		want[name] = have[name]
	}
	return formatParts(want, known), nil
}

// get reads a group, which must have every parameter in want.
func (e Ethtool) get(at Place, group kernel.EthGroup, want map[string]int64) (string, map[string]int64, error) {
	ifname, err := e.Interface(at.Target)
	if err != nil {
		return "", nil, fmt.Errorf("find the interface of %s: %w", at.Target, err)
	}
	have, err := e.Driver.Get(ifname, group)
	if err != nil {
		return "", nil, fmt.Errorf("read %s (now %s): %w", at, ifname, err)
	}
	for name := range want {
		if _, ok := have[name]; !ok {
			return "", nil, fmt.Errorf("read %s (now %s): its driver has no %s, only %s: %w", at, ifname, name,
				strings.Join(slices.Sorted(maps.Keys(have)), ", "), ErrUnsupported)
		}
	}
	return ifname, have, nil
}

func (e Ethtool) Write(_ context.Context, at Place, value string) error {
	group, _, want, err := parseEthtool(at, value)
	if err != nil {
		return err
	}
	ifname, have, err := e.get(at, group, want)
	if err != nil {
		return err
	}
	for name, n := range want {
		if most, ok := have[name+"-max"]; ok && n > most {
			return fmt.Errorf("write %s=%d to %s (now %s): the device takes at most %d: %w", name, n, at, ifname, most, ErrValue)
		}
	}
	if err := comesBack(have); err != nil {
		return fmt.Errorf("write %q to %s (now %s): %w", value, at, ifname, err)
	}
	if group == kernel.EthChannels {
		if err := e.tableFollows(ifname); err != nil {
			return fmt.Errorf("write %q to %s (now %s): %w", value, at, ifname, err)
		}
	}
	if err := e.Driver.Set(ifname, group, want); err != nil {
		return fmt.Errorf("write %q to %s (now %s): %w", value, at, ifname, err)
	}
	return nil
}

// comesBack refuses a write if the driver would round a present value: any write to the group
// rounds it, and it could not be restored.
func comesBack(have map[string]int64) error {
	for name, step := range have {
		base, ok := strings.CutSuffix(name, "-step")
		if ok && step > 0 && have[base]%step != 0 {
			return fmt.Errorf("%s is %d, and the driver makes a multiple of %d of it with any change, which would stay: set it to one by hand first: %w", base, have[base], step, ErrSideEffect)
		}
	}
	return nil
}

// tableFollows refuses a change of the channels that would lose an RSS table.
func (e Ethtool) tableFollows(ifname string) error {
	r, err := e.RSS.Get(ifname)
	if err != nil {
		return nil // no table, so none to lose
	}
	if form, err := tableForm(r, RSSDefault); err != nil || form != RSSDefault {
		return fmt.Errorf("the RSS table was set by hand and would be lost: put %s to %s first, which is recorded and comes back: %w", RSSSetting, RSSDefault, ErrSideEffect)
	}
	return nil
}

func (e Ethtool) Shell(at Place, like string) (Shell, error) {
	group, _, want, err := parseEthtool(at, like)
	if err != nil {
		return Shell{}, err
	}
	find, err := shellInterface(at.Target)
	if err != nil {
		return Shell{}, err
	}
	flags := map[kernel.EthGroup][2]string{kernel.EthRing: {"-g", "-G"}, kernel.EthChannels: {"-l", "-L"}, kernel.EthCoalesce: {"-c", "-C"}, kernel.EthPause: {"-a", "-A"}}[group]
	names := strings.Join(slices.Sorted(maps.Keys(want)), " ")
	return Shell{
		Read:     "dev=$(" + find + `) && now=$(ethtool ` + flags[0] + ` "$dev") && printf '%s\n' "$now" | awk -v want=` + Quote(names) + ` ` + Quote(ethtoolAwk),
		Write:    "dev=$(" + find + `) && ethtool ` + flags[1] + ` "$dev" $(echo "$value" | tr '=' ' ')`,
		Programs: []string{"ethtool", "awk"},
	}, nil
}

// ethtoolAwk prints the parameters in want from the output of ethtool -g, -l, -c or -a. Rings and
// channels print the bounds first, then "Current hardware settings", so the last value of a name
// counts.
const ethtoolAwk = `
/^Adaptive RX:/ { now["adaptive-rx"] = $3; now["adaptive-tx"] = $5; next }
NF == 2 { name = tolower($1); sub(":", "", name); if (name == "autonegotiate") name = "autoneg"; now[name] = $2 }
END {
	n = split(want, names, " ")
	for (i = 1; i <= n; i++) {
		if (!(names[i] in now)) exit 1
		line = line (i > 1 ? " " : "") names[i] "=" now[names[i]]
	}
	print line
}`
