package file

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/conf"
	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// The facts that verify an operator's change, and what each reads. A name may state the
// device: nic.speed@eth0, mount.vers@/mnt/nas, zfs.log@tank. Besides these, every setting's id
// is a fact.

// FactNames are the facts by name, with what they read, for docs/study.md and
// for messages.
func FactNames() map[string]string {
	return map[string]string{
		"kernel": "release of the kernel, e.g. 6.1.0-18-amd64", "os": "linux, windows, …", "cpus": "number of CPUs that may be used", "boot": "id of the running boot: another one after a restart",
		"nic.speed": "what the port negotiated, e.g. 10Gbit", "nic.duplex": "full or half", "nic.up": "true or false", "nic.mtu": "bytes",
		"nic.driver": "name of the driver", "nic.firmware": "version", "nic.numa": "number of the NUMA node",
		"nic.slot.width": "lanes in use, e.g. 8", "nic.slot.gts": "transfer rate in use in GT/s, e.g. 8", "nic.slot.max_width": "lanes that card and slot could use", "nic.bond.mode": "of a bond, as the kernel names it",
		"mount.type": "nfs4, cifs, …", "mount.source": "what is mounted, e.g. nas1:/export", "mount.vers": "version of the protocol", "mount.proto": "tcp or rdma",
		"mount.rsize": "bytes", "mount.wsize": "bytes", "mount.nconnect": "connections", "mount.max_channels": "SMB channels", "mount.sec": "sys, krb5, …",
		"zfs.state": "ONLINE, DEGRADED, …", "zfs.log": "true: the pool has a device for the intent log", "zfs.cache": "true: the pool has a second-level cache", "zfs.ashift": "power of two of the sector size",
		"zfs.used":    "how full the pool is, in percent; met from the stated value to 2 above it",
		"array.level": "of an md RAID: raid0, raid10, …", "array.degraded": "disks missing",
	}
}

// FactValue reads a fact of a host. It refuses a name that is none, a device
// that is not there, and a name without a device where several could be meant; a
// value that could not be read is an error that says why.
func FactValue(f *model.Facts, fact string) (string, error) {
	if err := knownFact(fact); err != nil {
		return "", err
	}
	name, which, _ := strings.Cut(fact, "@")
	family, _, _ := strings.Cut(name, ".")
	switch family {
	case "nic":
		return nicFact(f, name, which)
	case "mount":
		return mountFact(f, strings.TrimPrefix(name, "mount."), which)
	case "zfs":
		return poolFact(f, name, which)
	case "array":
		return arrayFact(f, name, which)
	}
	switch name {
	case "kernel":
		return f.Kernel, nil
	case "os":
		return f.OS, nil
	case "cpus":
		return strconv.Itoa(len(f.CPUs)), nil
	case "boot":
		return f.BootID, nil
	}
	return known(f.Settings[fact], name)
}

// Holds reports whether a fact has the value in the file, and its current value. Rates are
// compared as rates: 10Gbit equals 10 Gbit/s.
func Holds(f *model.Facts, v model.StudyVerify) (is bool, now string, err error) {
	now, err = FactValue(f, v.Fact)
	if err != nil {
		return false, "", err
	}
	want := strings.Join(strings.Fields(v.Is), " ")
	if now == want {
		return true, now, nil
	}
	if name, _, _ := strings.Cut(v.Fact, "@"); name == usedFact {
		return filled(now, want), now, nil
	}
	a, errA := unit.ParseBitRate(now)
	b, errB := unit.ParseBitRate(want)
	return errA == nil && errB == nil && a == b, now, nil
}

const (
	// usedFact is how full a pool is.
	usedFact = "zfs.used"
	// fillSlack, in points: nobody fills a pool to the percent.
	fillSlack = 2
)

// filled tells whether something is as full as asked for, in percent.
func filled(now, want string) bool {
	a, errA := strconv.Atoi(now)
	b, errB := strconv.Atoi(strings.TrimSuffix(want, "%"))
	return errA == nil && errB == nil && a >= b && a <= b+fillSlack
}

// knownFact refuses names that are no facts.
func knownFact(fact string) error {
	name, which, device := strings.Cut(fact, "@")
	names := FactNames()
	_, known := names[name]
	family, _, dotted := strings.Cut(name, ".")
	switch {
	case !known && strings.Count(name, ".") >= 2 && slices.Contains([]string{"linux", "windows", "macos", "freebsd", "illumos", "any"}, family):
		if _, ok := guide.Find(name); ok && !device {
			return nil
		}
		return fmt.Errorf("%q: no setting that linerate reads of a whole host; linerate setting NAME shows one", fact)
	case !known:
		return fmt.Errorf("%q: there is no such fact; near it are %s (docs/study.md lists them)", fact, strings.Join(conf.Closest(name, slices.Collect(maps.Keys(names)), 3), ", "))
	case device && (which == "" || !dotted):
		return fmt.Errorf("%q: %s takes no device, or an empty one was named", fact, name)
	}
	return nil
}

