package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// running reads from /proc and /sys the values in force of what files set besides sysctls: module
// parameters, MTUs, disks, mounts, cores, interrupts. A value that cannot be read is left out and
// so not compared.
func (r *inherited) running(parameters []string) {
	r.parameters(parameters)
	r.interfaces()
	r.queues()
	r.mounts()
	r.cores()
	r.interrupts()
	if w, ok := word(r.src, "/proc/fs/nfsd/threads").Get(); ok {
		r.now("linux.nfsd.threads", "threads", "", w)
	}
}

func (r *inherited) now(setting, name, device, value string) {
	r.out.Running = append(r.out.Running, model.Running{Setting: setting, Name: name, Device: device, Value: value})
}

// parameters reads the named module parameters, and those that the files name.
func (r *inherited) parameters(names []string) {
	names = slices.Clone(names)
	option := regexp.MustCompile(`^\s*options\s+([A-Za-z0-9_-]+)((?:\s+[A-Za-z0-9_]+=\S*)+)`)
	written := regexp.MustCompile(`/sys/module/([A-Za-z0-9_]+)/parameters/([A-Za-z0-9_]+)`)
	for _, text := range r.out.Files {
		for line := range strings.Lines(text) {
			if m := option.FindStringSubmatch(line); m != nil {
				for _, w := range strings.Fields(m[2]) {
					key, _, _ := strings.Cut(w, "=")
					names = append(names, m[1]+"."+key)
				}
			}
			if m := written.FindStringSubmatch(line); m != nil {
				names = append(names, m[1]+"."+m[2])
			}
		}
	}
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		module, key, _ := strings.Cut(n, ".")
		if w, ok := word(r.src, path.Join("/sys/module", strings.ReplaceAll(module, "-", "_"), "parameters", key)).Get(); ok {
			id := moduleID + n
			if module == "zfs" {
				id = "linux.zfsmodule." + key
			}
			r.now(id, module+" "+key, "", w)
		}
	}
}

func (r *inherited) interfaces() {
	names, err := r.src.ReadDir("/sys/class/net")
	if err != nil {
		return
	}
	for _, dev := range names {
		for _, a := range [][3]string{{"mtu", "linux.link.mtu", "mtu"}, {"tx_queue_len", "linux.link.txqueuelen", "txqueuelen"}} {
			if w, ok := word(r.src, path.Join("/sys/class/net", dev, a[0])).Get(); ok {
				r.now(a[1], a[2], dev, w)
			}
		}
	}
}

func (r *inherited) queues() {
	disks, _ := r.src.ReadDir("/sys/class/block") // none: nothing to compare
	whole := regexp.MustCompile(diskName)
	for _, dev := range disks {
		if !whole.MatchString(dev) {
			continue
		}
		for _, a := range []string{"scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb"} {
			if w, ok := word(r.src, path.Join("/sys/class/block", dev, "queue", a)).Get(); ok {
				r.now("linux.block."+a, a, dev, parseScheduler(w))
			}
		}
	}
	bdis, _ := r.src.ReadDir("/sys/class/bdi")
	for _, dev := range bdis {
		if !strings.HasPrefix(dev, "0:") {
			continue // has a block device; only device-less systems such as NFS are identified this way
		}
		if w, ok := word(r.src, path.Join("/sys/class/bdi", dev, "read_ahead_kb")).Get(); ok {
			r.now("linux.bdi.read_ahead_kb", "read_ahead_kb", dev, w)
		}
	}
}

// mounts reads the options in force of NFS and SMB mounts.
func (r *inherited) mounts() {
	mounts, err := mountsOf(r.src)
	if err != nil {
		return
	}
	for _, m := range mounts {
		kind := map[string]string{"nfs": "nfs", "nfs4": "nfs", "cifs": "cifs", "smb3": "cifs"}[m.Type]
		if kind == "" {
			continue
		}
		for _, key := range []string{"rsize", "wsize", "nconnect", "vers", "proto", "max_channels"} {
			if v := m.Options[key]; v != "" {
				r.now("linux.mount."+kind+"."+key, key, m.Point, v)
			}
		}
	}
}

func (r *inherited) cores() {
	if w, ok := word(r.src, cpuDir+"smt/control").Get(); ok {
		r.now("linux.cpu.smt", "smt", "", w)
	}
	names, err := r.src.ReadDir(cpuDir + "cpufreq")
	if err != nil {
		return
	}
	var governors []string
	for _, policy := range numberedNames(names, "policy") {
		if g, ok := word(r.src, cpuDir+"cpufreq/"+policy+"/scaling_governor").Get(); ok && !slices.Contains(governors, g) {
			governors = append(governors, g)
		}
	}
	if len(governors) > 0 {
		slices.Sort(governors)
		r.now("linux.cpu.governor", "governor", "", strings.Join(governors, " and "))
	}
}

