//go:build !linux

package kernel

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

func notBooted(what string) error {
	return fmt.Errorf("%s: unsupported on %s: emulated machines run Linux", what, runtime.GOOS)
}

// LoadModule is unsupported on this system.
func LoadModule(string, string) error { return notBooted("load module") }

// Do is unsupported on this system.
func (m Mount) Do() error { return notBooted("mount " + m.Source) }

// SwitchRoot is unsupported on this system.
func SwitchRoot(string) error { return notBooted("switch root") }

// OpenVirtioPort is unsupported on this system.
func OpenVirtioPort(context.Context, string) (*os.File, error) {
	return nil, notBooted("open virtio port")
}
