//go:build !linux

package kernel

import (
	"fmt"
	"net/netip"
	"runtime"
)

func noLinks(what string) error {
	return fmt.Errorf("%s: unsupported on %s: linerate makes interfaces on Linux only", what, runtime.GOOS)
}

// AddVeth is unsupported on this system.
func AddVeth(v Veth) error { return noLinks("make veth pair " + v.Name) }

// DeleteInterface is unsupported on this system.
func DeleteInterface(name string) error { return noLinks("remove interface " + name) }

// SetInterface is unsupported on this system.
func SetInterface(want Interface) error { return noLinks("set interface " + want.Name) }

// AddRoute is unsupported on this system.
func AddRoute(to netip.Prefix, _ netip.Addr) error { return noLinks("add route to " + to.String()) }

// InterfaceNames is unsupported on this system.
func InterfaceNames() ([]string, error) { return nil, noLinks("list interfaces") }

// SetTokenBucket is unsupported on this system.
func SetTokenBucket(t TokenBucket) error { return noLinks("shape " + t.Dev) }

// SetNetem is unsupported on this system.
func SetNetem(n Netem) error { return noLinks("put netem on " + n.Dev) }

// NetemParent is the class of SetNetem's discipline under which a TokenBucket
// may hang.
const NetemParent = 0x10001

// AddBridge is unsupported on this system.
func AddBridge(name string, _ int, _ ...string) error { return noLinks("make bridge " + name) }