func known[T any](f model.Fact[T], what string) (string, error) {
	v, ok := f.Get()
	if !ok {
		return "", fmt.Errorf("read %s: not known: %s", what, cmp.Or(f.Why, "it was not read, or this host has none"))
	}
	return fmt.Sprint(v), nil
}

func nicFact(f *model.Facts, name, which string) (string, error) {
	n, err := pick(f.NICs, which, func(n model.NIC) []string { return []string{n.Name, n.Device} },
		func(n model.NIC) bool { return n.Name != "lo" && n.Master == "" })
	if err != nil {
		return "", fmt.Errorf("read %s: interface: %w", name, err)
	}
	switch name {
	case "nic.up":
		return strconv.FormatBool(n.Up), nil
	case "nic.mtu":
		return strconv.Itoa(n.MTU), nil
	case "nic.speed":
		return known(n.Speed, name)
	case "nic.duplex":
		return known(n.Duplex, name)
	case "nic.driver":
		return known(n.Driver, name)
	case "nic.firmware":
		return known(n.Firmware, name)
	case "nic.numa":
		return known(n.NUMA, name)
	case "nic.bond.mode":
		return known(model.Fact[string]{State: n.Bond.State, Value: n.Bond.Value.Mode, Why: n.Bond.Why}, name)
	}
	slot, ok := n.PCI.Get()
	switch {
	case !ok:
		return known(n.PCI, name)
	case name == "nic.slot.width":
		return strconv.Itoa(slot.Lanes), nil
	case name == "nic.slot.max_width":
		return strconv.Itoa(slot.MaxLanes), nil
	}
	return strconv.FormatFloat(slot.GTs, 'g', -1, 64), nil
}

// pick returns the element that which names, or the only eligible one.
func pick[T any](all []T, which string, names func(T) []string, counts func(T) bool) (T, error) {
	var found []T
	var have []string
	for _, x := range all {
		if which != "" && slices.Contains(names(x), which) {
			return x, nil
		}
		if counts(x) {
			found = append(found, x)
			have = append(have, names(x)[0])
		}
	}
	var zero T
	switch {
	case which != "":
		return zero, fmt.Errorf("there is no %s; there are %s", which, strings.Join(have, ", "))
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return zero, errors.New("there is none")
	}
	return zero, fmt.Errorf("say which, after an @: %s", strings.Join(have, ", "))
}

// network tells which mounts are of files on another host.
func network(m model.Mount) bool {
	return slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3"}, m.Type)
}

func mountFact(f *model.Facts, name, which string) (string, error) {
	m, err := pick(f.Mounts, which, func(m model.Mount) []string { return []string{m.Point} }, network)
	if err != nil {
		return "", fmt.Errorf("read mount.%s: network mount: %w", name, err)
	}
	switch name {
	case "type":
		return m.Type, nil
	case "source":
		return m.Source, nil
	}
	v, ok := m.Options[name]
	if !ok {
		return "", fmt.Errorf("read mount.%s: %s has no such option in effect", name, m.Point)
	}
	return v, nil
}

func poolFact(f *model.Facts, name, which string) (string, error) {
	z, ok := f.ZFS.Get()
	if !ok {
		return known(f.ZFS, name)
	}
	pool, err := pick(slices.Sorted(maps.Keys(z.Pools)), which, func(p string) []string { return []string{p} }, func(string) bool { return true })
	if err != nil {
		return "", fmt.Errorf("read %s: pool: %w", name, err)
	}
	if name == "zfs.state" {
		return z.Pools[pool], nil
	}
	store, ok := z.Store[pool]
	switch {
	case !ok:
		return "", fmt.Errorf("read %s: zpool did not tell of %s: is it installed, and may this user run it?", name, pool)
	case name == "zfs.log":
		return strconv.FormatBool(store.Log), nil
	case name == "zfs.cache":
		return strconv.FormatBool(store.Cache), nil
	case name == usedFact:
		return known(store.Capacity, name)
	}
	return known(store.Ashift, name)
}

func arrayFact(f *model.Facts, name, which string) (string, error) {
	a, err := pick(f.Arrays, which, func(a model.Array) []string { return []string{a.Name} }, func(model.Array) bool { return true })
	if err != nil {
		return "", fmt.Errorf("read %s: md array: %w", name, err)
	}
	if name == "array.level" {
		return a.Level, nil
	}
	return known(a.Degraded, name)
}
