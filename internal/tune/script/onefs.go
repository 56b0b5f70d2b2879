package script

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"linerate/internal/tune/setter"
)

// OneFS is the scripts' view of Isilon OneFS. The names of its sysctls are a paper's, its commands
// are from memory: no public source has them. So a person reads the script, and runs it.
type OneFS struct{}

// Name implements Kind.
func (OneFS) Name() string { return "onefs" }

// System implements Kind. Nothing is known to do a job later there.
func (OneFS) System() System {
	return System{Uname: "Isilon OneFS", Boot: freebsdBoot, Schedule: "false"}
}

// ByHand implements ByHand.
func (OneFS) ByHand() string {
	return "its commands are from a paper, not verified, and linerate does not run them"
}

const onefsSysctl = "onefs.sysctl.efs.bam.fnprefetch."

var (
	onefsNames = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(enable_streaming|enable_concurrent|lookahead_streaming|prefetch_ll_all)$`)
	})
	onefsPath    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/ifs(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`) })
	onefsNetwork = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*){1,2}$`) })
	onefsWords   = map[string]*regexp.Regexp{
		"onefs.file.access_pattern": regexp.MustCompile(`^(concurrency|streaming|random)$`),
		"onefs.file.protection":     regexp.MustCompile(`^(default|\+[1-4](d[1-4])?n?(:[1-3][dn]?)*|[2-8]x)$`),
		"onefs.network.aggregation": regexp.MustCompile(`^(roundrobin|failover|lacp|fec)$`),
	}
)

// Mechanism implements Kind. A sysctl is of the node on which the script runs, and lasts until it
// restarts.
func (OneFS) Mechanism(setting, target string) (Mechanism, error) {
	at := Quote(target)
	switch name := strings.TrimPrefix(setting, onefsSysctl); {
	case onefsNames().MatchString(name) && target == "":
		name = "efs.bam.fnprefetch." + name
		return Mechanism{Read: "sysctl -n " + name, Write: "sysctl " + name + `="$value"`, Runtime: true}, nil
	case strings.HasPrefix(setting, "onefs.file.") && !onefsPath().MatchString(target):
		return Mechanism{}, fmt.Errorf("%s is a setting of a directory, as %[1]s@/ifs/data; not of %q", setting, target)
	case strings.HasPrefix(setting, "onefs.network.") && !onefsNetwork().MatchString(target):
		return Mechanism{}, fmt.Errorf("%s is a setting of a subnet or pool, as %[1]s@groupnet0.subnet0; not of %q", setting, target)
	case setting == "onefs.file.access_pattern":
		return Mechanism{Read: "isi get -d " + at + " | awk 'NR == 2 { print $3 }'", Write: `isi set -l "$value" ` + at}, nil
	case setting == "onefs.file.protection":
		return Mechanism{Read: "isi get -d " + at + " | awk 'NR == 2 { print $1 }'", Write: `isi set -p "$value" ` + at}, nil
	case setting == "onefs.network.mtu":
		return Mechanism{Read: "isi network subnets view " + at + " | sed -n 's/^ *MTU: *//p'", Write: "isi network subnets modify " + at + ` --mtu "$value"`}, nil
	case setting == "onefs.network.aggregation":
		return Mechanism{Read: "isi network pools view " + at + " | sed -n 's/^ *Aggregation Mode: *//p'", Write: "isi network pools modify " + at + ` --aggregation-mode "$value"`}, nil
	}
	return Mechanism{}, fmt.Errorf("linerate writes no script for %s on OneFS", setting)
}

// Canonical implements Kind.
func (OneFS) Canonical(setting, _, value string) (string, error) {
	words, ok := onefsWords[setting]
	if !ok {
		return number(setting, value)
	}
	if !words.MatchString(value) {
		return "", fmt.Errorf("%s: %q: want what matches %s: %w", setting, value, words, setter.ErrValue)
	}
	return value, nil
}
