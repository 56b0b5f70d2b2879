package lab

import (
	"io"
	"strings"

	"linerate/internal/kernel"
)

// setupArgs is the first request to a holder.
type setupArgs struct {
	Hostname string            `json:"hostname"`
	Sysctls  map[string]string `json:"sysctls"`
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

// HolderMain is the hidden subcommand lab-holder: a process that was started
// in namespaces of its own, is one emulated host by keeping them alive, and
// changes things inside on request. It returns the exit status.
func HolderMain(stdin io.Reader, stdout io.Writer) int {
	return serveMain(stdin, stdout, map[string]handler{
		"setup":     op(setUpHost),
		"interface": do(kernel.SetInterface),
		"veth":      do(kernel.AddVeth),
		"shape":     do(kernel.SetTokenBucket),
		"sysctl":    do(func(a sysctlArgs) error { return writeSysctl(a.Key, a.Value) }),
		"features":  do(func(a featureArgs) error { return kernel.SetFeatures(a.Dev, a.Want) }),
	})
}

func setUpHost(a setupArgs) (leftOut, error) {
	var out leftOut
	if err := kernel.MountOwnSys(); err != nil {
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

// writeSysctl writes a key of the network namespace that the process is in.
func writeSysctl(key, value string) error {
	path := "/proc/sys/" + strings.ReplaceAll(key, ".", "/")
	return kernel.Root("/").WriteFile(path, []byte(value))
}
