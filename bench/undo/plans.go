package main

import (
	"linerate/internal/model"
	"linerate/internal/tune/setter"
)

// planned is a plan and what is to be expected of it.
type planned struct {
	name    string
	changes []model.Change
	persist bool
	fails   bool // the kernel refuses or changes a value: nothing may stay
	// asks: when killed between a write and its reading back, undo cannot know who
	// wrote the value. It shows the three values and needs --force.
	asks bool
}

// change is from the default.
func change(to, setting string, target ...string) model.Change {
	at := setter.Place{Setting: setting}
	if len(target) > 0 {
		at.Target = target[0]
	}
	return model.Change{Setting: setting, Target: at.Target, From: defaults()[at], To: to}
}

// plans are what the fake host is put through.
func plans() []planned {
	rmem := change("16777216", "linux.sysctl.net.core.rmem_max")
	wmem := change("16777216", "linux.sysctl.net.core.wmem_max")
	tcp := change("4096 131072 16777216", "linux.sysctl.net.ipv4.tcp_rmem")
	mtu := change("9000", "linux.link.mtu", nic)
	ring := change("rx=4096 tx=4096", "linux.ethtool.ring", nic)
	channels := change("combined=8", "linux.ethtool.channels", nic)
	rss := change("weight=1,2", "linux.ethtool.rss", nic)
	mount := change("1048576", "linux.mount.nfs.rsize", "/mnt/media")
	gro := change("rx-gro=off", "linux.ethtool.features", nic)
	bad := func(to, setting string) model.Change { return change(to, "linux.sysctl.net."+setting) }
	return []planned{
		{name: "one sysctl", changes: []model.Change{tcp}},
		{name: "windows", changes: []model.Change{rmem, wmem, tcp}, persist: true},
		{name: "a card", changes: []model.Change{mtu, ring, change("10000", "linux.link.txqueuelen", nic), gro}, persist: true},
		{name: "side effects", changes: []model.Change{channels, rss, mtu}},
		{name: "a module and a mount", changes: []model.Change{change("1073741824", "linux.zfsmodule.zfs_arc_max"), mount, change("8192", "linux.bdi.nfs_readahead", "/mnt/nas")}, persist: true},
		{name: "everything", changes: []model.Change{mtu, ring, channels, rss, gro, rmem, wmem, tcp, mount}, persist: true},
		{name: "rounds exactly", changes: []model.Change{bad("20496", "core.optmem_max"), tcp}, persist: true},
		{name: "rounds", changes: []model.Change{tcp, bad("20500", "core.optmem_max"), rmem}, fails: true, asks: true},
		{name: "clamps", changes: []model.Change{rmem, bad("70000", "core.somaxconn"), mtu}, fails: true, asks: true},
		{name: "refuses", changes: []model.Change{mtu, rmem, bad("50", "core.busy_poll")}, fails: true},
		{name: "writes half", changes: []model.Change{rmem, bad("9 9 9", "ipv4.tcp_mem"), tcp}, fails: true, asks: true},
		{name: "takes no notice", changes: []model.Change{gro, bad("600", "core.netdev_budget")}, fails: true},
	}
}
