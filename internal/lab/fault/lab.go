package fault

import (
	"context"

	"linerate/internal/lab/topology"
)

// Lab is what a fault needs of a running lab. Whatever changes something
// answers with what was there before, so that it can be put back.
type Lab interface {
	// Topology is what was built.
	Topology() topology.Topology
	// Shapes of a link as they are now; index 0 leads from its end A to B.
	Shapes(link string) [2]topology.Shape
	// Reshape changes one direction of a link (0: from A to B) while traffic
	// flows.
	Reshape(ctx context.Context, link string, dir int, change func(*topology.Shape)) error
	// Sysctl writes a key (dotted, e.g. net.ipv4.tcp_rmem) of a host and
	// returns what it was.
	Sysctl(ctx context.Context, host, key, value string) (old string, err error)
	// Features switches NIC features (the kernel's names, e.g.
	// tx-tcp-segmentation) of a host's interface and returns what those were.
	Features(ctx context.Context, host, iface string, want map[string]bool) (old map[string]bool, err error)
	// SetMTU of a host's interface, in bytes; the link's own MTU stays. It
	// returns what it was.
	SetMTU(ctx context.Context, host, iface string, mtu int) (old int, err error)
	// SwitchMTU sets the largest packet that a switch forwards, in bytes; 0 is
	// any. It returns what it was.
	SwitchMTU(ctx context.Context, sw string, mtu int) (old int, err error)
	// Run runs a command inside a host to its end and returns its standard
	// output. An argv[0] of Self stands for this very program.
	Run(ctx context.Context, host string, argv ...string) ([]byte, error)
	// Start starts a command inside a host that runs until stop, or until the
	// lab goes down. An argv[0] of Self stands for this very program.
	Start(ctx context.Context, host, name string, argv ...string) (stop func() error, err error)
}

// loginFile is a lab that has an SMB server of its own.
type loginFile interface {
	// SMBLogin is the file with the server's login, as hosts see it; empty
	// where there is none.
	SMBLogin() string
}

// Self as argv[0] of Lab.Run and Lab.Start is this very program.
const Self = "linerate"

// Undo takes out what was put in and restores what was there. It may be called
// again after an error; after a success it does nothing.
type Undo func(ctx context.Context) error
