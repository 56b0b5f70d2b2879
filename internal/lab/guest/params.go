package guest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Params are linerate's parameters on the kernel command line of a host. No value contains a
// space.
type Params struct {
	Line    string // device of the cable, e.g. /dev/ttyS0, or VirtioLine
	Disk    string // device of the writable layer; empty: the layer is in memory
	Modules string // directory with modules.dep, as the host sees it
	// Keep is a directory below the machine's /run that the host sees too; the rest of /run is
	// the host's own.
	Keep  string
	Ports []Port
}

// Port is an interface to be named.
type Port struct {
	MAC, Name string
}

// VirtioLine as Params.Line: the cable is the emulated machine's virtio-serial port.
const VirtioLine = "virtio"

// The kernel passes parameters that it does not know to its first process: those with a value
// and without a dot as environment, those without a value as arguments
// (Documentation/admin-guide/kernel-parameters.rst).
const (
	varLine    = "lab_line"
	varDisk    = "lab_disk"
	varModules = "lab_modules"
	varKeep    = "lab_keep"
	varPorts   = "lab_ports"
)

// CommandLine returns p as words for the end of a kernel command line. The first process
// accepts the same words as arguments.
func (p Params) CommandLine() []string {
	ports := make([]string, len(p.Ports))
	for i, x := range p.Ports {
		// A colon and an equals sign have no special meaning inside a value.
		ports[i] = x.MAC + "=" + x.Name
	}
	return []string{
		varLine + "=" + p.Line, varDisk + "=" + p.Disk, varModules + "=" + p.Modules,
		varKeep + "=" + p.Keep, varPorts + "=" + strings.Join(ports, ","), InitRole,
	}
}

// merged looks for a parameter among the arguments, then in the environment.
func merged(args []string, getenv func(string) string) func(string) string {
	return func(name string) string {
		for _, a := range args {
			if value, ok := strings.CutPrefix(a, name+"="); ok {
				return value
			}
		}
		return getenv(name)
	}
}

func parseParams(getenv func(string) string) (Params, error) {
	p := Params{Line: getenv(varLine), Disk: getenv(varDisk), Modules: getenv(varModules), Keep: getenv(varKeep)}
	if p.Line == "" {
		return p, fmt.Errorf("read kernel parameters: no %s", varLine)
	}
	for _, x := range list(getenv(varPorts)) {
		mac, name, ok := strings.Cut(x, "=")
		if !ok {
			return p, fmt.Errorf("read kernel parameters: port %q", x)
		}
		p.Ports = append(p.Ports, Port{mac, name})
	}
	return p, nil
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// moduleFiles reads a modules.dep (modules.dep(5): "file: what it needs", in
// the order opposite to that of loading) and returns the files to load for a
// module, in order. The result is nil if there is no such module.
func moduleFiles(dep, name string) []string {
	for line := range strings.Lines(dep) {
		file, needs, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || moduleName(file) != strings.ReplaceAll(name, "-", "_") {
			continue
		}
		out := append([]string{file}, strings.Fields(needs)...)
		slices.Reverse(out)
		return out
	}
	return nil
}

// moduleName is a module's name as the kernel spells it.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}
