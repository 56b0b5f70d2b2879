package lab

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/lab/wire"
)

// setupArgs is the first request to a holder.
type setupArgs struct {
	Hostname string            `json:"hostname"`
	Sysctls  map[string]string `json:"sysctls"`
	// Own: the kernel is this host's alone, and so is its /sys.
	Own bool `json:"own"`
}

// leftOut is what a helper could not do and the lab can do without.
type leftOut struct {
	LeftOut []string `json:"left_out"`
}

type sysctlArgs struct {
	Key   string `json:"key"` // dotted, e.g. net.ipv4.tcp_rmem
	Value string `json:"value"`
}

type featureArgs struct {
	Dev  string          `json:"dev"`
	Want map[string]bool `json:"want"` // kernel feature names
}

type mtuArgs struct {
	Dev string `json:"dev"`
	MTU int    `json:"mtu"` // bytes
}

type routeArgs struct {
	To  netip.Prefix `json:"to"` // not valid: the default route
	Via netip.Addr   `json:"via"`
}

// HolderMain is the hidden subcommand lab-holder: a process that was started
// in namespaces of its own, is one emulated host by keeping them alive, and
// changes things inside on request. It returns the exit status.
func HolderMain(stdin io.Reader, stdout io.Writer) int {
	return wire.Main(stdin, stdout, map[string]wire.Handler{
		"setup":         wire.Op(setUpHost),
		"interface":     wire.Do(kernel.SetInterface),
		"route":         wire.Do(func(a routeArgs) error { return kernel.AddRoute(a.To, a.Via) }),
		"veth":          wire.Do(kernel.AddVeth),
		"shape":         wire.Do(kernel.SetTokenBucket),
		"sysctl":        wire.Do(func(a sysctlArgs) error { return writeSysctl(a.Key, a.Value) }),
		"swap-sysctl":   wire.Op(swapSysctl),
		"features":      wire.Do(func(a featureArgs) error { return kernel.SetFeatures(a.Dev, a.Want) }),
		"swap-features": wire.Op(swapFeatures),
		"swap-mtu":      wire.Op(swapMTU),
	})
}

// swapSysctl writes a key and answers what it was.
func swapSysctl(a sysctlArgs) (string, error) {
	b, err := kernel.Root("/").ReadFile(sysctlPath(a.Key))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", a.Key, err)
	}
	return strings.TrimSpace(string(b)), writeSysctl(a.Key, a.Value)
}

// swapFeatures switches features and answers what those were.
func swapFeatures(a featureArgs) (map[string]bool, error) {
	all, err := kernel.ReadFeatures(a.Dev)
	if err != nil {
		return nil, err
	}
	old := map[string]bool{}
	for name := range a.Want {
		if on, ok := all[name]; ok {
			old[name] = on
		}
	}
	return old, kernel.SetFeatures(a.Dev, a.Want)
}

// swapMTU sets an MTU and answers what it was.
func swapMTU(a mtuArgs) (int, error) {
	i, err := net.InterfaceByName(a.Dev)
	if err != nil {
		return 0, fmt.Errorf("find interface %s: %w", a.Dev, err)
	}
	return i.MTU, kernel.SetInterface(kernel.Interface{Name: a.Dev, MTU: a.MTU})
}

func setUpHost(a setupArgs) (leftOut, error) {
	var out leftOut
	if err := ownSys(a); err != nil {
		out.LeftOut = append(out.LeftOut, "/sys per host: "+err.Error()+"; /sys shows this machine's interfaces")
	}
	if err := kernel.SetHostname(a.Hostname); err != nil {
		return out, err
	}
	if err := kernel.SetInterface(kernel.Interface{Name: "lo", Up: true}); err != nil {
		return out, err
	}
	for key, value := range a.Sysctls {
		if err := writeSysctl(key, value); err != nil {
			out.LeftOut = append(out.LeftOut, key+" per host: "+err.Error()+"; it is as on this machine")
		}
	}
	return out, nil
}

func ownSys(a setupArgs) error {
	if a.Own {
		return nil
	}
	return kernel.MountOwnSys()
}

// writeSysctl writes a key of the network namespace that the process is in.
func writeSysctl(key, value string) error {
	return kernel.Root("/").WriteFile(sysctlPath(key), []byte(value))
}

func sysctlPath(key string) string { return "/proc/sys/" + strings.ReplaceAll(key, ".", "/") }
