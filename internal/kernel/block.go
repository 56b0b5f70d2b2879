package kernel

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// BlockIDs gives every block device of a host an id that survives another order of discovery, by
// its current name: "wwid:…", "dm:…" or "md:…" (an id that the device or its volume carries),
// "serial:…", "at:…" (its place on the bus, a path of /sys), or "block:NAME" for a device that
// has none of them or shares it with another. Runs of blanks in an id become "_".
func BlockIDs(src Files) (map[string]string, error) {
	names, err := src.ReadDir("/sys/block")
	if err != nil {
		return nil, fmt.Errorf("list block devices: %w", err)
	}
	ids, users := map[string]string{}, map[string]int{}
	for _, name := range names {
		id := blockID(src, name)
		ids[name] = id
		users[id]++
	}
	for name, id := range ids {
		if users[id] == 1 {
			continue
		}
		// Paths to one disk share its id.
		if ids[name] = blockPlace(src, name); ids[name] == "" {
			ids[name] = blockName + name
		}
	}
	return ids, nil
}

const blockName = "block:"

// BlockByName is the id of a device of which only the name is known.
func BlockByName(name string) string { return blockName + name }

// BlockIDFiles are the files below /sys/block/NAME that hold an id, in order of
// preference, by the prefix of the id.
func BlockIDFiles() [][2]string {
	return [][2]string{{"wwid", "wwid"}, {"wwid", "device/wwid"}, {"dm", "dm/uuid"}, {"md", "md/uuid"}, {"serial", "serial"}, {"serial", "device/serial"}}
}

func blockID(src Files, name string) string {
	for _, f := range BlockIDFiles() {
		b, err := src.ReadFile("/sys/block/" + name + "/" + f[1])
		if s := strings.Join(strings.Fields(string(b)), "_"); err == nil && s != "" {
			return f[0] + ":" + s
		}
	}
	if at := blockPlace(src, name); at != "" {
		return at
	}
	return blockName + name
}

// blockPlace is "at:" and the device's place on the bus, empty for a virtual device.
func blockPlace(src Files, name string) string {
	link, err := src.Readlink("/sys/block/" + name)
	_, at, ok := strings.Cut(link, "devices/")
	if err != nil || !ok || strings.HasPrefix(at, "virtual/") || path.Base(at) != name {
		return ""
	}
	return "at:" + strings.TrimSuffix(path.Dir(at), "/block")
}

// FindBlock returns the current name of a block device of BlockIDs. The kind of id may have
// changed: a disk that got a second path has been named by its place since.
func FindBlock(src Files, id string) (string, error) {
	ids, err := BlockIDs(src)
	if err != nil {
		return "", fmt.Errorf("find block device %s: %w", id, err)
	}
	for name, have := range ids {
		if have == id || id == blockName+name || strings.HasPrefix(id, "at:") && blockPlace(src, name) == id {
			return name, nil
		}
	}
	return "", fmt.Errorf("find block device %s: none of this host's is it, or several are; it has %s: %w", id, strings.Join(slices.Sorted(maps.Keys(ids)), ", "), ErrNoDevice)
}
