package fault

import (
	"context"

	"linerate/internal/lab/topology"
)

// Lab is what a fault needs of a running lab. Each method that changes something returns the
// value from before, so that it can be restored.
type Lab interface {
	// Topology is what was built.
	Topology() topology.Topology
	// Shapes of a link as they are now; index 0 leads from its end A to B.
	Shapes(link string) [2]topology.Shape
	// Reshape changes one direction of a link (0: from A to B) while traffic
	// flows.
	Reshape(ctx context.Context, link string, dir int, change func(*topology.Shape)) error
	// Sysctl writes a key (dotted, e.g. net.ipv4.tcp_rmem) of a host and returns its earlier
	// value.
	Sysctl(ctx context.Context, host, key, value string) (old string, err error)
	// Features switches NIC features (the kernel's names, e.g. tx-tcp-segmentation) of a
	// host's interface and returns their earlier values.
	Features(ctx context.Context, host, iface string, want map[string]bool) (old map[string]bool, err error)
	// SetMTU sets the MTU of a host's interface, in bytes, and returns the earlier one. The
	// link's own MTU stays.
	SetMTU(ctx context.Context, host, iface string, mtu int) (old int, err error)
	// SwitchMTU sets the largest packet that a switch forwards, in bytes, and returns the
	// earlier value; 0: any size.
	SwitchMTU(ctx context.Context, sw string, mtu int) (old int, err error)
	// Run runs a command inside a host to its end and returns its standard
	// output. An argv[0] of Self stands for this very program.
	Run(ctx context.Context, host string, argv ...string) ([]byte, error)
	// Start starts a command inside a host; it runs until stop is called or the lab goes down.
	// An argv[0] of Self stands for this very program.
	Start(ctx context.Context, host, name string, argv ...string) (stop func() error, err error)
}

// loginFile is implemented by a lab that has an SMB server of its own.
type loginFile interface {
	// SMBLogin is the file with the server's login, as hosts see it; empty if there is none.
	SMBLogin() string
}

// Self as argv[0] of Lab.Run and Lab.Start is this very program.
const Self = "linerate"

// Undo removes what was injected and restores the state from before. It may be called again
// after an error; after a success it does nothing.
type Undo func(ctx context.Context) error
