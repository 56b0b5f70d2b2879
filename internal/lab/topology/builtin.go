package topology

import (
	"embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed builtin/*.yaml
var files embed.FS

// Names of the papers' topologies, in the order of the documentation.
func Names() []string {
	return []string{"back-to-back", "cluster", "base-san", "congested-san", "dual-homed", "wan-16ms", "two-pools", "nas"}
}

// Builtin returns the papers' topologies with the papers' rates.
func Builtin() ([]Topology, error) {
	var out []Topology
	var errs []error
	for _, n := range Names() {
		t, err := Find(n)
		out, errs = append(out, t), append(errs, err)
	}
	return out, errors.Join(errs...)
}

// Find returns the topology of this name; the error lists all names.
func Find(name string) (Topology, error) {
	src, err := Source(name)
	if err != nil {
		return Topology{}, err
	}
	return Parse(name+".yaml", src)
}

// Source returns the YAML file of a topology, for a user to copy and edit.
func Source(name string) ([]byte, error) {
	b, err := files.ReadFile("builtin/" + name + ".yaml")
	if err != nil || strings.ContainsAny(name, "/\\") {
		return nil, fmt.Errorf("find topology %q: there are %s; a file of your own needs a path, ./%s.yaml", name, strings.Join(Names(), ", "), name)
	}
	return b, nil
}

// Demo is what `linerate demo` builds: two hosts, 1 Gbit/s, 10 ms.
func Demo() (Topology, error) {
	t, err := Find("demo")
	return t.Scaled(false), err
}
