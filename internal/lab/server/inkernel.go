package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"linerate/internal/unit"
)

// KernelRole is the hidden subcommand that starts the servers of a host's own kernel; it runs
// inside that host: lab-kernel-serve JSON.
const KernelRole = "lab-kernel-serve"

// kernelSpec is the task of the role.
type kernelSpec struct {
	Kind    Kind         `json:"kind"`
	Share   string       `json:"share"`
	Addr    netip.Addr   `json:"addr"`
	Clients []netip.Addr `json:"clients"`
}

// kernelThreads is the number that rpc.nfsd starts by default.
const kernelThreads = 8

// StartInKernel is Start for a host with a kernel of its own: NFS 4.2 from the
// kernel's server, iSCSI from its target (LIO). It refuses other kinds.
func StartInKernel(ctx context.Context, h Host, spec Spec) (*Server, error) {
	s := &Server{spec: spec, addr: h.Addr()}
	if err := s.startInKernel(ctx, h); err != nil {
		return nil, fmt.Errorf("start %s server in the kernel of %s: %w", spec.Kind, h.Name(), err)
	}
	return s, nil
}

func (s *Server) startInKernel(ctx context.Context, h Host) error {
	k := kernelSpec{s.spec.Kind, s.spec.Share, s.addr, s.spec.Clients}
	probes := map[Kind][]string{
		NFS:   {"nfs4", s.at(nfsPort)},
		ISCSI: {"iscsi", s.at(iscsiPort), iscsiName},
	}
	probe, ok := probes[k.Kind]
	if !ok {
		return fmt.Errorf("a kernel serves nfs and iscsi; for %s use a namespace host", k.Kind)
	}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if out, err := h.Run(ctx, slices.Concat(s.spec.Self, []string{KernelRole, string(b)})...); err != nil {
		return fmt.Errorf("%w %s", err, out)
	}
	if out, err := h.Run(ctx, slices.Concat(s.spec.Self, []string{"lab-probe", answerWithin.String()}, probe)...); err != nil {
		return fmt.Errorf("it does not answer: %w %s", err, out)
	}
	return nil
}

// MountDevice mounts a disk of a host with a kernel of its own and returns the mount point.
// The block layer of that kernel limits the disk to rate; 0: no limit.
func MountDevice(ctx context.Context, h Host, device, name string, rate unit.BitRate) (string, error) {
	dir := "/srv/" + name
	const groups = "/run/blkio" // a fault may limit the disk too
	cmds := [][]string{
		{"mkdir", "-p", dir, groups}, {"mount", "-t", "ext4", "-o", "noatime", device, dir},
		{"sh", "-c", `mountpoint -q "$0" || mount -t cgroup -o blkio blkio "$0"`, groups},
	}
	if rate > 0 {
		number, err := h.Run(ctx, "cat", path.Join("/sys/block", path.Base(device), "dev"))
		if err != nil {
			return "", fmt.Errorf("make disk %s on %s: %w", name, h.Name(), err)
		}
		rule := fmt.Sprintf("%s %d", strings.TrimSpace(string(number)), int64(rate/8))
		for _, f := range []string{"read", "write"} {
			cmds = append(cmds, []string{"sh", "-c", `echo "$0" >"$1"`, rule, groups + "/blkio.throttle." + f + "_bps_device"})
		}
	}
	for _, argv := range cmds {
		if out, err := h.Run(ctx, argv...); err != nil {
			return "", fmt.Errorf("make disk %s on %s: %s: %w %s", name, h.Name(), argv[0], err, out)
		}
	}
	return dir, nil
}
