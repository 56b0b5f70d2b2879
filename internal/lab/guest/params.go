package guest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Params are the parameters on the kernel's command line of a host. No value has a
// space in it.
type Params struct {
	Line    string // device of the cable, e.g. /dev/ttyS0, or VirtioLine
	Disk    string // device of the writable layer; empty: it is in memory
	Modules string // directory with modules.dep, as the host sees it
	// Keep is a directory of the machine's /run that the host sees, too: the
	// rest of /run is the host's own.
	Keep  string
	Ports []Port
}

// Port is an interface to be named.
type Port struct {
	MAC, Name string
}

// VirtioLine as the cable of a host: its machine has it.
const VirtioLine = "virtio"

// The kernel hands parameters that it does not know, with a value and without
// a dot, to its first process as environment; those without a value become
// arguments (Documentation/admin-guide/kernel-parameters.rst).
const (
	varLine    = "lab_line"
	varDisk    = "lab_disk"
	varModules = "lab_modules"
	varKeep    = "lab_keep"
	varPorts   = "lab_ports"
)

// CommandLine is p for the end of a kernel's command line. As arguments of the
// first process they are read in the same way.
func (p Params) CommandLine() []string {
	ports := make([]string, len(p.Ports))
	for i, x := range p.Ports {
		// A colon and an equals sign are nothing special in a value.
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
// module, in order. It is nil where there is no such module.
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

// moduleName is a module's name as the kernel has it.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}
