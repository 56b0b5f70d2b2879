package fault

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// storageFaults are the faults of storage protocols and servers. They need hosts with a kernel
// of their own, since this machine's kernel may lack NFS, CIFS and iSCSI; without such a host
// they refuse.
func storageFaults() []Fault {
	onKernel := []topology.Kind{topology.Kernel}
	return []Fault{
		{ID: "nfs-few-threads", Doc: "the NFS server has few threads", AppliesTo: AtServer, Limiter: model.ServerTime,
			Severities: three(4, 2, 1, countText("threads")), Counterfactual: "as many threads as requests in flight",
			Confusable: limiters(model.NFSConcurrency), Workloads: []string{"nfs"}, HostKinds: onKernel, FixKind: model.FixOperator,
			Needs: "a kernel host that serves NFS", effects: kernelFile("/proc/fs/nfsd/threads")},
		{ID: "nfs-few-slots", Doc: "the NFS client keeps few requests in flight", AppliesTo: AtReceiver, Limiter: model.NFSConcurrency,
			Severities: three(16, 4, 1, countText("slots")), Counterfactual: "slots × transfer size above rate × RTT",
			Confusable: limiters(model.ServerTime), Workloads: []string{"nfs"}, HostKinds: onKernel,
			Needs: "a kernel host that mounts NFS", effects: remount("nfs", kernelParameter("/sys/module/nfs/parameters/max_session_slots"))},
		{ID: "nfs-small-transfer", Doc: "the mount has a small rsize and wsize", AppliesTo: AtReceiver, Limiter: model.NFSConcurrency,
			Severities: three(64<<10, 16<<10, 4<<10, bytesText), Counterfactual: "transfers of 1 MiB",
			Confusable: limiters(model.ServerTime), Workloads: []string{"nfs"}, HostKinds: onKernel,
			Needs: "a kernel host that mounts NFS", effects: remount("nfs", mountOption("rsize", "wsize"))},
		{ID: "nconnect-ignored", Doc: "the mount uses one connection although more were asked for", AppliesTo: AtReceiver, Limiter: model.NFSConcurrency,
			Severities: only("nconnect 1"), Counterfactual: "one connection per core",
			Confusable: limiters(model.ReceiverWindow), Workloads: []string{"nfs"}, HostKinds: onKernel,
			Needs: "a kernel host that mounts NFS with nconnect", effects: remount("nfs", mountOption("nconnect"))},
		{ID: "nfs-sync-writes", Doc: "the mount writes synchronously", AppliesTo: AtReceiver, Limiter: model.ServerTime,
			Severities: only("sync"), Counterfactual: "writes that are gathered and committed later",
			Confusable: limiters(model.NFSConcurrency), Workloads: []string{"nfs"}, HostKinds: onKernel,
			Needs: "a kernel host that mounts NFS", effects: remount("nfs", mountFlag("sync"))},
		{ID: "smb-signing", Doc: "each SMB message is signed, at the cost of CPU", AppliesTo: AtReceiver, Limiter: model.SenderCPU,
			Severities: only("sec=ntlmsspi"), Counterfactual: "a mount that does not require signing, or a faster cipher",
			Confusable: limiters(model.ReceiverCPU), Workloads: []string{"smb"}, HostKinds: onKernel,
			Needs: "a kernel host that mounts SMB", effects: remount("cifs", mountText("sec", "ntlmsspi"))},
		{ID: "smb-small-transfer", Doc: "the mount has a small rsize and wsize", AppliesTo: AtReceiver, Limiter: model.RequestConcurrency,
			Severities: three(256<<10, 64<<10, 16<<10, bytesText), Counterfactual: "transfers of 4 MiB",
			Confusable: limiters(model.ServerTime), Workloads: []string{"smb"}, HostKinds: onKernel,
			Needs: "a kernel host that mounts SMB", effects: remount("cifs", mountOption("rsize", "wsize"))},
		{ID: "iscsi-queue-depth", Doc: "the initiator keeps few commands in flight", AppliesTo: AtReceiver, Limiter: model.RequestConcurrency,
			Severities: three(8, 2, 1, countText("commands")), Counterfactual: "a queue depth × request size above rate × RTT",
			Confusable: limiters(model.ServerTime), Workloads: []string{"iscsi"}, HostKinds: onKernel,
			Needs: "a kernel host with an iSCSI disk", effects: diskFile("queue_depth")},
		{ID: "iscsi-small-request", Doc: "the initiator cuts requests into small commands", AppliesTo: AtReceiver, Limiter: model.RequestConcurrency,
			Severities: three(128, 32, 4, countText("KiB a command")), Counterfactual: "commands of 1 MiB",
			Confusable: limiters(model.ServerTime), Workloads: []string{"iscsi"}, HostKinds: onKernel,
			Needs: "a kernel host with an iSCSI disk", effects: diskFile("max_sectors_kb")},
		{ID: "small-read-ahead", Doc: "the client's read-ahead is too small for the delay", AppliesTo: AtReceiver, Limiter: model.NFSConcurrency,
			Severities: three(512, 128, 16, countText("KiB")), Counterfactual: "read-ahead of at least rate × RTT",
			Confusable: limiters(model.ServerTime), Workloads: []string{"nfs"}, HostKinds: onKernel,
			Needs: "a kernel host that mounts NFS", effects: readAhead},
		{ID: "slow-disk", Doc: "the server's disk is slower than the link", AppliesTo: AtServer, Limiter: model.ServerTime,
			Severities: three(0.8, 0.5, 0.2, shareText), Counterfactual: "a disk that delivers at least the link's rate",
			Confusable: limiters(model.NFSConcurrency, model.ApplicationSource), Workloads: []string{"nfs", "iscsi"}, HostKinds: onKernel, FixKind: model.FixOperator,
			Needs: "a kernel host that serves more than its memory holds", effects: slowDisk},
		{ID: "dirty-limit", Doc: "the writing client is stalled by a low limit of dirty pages", AppliesTo: AtSender, Limiter: model.ApplicationSource,
			Severities: three(16<<20, 4<<20, 1<<20, bytesText), Counterfactual: "a dirty limit of several rate × RTT",
			Confusable: limiters(model.ServerTime), Workloads: []string{"nfs", "smb", "iscsi"}, HostKinds: onKernel, FixKind: model.FixOperator,
			Needs: "a kernel host that writes", effects: dirtyLimit},
		{ID: "server-cpu", Doc: "other work takes the CPU from the storage server", AppliesTo: AtServer, Limiter: model.ServerTime,
			Severities: three(10, 5, 0, squeezeText), Counterfactual: "a CPU for the server",
			Confusable: limiters(model.SenderCPU, model.ApplicationSource), Workloads: []string{"nfs", "smb", "iscsi"},
			HostKinds: []topology.Kind{topology.Namespace}, Needs: "a namespace host that serves storage", effects: squeezeServer},
	}
}

