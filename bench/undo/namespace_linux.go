package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/tune/setter"
)

const (
	namespaceKind = "namespace"
	card          = "undo0"
	realRmem      = "linux.sysctl.net.ipv4.tcp_rmem"
)

// namespaceCases run on this machine's kernel, in namespaces of their own.
//
// It needs ethtool: without it a plan of offloads is refused, or keeps a copy of the whole
// program for each case.
func namespaceCases(ctx context.Context, all *table, every int) error {
	if _, err := kernel.FindProgram("ethtool", setter.ProgramPath); err != nil {
		return fmt.Errorf("change offloads in namespaces: %w: install it", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := kernel.Exec(ctx, self, insideRole, namespaceKind, strconv.Itoa(every))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	cmd.Stderr = all.progress
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if err := addReports(all, namespaceKind, out); err != nil {
		return errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	return cmd.Wait()
}

func namespaceSetUp() error {
	if err := kernel.MountOwnSys(); err != nil {
		return err
	}
	return kernel.AddVeth(kernel.Veth{Name: card, Peer: card + "p", PeerPID: os.Getpid(), MTU: 1500})
}

func namespacePlans() ([]planned, error) {
	windows := []model.Change{
		{Setting: realRmem, To: "4096 131072 8388608"}, {Setting: "linux.sysctl.net.ipv4.tcp_wmem", To: "4096 16384 8388608"},
		{Setting: "linux.sysctl.net.ipv4.tcp_notsent_lowat", To: "131072"},
	}
	offloads := []model.Change{
		{Setting: setter.FeaturesSetting, Target: "if:" + card, To: "tx-generic-segmentation=off tx-tcp-segmentation=off"},
		{Setting: "linux.sysctl.net.ipv4.conf." + card + ".rp_filter", To: "2"},
	}
	return []planned{
		{name: "windows", changes: windows, persist: true}, {name: "offloads", changes: offloads},
		{name: "both", changes: append(append([]model.Change{}, windows...), offloads...), persist: true},
	}, nil
}

// namespaceState is every value of the namespace's network, the card's features,
// and every file of /etc.
func namespaceState(dir string) (string, error) {
	values, err := sysctlState()
	if err != nil {
		return "", err
	}
	have, err := kernel.ReadFeatures(card)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(have) // sorted by name
	if err != nil {
		return "", err
	}
	tree, err := treeState(filepath.Join(dir, "etc"))
	return values + string(text) + "\n" + tree, err
}

// volatile are values below /proc/sys/net that change by themselves.
func volatile() map[string]bool {
	return map[string]bool{"/proc/sys/net/netfilter/nf_conntrack_count": true, "/proc/sys/net/ipv4/route/flush": true, "/proc/sys/net/ipv6/route/flush": true}
}

// sysctlState is every value below /proc/sys/net.
func sysctlState() (string, error) {
	var b strings.Builder
	err := filepath.WalkDir("/proc/sys/net", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || volatile()[path] {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EIO) {
			return nil // written to only, or not for this namespace
		}
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	})
	return b.String(), err
}
