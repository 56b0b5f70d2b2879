package setter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// FeaturesSetting is the only id of this mechanism.
const FeaturesSetting = "linux.ethtool.features"

// Offloads reads and changes the features of an interface; the kernel package implements it.
// Names are the kernel's (tx-tcp-segmentation, tx-generic-segmentation, rx-gro, …).
type Offloads interface {
	Get(ifname string) (map[string]bool, error)
	Set(ifname string, on map[string]bool) error
}

// Features switches offload features of a NIC. A value is a list "name=on" or "name=off", sorted
// by name. The kernel also switches features that depend on a named one; it remembers which of
// those were wanted (wanted_features in net/core/dev.c), so restoring the named ones restores
// them too.
type Features struct {
	Offloads Offloads
	// Interface finds the present interface name of a model.NIC.Device.
	Interface func(device string) (ifname string, err error)
}

func (Features) Owns(setting string) bool { return setting == FeaturesSetting }

func (Features) Canonical(at Place, value string) (string, error) {
	m, err := parseFeatures(at, value)
	return formatFeatures(m), err
}

func (f Features) Read(_ context.Context, at Place, like string) (string, error) {
	want, err := parseFeatures(at, like)
	if err != nil {
		return "", err
	}
	ifname, err := f.resolve(at)
	if err != nil {
		return "", err
	}
	have, err := f.Offloads.Get(ifname)
	if err != nil {
		return "", fmt.Errorf("read %s (now %s): %w", at, ifname, err)
	}
	for name := range want {
		on, ok := have[name]
		if !ok {
			return "", fmt.Errorf("read %s (now %s): the device has no feature %s", at, ifname, name)
		}
		want[name] = on
	}
	return formatFeatures(want), nil
}

func (f Features) Write(_ context.Context, at Place, value string) error {
	want, err := parseFeatures(at, value)
	if err != nil {
		return err
	}
	ifname, err := f.resolve(at)
	if err != nil {
		return err
	}
	if err := f.Offloads.Set(ifname, want); err != nil {
		return fmt.Errorf("write %q to %s (now %s): %w", value, at, ifname, err)
	}
	return nil
}

func (f Features) Shell(at Place, like string) (Shell, error) {
	want, err := parseFeatures(at, like)
	if err != nil {
		return Shell{}, err
	}
	find, err := shellInterface(at.Target)
	if err != nil {
		return Shell{}, err
	}
	names := slices.Sorted(maps.Keys(want))
	return Shell{
		Read: "dev=$(" + find + `) && features=$(ethtool -k "$dev") && ` +
			"echo $(for name in " + strings.Join(names, " ") + "; do " +
			`printf '%s\n' "$features" | sed -n ` + ethtoolNames + ` -e "s/^$name: \(on\).*/$name=\1/p" -e "s/^$name: \(off\).*/$name=\1/p"; done)`,
		Write:    "dev=$(" + find + `) && ethtool -K "$dev" $(echo "$value" | tr '=' ' ')`,
		Programs: []string{"ethtool", "sed"},
	}, nil
}

// ethtoolNames maps the names that ethtool -k prints for single features, which are older than
// the kernel's, to the kernel's.
const ethtoolNames = `-e 's/^[[:space:]]*//'` +
	` -e 's/^generic-segmentation-offload:/tx-generic-segmentation:/'` +
	` -e 's/^generic-receive-offload:/rx-gro:/'` +
	` -e 's/^large-receive-offload:/rx-lro:/'` +
	` -e 's/^rx-checksumming:/rx-checksum:/'` +
	` -e 's/^rx-vlan-offload:/rx-vlan-hw-parse:/'` +
	` -e 's/^tx-vlan-offload:/tx-vlan-hw-insert:/'` +
	` -e 's/^ntuple-filters:/rx-ntuple-filter:/'` +
	` -e 's/^receive-hashing:/rx-hashing:/'`

// shellInterface is a command that prints the only interface of a device, or fails if there is
// none or more than one.
func shellInterface(device string) (string, error) {
	kind, id, ok := strings.Cut(device, ":")
	if !ok || id == "" || strings.ContainsAny(id, "/ *?[") || id == "." || id == ".." {
		return "", fmt.Errorf("device %q: want pci:…, mac:… or if:…: %w", device, ErrValue)
	}
	one := ` | { read -r first && ! read -r second && echo "$first"; }`
	switch kind {
	case "pci":
		return "ls " + Quote("/sys/bus/pci/devices/"+id+"/net") + one, nil
	case "mac":
		return `for dir in $(ls /sys/class/net); do case "$(ethtool -P "$dir" 2>/dev/null | tr A-Z a-z)" in *` +
			Quote("address: "+strings.ToLower(id)) + `*) echo "$dir" ;; esac; done` + one, nil
	case "if":
		return "cd " + Quote("/sys/class/net/"+id) + " && echo " + Quote(id), nil
	}
	return "", fmt.Errorf("device %q: want pci:…, mac:… or if:…: %w", device, ErrValue)
}

// interfacePrograms are the programs that shellInterface calls besides coreutils, since sysfs
// does not show the permanent address.
func interfacePrograms(device string) []string {
	if strings.HasPrefix(device, "mac:") {
		return []string{"ethtool"}
	}
	return nil
}

func (f Features) resolve(at Place) (string, error) {
	ifname, err := f.Interface(at.Target)
	if err != nil {
		return "", fmt.Errorf("find the interface of %s: %w", at.Target, err)
	}
	return ifname, nil
}

func parseFeatures(at Place, value string) (map[string]bool, error) {
	if at.Setting != FeaturesSetting {
		return nil, fmt.Errorf("features %s: want %s: %w", at, FeaturesSetting, ErrValue)
	}
	if _, err := shellInterface(at.Target); err != nil {
		return nil, err
	}
	words, err := fields(at, value)
	if err != nil {
		return nil, err
	}
	m := make(map[string]bool, len(words))
	for _, w := range words {
		name, state, _ := strings.Cut(w, "=")
		_, twice := m[name]
		if name == "" || strings.Trim(name, featureChars) != "" || twice || (state != "on" && state != "off") {
			return nil, fmt.Errorf("features %q of %s: %q is not name=on or name=off, once each: %w", value, at.Target, w, ErrValue)
		}
		m[name] = state == "on"
	}
	return m, nil
}

const featureChars = "abcdefghijklmnopqrstuvwxyz0123456789-_"

func formatFeatures(m map[string]bool) string {
	words := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		state := "off"
		if m[name] {
			state = "on"
		}
		words = append(words, name+"="+state)
	}
	return strings.Join(words, " ")
}
