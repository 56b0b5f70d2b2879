package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/explain"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Roads with storage at their end: a client with a kernel of its own reads a
// file, or a disk, of a server over and over.
const (
	nfsRoad   fault.Road = "nfs"
	smbRoad   fault.Road = "smb"
	iscsiRoad fault.Road = "iscsi"
)

func storageRoads() []fault.Road { return []fault.Road{nfsRoad, smbRoad, iscsiRoad} }

// Sizes of a storage road. User-Mode Linux passes some 900 Mbit/s here; at less
// than half of that the link is what limits a healthy path. The server cannot
// keep in memory what is read, as one cannot whose data is worth a network.
const (
	storageRate   = 400 * unit.Mbit
	storageMemory = 256 * unit.MiB
	storageFile   = 384 // MiB
	readAheadKB   = 4096
)

// storageRoad has the data flow from the server to the client. Samba has no
// server in the kernel here, so that it runs in a namespace.
func storageRoad(r fault.Road) topology.Topology {
	shape := topology.Shape{Rate: storageRate, Delay: 2 * time.Millisecond, MTU: 9000, Queue: 512 * unit.KB}
	client, server := aHost("client1", 1, shape.MTU), aHost("server1", 2, shape.MTU)
	client.Kind, client.Memory = topology.Kernel, storageMemory
	server.Servers = []topology.Server{{Kind: string(r)}}
	if r != smbRoad {
		server.Kind, server.Memory = topology.Kernel, storageMemory
	}
	t := topology.Topology{
		Name: "judge-" + string(r), Title: "a client and a server of " + string(r),
		Hosts: []topology.Host{client, server},
		Links: []topology.Link{{ID: "client1-server1", A: endOf("client1"), B: endOf("server1"), AB: shape, BA: shape}},
	}
	t.Flow = topology.Flow{Senders: []string{"server1"}, Receiver: "client1", Via: "eth0"}
	return t
}

// storageCases are the faults that name the road's workload, at each severity,
// a few of TCP's that storage meets as well, and healthy paths; the quick ones
// are the first of each limiter, severe.
func storageCases(quick bool, repeat int) []Case {
	var out []Case
	for _, r := range storageRoads() {
		seen := map[model.LimiterID]bool{}
		for _, f := range fault.Catalogue() {
			if !shows(f, r) || quick && seen[f.Limiter] {
				continue
			}
			seen[f.Limiter] = true
			for i, sev := range f.Severities {
				if severe := i == len(f.Severities)-1; severe || !quick {
					out = append(out, storageCase(f.ID, sev.Name, r, repeat))
				}
			}
		}
		for i := range healthyOften {
			if i == 0 || !quick {
				out = append(out, storageCase(healthy, string(r), r, healthyOften*repeat+i))
			}
		}
	}
	return out
}

func storageCase(id, severity string, r fault.Road, repeat int) Case {
	return Case{Fault: id, Severity: severity, HostKind: topology.Kernel, Workload: string(r), CC: "cubic", Repeat: repeat, road: r}
}

// shows tells whether a reader can be held up by the fault.
func shows(f fault.Fault, r fault.Road) bool {
	onlyWriters := []string{"nfs-sync-writes", "dirty-limit"}
	notMounted := []string{"nconnect-ignored"} // the judge's mounts ask for one connection
	if slices.Contains(slices.Concat(onlyWriters, notMounted), f.ID) {
		return false
	}
	if r == nfsRoad && slices.Contains([]string{"loss-random", "link-rate", "rcv-window-sysctl"}, f.ID) {
		return true
	}
	if !slices.Contains(f.Workloads, string(r)) || slices.Contains(f.Workloads, "tcp") {
		return false
	}
	_, err := fault.Parse([]string{f.ID}, storageRoad(r))
	return err == nil
}

// storageStage is a lab whose workload is a reader of the server's storage. It
// is judged as a user's copy is: from the client, while it runs.
type storageStage struct {
	*lab.Lab
	agent  *host.Client // of the client
	far    *host.Client // of the server
	share  string       // of the server, inside it
	server netip.Addr
	file   string // what is read
}

func newStorageStage(ctx context.Context, l *lab.Lab, reach func(string) host.Endpoint) (stage, error) {
	s := storageStage{Lab: l, server: l.Addr("server1"), share: l.Servers()[0].Share}
	if err := s.prepare(ctx, l.Servers()[0]); err != nil {
		return nil, fmt.Errorf("prepare storage: %w", err)
	}
	var err error
	if s.agent, err = host.Dial(ctx, reach("client1"), host.Options{Now: time.Now}); err != nil {
		return nil, err
	}
	if s.far, err = host.Dial(ctx, reach("server1"), host.Options{Now: time.Now}); err != nil {
		return nil, errors.Join(err, s.agent.Close())
	}
	return s, nil
}

