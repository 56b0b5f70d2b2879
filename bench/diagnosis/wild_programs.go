package main

import (
	"fmt"
	"slices"
	"strings"
)

// program is one that faults of -wild call on the hosts of a lab, which have this
// machine's, and the package of Debian that has it.
type program struct {
	name, pkg string
	storage   bool // faults of the storage roads alone
}

func wildPrograms() []program {
	return []program{
		{"sh", "dash", false}, {"nft", "nftables", false}, {"ip", "iproute2", false}, {"tc", "iproute2", false},
		{"yes", "coreutils", false}, {"head", "coreutils", false}, {"sleep", "coreutils", false},
		{"nice", "coreutils", false}, {"cat", "coreutils", false}, {"cp", "coreutils", true},
		{"dd", "coreutils", true}, {"ls", "coreutils", true}, {"timeout", "coreutils", true},
		{"awk", "mawk", true}, {"fsfreeze", "util-linux", true}, {"chrt", "util-linux", true}, {"pgrep", "procps", true},
		{"mountpoint", "util-linux", true}, {"linux.uml", "user-mode-linux", true},
	}
}

// haveWildPrograms refuses, before any lab is up, cases whose faults call programs that
// are missing; a draw that stops in its middle is none.
func haveWildPrograms(cases []Case, find func(string) (string, error)) error {
	storage := slices.ContainsFunc(cases, func(c Case) bool { return slices.Contains(storageRoads(), c.road) })
	var lack, install []string
	for _, p := range wildPrograms() {
		if p.storage && !storage {
			continue
		}
		if _, err := find(p.name); err != nil {
			lack = append(lack, p.name)
			if !slices.Contains(install, p.pkg) {
				install = append(install, p.pkg)
			}
		}
	}
	if len(lack) == 0 {
		return nil
	}
	return fmt.Errorf("-wild calls %s, which this machine does not have: apt-get install %s", strings.Join(lack, ", "), strings.Join(install, " "))
}