// interrupts reads the affinity of the interrupts that the files name.
func (r *inherited) interrupts() {
	named := regexp.MustCompile(`/proc/irq/([0-9]+)/(smp_affinity(?:_list)?)\b`)
	for _, text := range r.out.Files {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if w, ok := word(r.src, m[0]).Get(); ok {
				r.now("linux.irq.affinity", m[2], "irq "+m[1], w)
			}
		}
	}
}

// ReadHostFiles is ReadInherited of a running or recorded host, with what drivers report through
// ethtool. The system is the source's.
func ReadHostFiles(ctx context.Context, src kernel.Source, sysctls, parameters []string) (model.HostFiles, error) {
	h, err := ReadInherited(src, sysctls, parameters)
	if err != nil {
		return h, err
	}
	if h.OS = src.OS(); h.OS == "darwin" {
		h.OS = "macos"
	} else if h.OS == "solaris" {
		h.OS = "illumos"
	}
	if h.OS != "linux" {
		return h, nil // on other systems interfaces are not read
	}
	if o, ok := src.(ownerTeller); ok && h.NoOwners == noRPM {
		addOwners(ctx, o, &h)
	}
	if err := addPorts(ctx, src, &h); err != nil {
		h.Unread["the interfaces' settings in force"] = err.Error()
	}
	return h, context.Cause(ctx) // who interrupts this gets no report of a part
}

// ownerTeller is a source that knows the package of a file.
type ownerTeller interface {
	Owner(ctx context.Context, file string) (string, error)
}

// ownersWithin bounds the time for all queries to rpm, which takes some ten milliseconds for
// each.
const ownersWithin = 5 * time.Second

// addOwners asks rpm for the owner of each file that was read. What rpm does not answer in time
// stays unknown, and the report says so.
func addOwners(ctx context.Context, o ownerTeller, h *model.HostFiles) {
	ctx, cancel := context.WithTimeout(ctx, ownersWithin)
	defer cancel()
	if h.Owners == nil {
		h.Owners = map[string]string{}
	}
	for _, file := range slices.Sorted(maps.Keys(h.Files)) {
		if strings.HasPrefix(file, "/proc/") || strings.HasPrefix(file, "/sys/") {
			continue
		}
		pkg, err := o.Owner(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			return // no rpm on this host
		}
		if err != nil {
			h.NoOwners = "rpm did not tell the owner of " + file + " and what follows: " + err.Error()
			return
		}
		if pkg != "" {
			h.Owners[file] = pkg
		}
	}
	h.NoOwners = ""
}

// addPorts adds the values in force of every interface, in the terms of ethtool's command line.
func addPorts(ctx context.Context, src kernel.Source, h *model.HostFiles) error {
	links, err := src.Links(ctx)
	if err != nil {
		return err
	}
	for _, l := range links {
		if l.Name == "lo" {
			continue
		}
		addPort(src.Port(l.Name), func(kind, name, value string) {
			if name == "" {
				name = kind // a feature has only one name
			} else {
				name = kind + " " + name
			}
			h.Running = append(h.Running, model.Running{Setting: "linux.ethtool." + kind, Name: name, Device: l.Name, Value: value})
		})
	}
	return nil
}

func addPort(p kernel.Port, now func(kind, name, value string)) {
	number := func(kind, name string, n int) { now(kind, name, fmt.Sprint(n)) }
	if v, ok := p.Ring.Get(); ok {
		number("ring", "rx", v.Rx)
		number("ring", "tx", v.Tx)
	}
	if v, ok := p.Channels.Get(); ok {
		number("channels", "combined", v.Combined)
		number("channels", "rx", v.Rx)
		number("channels", "tx", v.Tx)
	}
	if v, ok := p.Coalesce.Get(); ok {
		number("coalesce", "rx-usecs", v.RxUsecs)
		number("coalesce", "tx-usecs", v.TxUsecs)
		number("coalesce", "rx-frames", v.RxFrames)
		number("coalesce", "tx-frames", v.TxFrames)
		now("coalesce", "adaptive-rx", onOff(v.AdaptiveRx))
		now("coalesce", "adaptive-tx", onOff(v.AdaptiveTx))
	}
	if v, ok := p.Pause.Get(); ok {
		now("pause", "autoneg", onOff(v.Autoneg))
		now("pause", "rx", onOff(v.Rx))
		now("pause", "tx", onOff(v.Tx))
	}
	if v, ok := p.FEC.Get(); ok {
		now("fec", "encoding", v)
	}
	features, _ := p.Features.Get() // none: nothing to compare
	for _, f := range featureWords() {
		if on, ok := features[f[1]]; ok {
			now(f[0], "", onOff(on))
		}
	}
}

// featureWords maps words of ethtool -K to the kernel's name of the feature. "tx" is left out,
// since it stands for several.
func featureWords() [][2]string {
	return [][2]string{
		{"tso", "tx-tcp-segmentation"}, {"gso", "tx-generic-segmentation"}, {"gro", "rx-gro"}, {"lro", "rx-lro"},
		{"sg", "tx-scatter-gather"}, {"rx", "rx-checksum"}, {"rxhash", "rx-hashing"}, {"rx-gro-hw", "rx-gro-hw"},
	}
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
