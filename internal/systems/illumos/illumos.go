// Package illumos reads illumos hosts (OmniOS, SmartOS, OpenIndiana) by the commands of their
// base system: ipadm, dladm, sharectl, zfs, kstat, nfsstat. It is pure: the script that it sends is
// fixed, and it judges texts. It refuses to guess: a line that it does not understand is told.
package illumos

import (
	_ "embed" // the script
	"net/netip"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/bsd"
	"linerate/internal/systems/frame"
	"linerate/internal/unit"
)

//go:embed read.sh
var script string

// System is illumos.
type System struct{}

// Name implements systems.System.
func (System) Name() string { return "illumos" }

// Script implements systems.System.
func (System) Script() string { return frame.Shell(script) }

// Tried implements systems.System.
func (System) Tried() string {
	return "its commands were tried against an imitation only, never on a real illumos host"
}

// reading is facts in the making.
type reading struct{ bsd.Reading }

// Facts implements systems.System.
func (System) Facts(frames frame.Frames) *model.Facts {
	r := reading{bsd.Start("illumos", frames)}
	r.host()
	r.links()
	r.addresses()
	r.mounts()
	r.tcp()
	r.sharectl()
	r.files()
	r.ZFS(r.Lines("zfs", "synchronous writes, block size and cache of data sets"))
	r.units()
	r.pools()
	r.counters()
	return r.F
}

func (r reading) host() {
	r.F.Hostname = r.One("nodename")
	r.F.Kernel = strings.TrimSpace(r.One("release") + " " + r.One("version"))
	if uid, err := strconv.Atoi(r.One("uid")); err == nil {
		r.F.UID = uid
	}
	for _, line := range r.Lines("cpus", "how many CPUs there are") {
		w := strings.Fields(line)
		if len(w) < 2 {
			r.Odd("cpus", line)
		} else if n, err := strconv.Atoi(w[0]); err != nil {
			r.Odd("cpus", line)
		} else if w[1] == "on-line" || w[1] == "no-intr" {
			r.F.CPUs = append(r.F.CPUs, n)
		}
	}
	if mb, err := strconv.ParseInt(r.One("memory"), 10, 64); err == nil && mb > 0 {
		r.F.Memory = model.Known(unit.Bytes(mb << 20))
	}
	if _, at, ok := strings.Cut(r.One("boot"), "\t"); ok {
		r.F.BootID = "boot_time " + at // illumos has no boot id; the time tells boots apart
	}
}

// links are the physical ports, with the MTU and the flow control of each.
func (r reading) links() {
	for _, line := range r.Lines("phys", "the ports, their speed and duplex") {
		w := frame.Split(line)
		mbit, err := 0, error(nil)
		if len(w) == 6 {
			mbit, err = strconv.Atoi(strings.TrimSuffix(w[3], "Mb"))
		}
		if len(w) != 6 || err != nil {
			r.Odd("phys", line)
			continue
		}
		n := model.NIC{Name: w[0], Device: "if:" + w[0], Up: w[2] == "up", Driver: model.Known(strings.TrimRight(w[5], "0123456789"))}
		n.Speed = model.Known(unit.BitRate(mbit) * unit.Mbit)
		if mbit == 0 {
			n.Speed = model.Unknown[unit.BitRate](model.Absent, "the link has no speed now")
		}
		n.Duplex = model.Known(w[4])
		if w[4] != "full" && w[4] != "half" {
			n.Duplex = model.Unknown[string](model.Absent, "the port does not say: "+w[4])
		}
		r.F.NICs = append(r.F.NICs, n)
	}
	for _, line := range r.Lines("link", "the MTU of each link") {
		w := frame.Split(line)
		mtu, err := 0, error(nil)
		if len(w) == 5 {
			mtu, err = strconv.Atoi(w[2])
		}
		switch {
		case len(w) != 5 || err != nil:
			r.Odd("link", line)
		case r.nic(w[0]) != nil:
			r.nic(w[0]).MTU = mtu
			r.F.Settings["illumos.dladm.mtu@"+w[0]] = model.Known(w[2])
		default: // an aggregation, a VNIC, an etherstub
			r.F.NICs = append(r.F.NICs, model.NIC{Name: w[0], Device: "if:" + w[0], Kind: w[1], MTU: mtu, Up: w[3] == "up"})
		}
	}
	for _, line := range r.Lines("linkprop", "the flow control of each link") {
		w := frame.Split(line)
		if len(w) != 6 {
			r.Odd("linkprop", line)
			continue
		}
		if n := r.nic(w[0]); n != nil && w[1] == "flowctrl" {
			n.Pause = pause(w[3])
		}
	}
}

func pause(value string) model.Fact[model.Pause] {
	switch value {
	case "no":
		return model.Known(model.Pause{})
	case "rx":
		return model.Known(model.Pause{Rx: true})
	case "tx":
		return model.Known(model.Pause{Tx: true})
	case "bi":
		return model.Known(model.Pause{Rx: true, Tx: true})
	}
	return model.Unknown[model.Pause](model.Unsupported, "flowctrl is "+strconv.Quote(value))
}

func (r reading) nic(name string) *model.NIC {
	for i := range r.F.NICs {
		if r.F.NICs[i].Name == name {
			return &r.F.NICs[i]
		}
	}
	return nil
}

func (r reading) addresses() {
	for _, line := range r.Lines("addr", "the addresses") {
		w := frame.Split(line)
		if len(w) != 4 {
			r.Odd("addr", line)
			continue
		}
		link, _, _ := strings.Cut(w[0], "/")
		at, err := netip.ParsePrefix(zoneless(w[3]))
		n := r.nic(link)
		if link == "lo0" || n == nil || w[3] == "?" {
			continue // of the loopback, or of a lease that has not come
		}
		if err != nil {
			r.Odd("addr", line)
			continue
		}
		n.Addrs = append(n.Addrs, at)
	}
}

// zoneless is an address without the interface that illumos puts behind a link-local one.
func zoneless(s string) string {
	addr, bits, ok := strings.Cut(s, "/")
	addr, _, _ = strings.Cut(addr, "%")
	if !ok {
		return addr
	}
	return addr + "/" + bits
}
