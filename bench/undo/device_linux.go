package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/lab"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/tune"
)

// A device host's first card is an e1000e.
const (
	deviceKind = "device"
	devicePort = "eth0"
)

// deviceCases run on the drivers of an emulated machine.
func deviceCases(self string) func(context.Context, *table, int) error {
	return func(ctx context.Context, all *table, every int) error {
		return inLab(ctx, self, "dual-homed", "nas1", topology.Device, func(ctx context.Context, l *lab.Lab) error {
			out, err := l.Run(ctx, "nas1", fault.Self, insideRole, deviceKind, strconv.Itoa(every))
			return errors.Join(addReports(all, deviceKind, bytes.NewReader(out)), err)
		})
	}
}

// realTuner changes the host that it runs on, and keeps its journal and files below dir.
func realTuner(dir string) *tune.Tuner {
	return &tune.Tuner{
		Dir: filepath.Join(dir, "state"), BootID: firstBoot, By: "bench", Root: kernel.Root(dir), Setters: host.Setters(kernel.Live{}),
	}
}

// deviceID is what the card goes by.
func deviceID() (string, error) {
	src := kernel.Live{}
	links, err := src.Links(context.Background())
	if err != nil {
		return "", err
	}
	ports := map[string]kernel.Port{}
	for _, l := range links {
		ports[l.Name] = src.Port(l.Name)
	}
	id := kernel.DeviceIDs(links, ports)[devicePort]
	if !strings.HasPrefix(id, "pci:") {
		return "", fmt.Errorf("%s of this host is %q: want a card", devicePort, id)
	}
	return id, nil
}

func devicePlans() ([]planned, error) {
	id, err := deviceID()
	if err != nil {
		return nil, err
	}
	on := func(setting, to string) model.Change { return model.Change{Setting: setting, Target: id, To: to} }
	ring, coalesce := on("linux.ethtool.ring", "rx=512 tx=1024"), on("linux.ethtool.coalesce", "rx-usecs=50")
	pause, irq := on("linux.ethtool.pause", "autoneg=off rx=on tx=off"), on("linux.irq.affinity", "v0=2 v1=1 v2=0-3")
	return []planned{
		{name: "ring", changes: []model.Change{ring}}, {name: "coalesce", changes: []model.Change{coalesce}},
		{name: "pause", changes: []model.Change{pause}}, {name: "interrupts", changes: []model.Change{irq}},
		{name: "the card", changes: []model.Change{irq, coalesce, on("linux.link.mtu", "9000"), ring, pause, {Setting: "linux.sysctl.net.core.rmem_max", To: "67108864"}}},
	}, nil
}

// deviceState is every value of the network, what the card's driver says of its
// rings, coalescing, pause frames and offloads, its MTU, where every interrupt
// goes, and every file of /etc.
func deviceState(dir string) (string, error) {
	values, err := sysctlState()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	for _, g := range []kernel.EthGroup{kernel.EthRing, kernel.EthCoalesce, kernel.EthPause} {
		now, err := kernel.ReadEth(devicePort, g)
		if err := errors.Join(err, out.Encode(now)); err != nil {
			return "", err
		}
	}
	have, err1 := kernel.ReadFeatures(devicePort)
	link, err2 := kernel.ReadLink(devicePort)
	if err := errors.Join(err1, err2, out.Encode(have), out.Encode(link)); err != nil {
		return "", err
	}
	files, err := filepath.Glob("/proc/irq/*/smp_affinity_list")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s", f, text)
	}
	tree, err := treeState(filepath.Join(dir, "etc"))
	return values + b.String() + tree, err
}