// slowDisk throttles the device that the server serves from, by the block layer's limit of the
// root cgroup, in which the kernel's own servers run
// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
func slowDisk(v float64, s *site) ([]effect, error) {
	if s.serverHost() == "" {
		return nil, errors.New("no host of this lab serves storage: bring one up with --serve HOST=nfs")
	}
	host, rate := s.end.Node, int64(v*float64(s.rate())/8)
	return []effect{func(ctx context.Context, l Lab) (Undo, error) {
		m, err := servedDisk(ctx, l, host)
		if err != nil {
			return nil, err
		}
		number, err := readHostFile(ctx, l, host, path.Join("/sys/block", path.Base(m.source), "dev"))
		if err != nil {
			return nil, err
		}
		was, err := readHostFile(ctx, l, host, throttle)
		if err != nil {
			return nil, err
		}
		if err := writeHostFile(ctx, l, host, throttle, fmt.Sprint(number, " ", rate)); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return writeHostFile(ctx, l, host, throttle, ruleOf(was, number)) }, nil
	}}, needKernel(s)
}

// servedDisk is the mount that a kernel host serves from.
func servedDisk(ctx context.Context, l Lab, host string) (mountEntry, error) {
	return findMountIf(ctx, l, host, "disk to serve from", func(m mountEntry) bool {
		return m.kind == "ext4" && strings.HasPrefix(m.point, "/srv/")
	})
}

// throttle is a file of the control group that a kernel host's disks are in.
const throttle = "/run/blkio/blkio.throttle.read_bps_device"

// ruleOf returns a device's rule among those listed; without one, a limit of 0.
func ruleOf(rules, number string) string {
	for line := range strings.Lines(rules) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == number {
			return strings.Join(f, " ")
		}
	}
	return number + " 0"
}