// prepare fills the share and mounts it, or logs in to the disk.
func (s *storageStage) prepare(ctx context.Context, srv lab.ServerStatus) error {
	const dir = "/mnt/judged"
	storage := kit.Attach(srv, s.server.String(), dir, storageFile)
	s.file = storage.File
	if _, err := s.Run(ctx, "server1", storage.Fill...); err != nil {
		return err
	}
	commands := storage.Attach
	ahead := `echo "$1" >/sys/class/bdi/$(mountpoint -d "$0")/read_ahead_kb`
	switch srv.Kind {
	case "smb":
		ahead = "true" // it reads ahead two requests of 4 MiB
	case "iscsi":
		// The initiator asks for a receive buffer of 512 KiB, and net.core.rmem_max
		// as it comes allows half a window: less than this road needs.
		allow := []string{"sh", "-c", "echo 4194304 >/proc/sys/net/core/rmem_max"}
		commands = append([][]string{allow}, commands...)
		ahead = `echo "$1" >/sys/block/sda/queue/read_ahead_kb`
	}
	for _, argv := range append(commands, []string{"sh", "-c", ahead, dir, fmt.Sprint(readAheadKB)}) {
		if _, err := s.Run(ctx, "client1", argv...); err != nil {
			return err
		}
	}
	return nil
}

// Down implements stage.
func (s storageStage) Down(ctx context.Context) error {
	return errors.Join(s.agent.Close(), s.far.Close(), s.Lab.Down(ctx))
}

// Diagnose implements stage: what `linerate explain CLIENT SERVER:/export` does
// while a reader runs. The verdict is the one that the client's end alone gives.
func (s storageStage) Diagnose(ctx context.Context, w model.Workload) (model.Results, explain.Case, error) {
	none := explain.Case{}
	stop, err := s.Start(ctx, "client1", "reader", s.reader(time.Minute, 0, w)...)
	if err != nil {
		return model.Results{}, none, err
	}
	rec, err := s.watch(ctx)
	if err = errors.Join(err, stop()); err != nil {
		return model.Results{}, none, fmt.Errorf("diagnose: %w", err)
	}
	if rec == nil {
		return model.Results{}, none, errors.New("diagnose: nothing moved")
	}
	run := rec.Results.Runs[0]
	end := func(name string, peer netip.Addr) *explain.End {
		return &explain.End{Host: name, Facts: rec.Facts[name], Samples: run.Samples[name], Peer: peer}
	}
	client, server := end("client1", s.server), end("server1", s.Addr("client1"))
	line := model.Known(storageRate)
	alone := explain.Watched(client, line)
	alone.OneEnd = true
	out := rec.Results
	out.Verdict = explain.Judge(alone)
	return out, explain.Case{Sender: server, Receiver: client, LineRate: line, Passive: true, Goodput: model.Known(run.Goodput)}, nil
}

// watch looks at both ends of the transfer that runs.
func (s storageStage) watch(ctx context.Context) (*loop.Record, error) {
	client, err := s.agent.Facts(ctx)
	if err != nil {
		return nil, err
	}
	server, err := s.far.Facts(ctx)
	if err != nil {
		return nil, err
	}
	export := loop.FindExport(client, server, s.share, s.server)
	c := loop.Climb{
		Loop: loop.Loop{
			Sender:   loop.End{Name: "server1", Addr: s.server, Agent: s.far},
			Receiver: loop.End{Name: "client1", Addr: s.Addr("client1"), Agent: s.agent},
			LineRate: model.Known(storageRate), Now: time.Now,
		},
		Export: &export,
	}
	return c.WatchExport(ctx, 5*time.Second)
}

// Measure implements stage.
func (s storageStage) Measure(ctx context.Context, w model.Workload) (unit.BitRate, error) {
	out, err := s.Run(ctx, "client1", s.reader(storageRun, storageWarmup, w)...)
	if err != nil {
		return 0, fmt.Errorf("measure the truth: %w", err)
	}
	var bytes, took int64
	if _, err := fmt.Sscan(strings.TrimSpace(string(out)), &bytes, &took); err != nil || took <= 0 {
		return 0, fmt.Errorf("measure the truth: the reader printed %q", out)
	}
	return unit.BitRate(float64(bytes) * 8 / time.Duration(took).Seconds()), nil
}

// A reader's first half second fills read-ahead and windows.
const (
	storageRun    = 2500 * time.Millisecond
	storageWarmup = 500 * time.Millisecond
)

func (s storageStage) reader(d, warmup time.Duration, w model.Workload) []string {
	return []string{fault.Self, readRole, s.file, d.String(), warmup.String(), fmt.Sprint(int64(w.ReadRate / 8))}
}