func countText(of string) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("%.0f %s", v, of) }
}

// needKernel refuses if the host acted on has no kernel of its own.
func needKernel(s *site) error {
	if h, _ := s.topo.Host(s.end.Node); h.Kind == topology.Kernel {
		return nil
	}
	return fmt.Errorf("%s shares this machine's kernel: bring the lab up with --kernel %s", s.end.Node, s.end.Node)
}

func squeezeServer(v float64, s *site) ([]effect, error) {
	if s.serverHost() == "" {
		return nil, errors.New("no host of this lab serves storage: bring up a topology that has a server, e.g. nas")
	}
	return squeeze(v, s)
}

// kernelFile writes v to a file of a kernel host.
func kernelFile(file string) func(float64, *site) ([]effect, error) {
	return func(v float64, s *site) ([]effect, error) {
		return []effect{hostFile(s.end.Node, file, strconv.Itoa(int(v)))}, needKernel(s)
	}
}

// hostFile writes a value to a file of a host; its undo restores what the file had.
func hostFile(host, file, value string) effect {
	return func(ctx context.Context, l Lab) (Undo, error) {
		old, err := readHostFile(ctx, l, host, file)
		if err != nil {
			return nil, err
		}
		if err := writeHostFile(ctx, l, host, file, value); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return writeHostFile(ctx, l, host, file, old) }, nil
	}
}

// The two files of one limit: writing either sets the other to 0, and the one in bytes does
// not accept 0 (mm/page-writeback.c, dirty_bytes_handler).
const (
	dirtyBytes = "/proc/sys/vm/dirty_bytes"
	dirtyRatio = "/proc/sys/vm/dirty_ratio"
)

// dirtyLimit bounds the dirty pages, in bytes; its undo restores whichever of the two files
// was in force.
func dirtyLimit(v float64, s *site) ([]effect, error) {
	host := s.end.Node
	return []effect{func(ctx context.Context, l Lab) (Undo, error) {
		file := dirtyBytes
		was, err := readHostFile(ctx, l, host, dirtyBytes)
		if err == nil && was == "0" {
			file = dirtyRatio
			was, err = readHostFile(ctx, l, host, dirtyRatio)
		}
		if err != nil {
			return nil, err
		}
		if err := writeHostFile(ctx, l, host, dirtyBytes, strconv.Itoa(int(v))); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return writeHostFile(ctx, l, host, file, was) }, nil
	}}, needKernel(s)
}

func readHostFile(ctx context.Context, l Lab, host, file string) (string, error) {
	b, err := l.Run(ctx, host, "cat", file)
	if err != nil {
		return "", fmt.Errorf("read %s on %s: %w", file, host, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// writeHostFile passes the value as an argument, not as part of a script.
func writeHostFile(ctx context.Context, l Lab, host, file, value string) error {
	if _, err := l.Run(ctx, host, "sh", "-c", `printf %s "$1" > "$2"`, "sh", value, file); err != nil {
		return fmt.Errorf("write %q to %s on %s: %w", value, file, host, err)
	}
	return nil
}

// diskFile writes v to an attribute of the host's first iSCSI disk.
func diskFile(attribute string) func(float64, *site) ([]effect, error) {
	return func(v float64, s *site) ([]effect, error) {
		host := s.end.Node
		return []effect{func(ctx context.Context, l Lab) (Undo, error) {
			disk, err := iscsiDisk(ctx, l, host)
			if err != nil {
				return nil, err
			}
			dir := "device"
			if attribute == "max_sectors_kb" {
				dir = "queue"
			}
			return hostFile(host, path.Join("/sys/block", disk, dir, attribute), strconv.Itoa(int(v)))(ctx, l)
		}}, needKernel(s)
	}
}

// iscsiDisk is the name of the first disk whose path in /sys leads through an
// iSCSI session.
func iscsiDisk(ctx context.Context, l Lab, host string) (string, error) {
	out, err := l.Run(ctx, host, "ls", "-l", "/sys/block")
	if err != nil {
		return "", fmt.Errorf("list disks of %s: %w", host, err)
	}
	for line := range strings.Lines(string(out)) {
		if _, to, ok := strings.Cut(strings.TrimSpace(line), " -> "); ok && strings.Contains(to, "/session") {
			return path.Base(to), nil
		}
	}
	return "", fmt.Errorf("%s has no iSCSI disk: log in to a target first", host)
}
