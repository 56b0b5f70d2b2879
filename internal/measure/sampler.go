package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Watch selects what of a host is sampled.
type Watch struct {
	// Addrs are the peers: every TCP connection to or from these addresses.
	Addrs []netip.Addr `json:"addrs,omitempty"`
	// Ports restricts further, to connections with one of these as local or remote port; empty is
	// every port. Without Addrs, Ports and OwnedBy no connection is watched.
	Ports []uint16 `json:"ports,omitempty"`
	// OwnedBy adds the connections that these processes and their descendants hold, to any
	// address.
	OwnedBy []int `json:"owned_by,omitempty"`
	// NotOwnedBy leaves out the connections that these processes and their descendants hold.
	NotOwnedBy []int `json:"not_owned_by,omitempty"`
	// PIDs are the processes whose threads are sampled.
	PIDs []int `json:"pids,omitempty"`
	// FindOwners adds the processes that hold a watched connection.
	FindOwners bool `json:"find_owners,omitempty"`
	// NICs restricts the interfaces; empty is all that are up.
	NICs []string `json:"nics,omitempty"`
	// Mount is the mount point of the NFS mount to watch; empty is none.
	Mount string `json:"mount,omitempty"`
	// Share is the SMB share to watch, //server/name; empty is none.
	Share string `json:"share,omitempty"`
	// Disk is the block device to watch, e.g. sda; empty is none.
	Disk string `json:"disk,omitempty"`
	// Counters are the names of the SNMP counters that samples have; empty is all of them. A kernel has
	// hundreds, which are most of a sample.
	Counters []string `json:"counters,omitempty"`
	// Queues adds what each transmit queue of the interfaces counts.
	Queues bool `json:"queues,omitempty"`
	// Serves is the storage that the host serves; nil is none.
	Serves *Serving `json:"serves,omitempty"`
	// CgroupDir is the directory of the control group whose CPU quota is
	// watched; empty is that of the watched processes.
	CgroupDir string `json:"cgroup_dir,omitempty"`
}

// Serving is storage that a host serves to others.
type Serving struct {
	// Disk is the number of the block device that holds the storage, "8:16"; empty if none of the
	// host's devices does (tmpfs, ZFS).
	Disk string `json:"disk,omitempty"`
}

// Sampler reads one host's counters repeatedly. It is for one goroutine at a time.
type Sampler struct {
	src   kernel.Source
	watch Watch
	now   func() time.Time

	tasks  *taskReader
	quota  quotaReader
	links  []kernel.Link // watched interfaces, as of the last reading
	paused time.Time     // when pause frames were last read
	conns  connReader
	begun  time.Time // when the reading of the connections began
	// netstat has the names of the SNMP counters, counted how many there were last.
	netstat kernel.Netstat
	counted int
	// granted are the credits of the watched share's session, once read.
	granted *int64
	blind   []model.Blind
	missed  map[string]bool // views already reported as missing
}

// NewSampler prepares to sample src. now is the host's wall clock. It reads nothing yet.
func NewSampler(src kernel.Source, w Watch, now func() time.Time) (*Sampler, error) {
	if src.OS() != "linux" {
		return nil, fmt.Errorf("sample this host: unsupported on %s, only Linux can be sampled so far: %w", src.OS(), errors.ErrUnsupported)
	}
	if strings.ContainsAny(w.Disk, "/\x00") || w.Disk == "." || w.Disk == ".." {
		return nil, fmt.Errorf("sample this host: %q is no name of a disk, as sda is", w.Disk)
	}
	if w.Mount != "" {
		w.Mount = path.Clean(w.Mount)
	}
	return &Sampler{
		src: src, watch: w, now: now,
		tasks: newTaskReader(src, w), quota: quotaReader{src: src},
		conns: newConnReader(src, w), missed: map[string]bool{},
	}, nil
}

// Read takes one sample; the caller sets At, since it knows when the run began. A view that
// cannot be read leaves its field empty, and Blind reports it once; the error is set only if
// nothing can be read.
func (s *Sampler) Read(ctx context.Context) (model.Sample, error) {
	out := model.Sample{V: model.SampleVersion, HostAt: s.now()}
	if err := ctx.Err(); err != nil {
		return model.Sample{}, err
	}
	views := s.views()
	var errs []error // one per missing view
	for _, v := range views {
		err := v.read(ctx, &out)
		if cerr := ctx.Err(); cerr != nil { // cancelled, so nothing is missing
			return model.Sample{}, cerr
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", v.what, err))
		}
		if err != nil && !errors.Is(err, errNobody) {
			s.miss(v.what, v.wouldShow, err)
		}
	}
	if len(errs) == len(views) {
		return model.Sample{}, fmt.Errorf("sample this host: nothing can be read; see that /proc is mounted and readable: %w", errors.Join(errs...))
	}
	if len(s.watch.Counters) > 0 { // not before: how connections are read depends on some, too
		maps.DeleteFunc(out.SNMP, func(name string, _ int64) bool { return !slices.Contains(s.watch.Counters, name) })
	}
	return out, nil
}

// Blind lists the views that were missing so far, in order of their first failure.
func (s *Sampler) Blind() []model.Blind { return slices.Clone(s.blind) }

func (s *Sampler) miss(what, wouldShow string, err error) {
	if s.missed[what] {
		return
	}
	s.missed[what] = true
	s.blind = append(s.blind, model.Blind{What: what, WouldShow: wouldShow, How: remedy(err)})
}

// view is one source of a sample.
type view struct {
	what      string
	wouldShow string
	read      func(ctx context.Context, out *model.Sample) error
}

// views lists the views of this watch in the order of reading: the connections need the SNMP
// counters, the tasks need the connections, the queueing disciplines the interfaces.
func (s *Sampler) views() []view {
	v := []view{
		{"per-core CPU time", "whether a core is the limit, and in which kind of work", s.readCPUs},
		{"softnet counters", "packets dropped or held back before the TCP stack", s.readSoftnet},
		{"queueing discipline counters", "packets that this host's own queue dropped or held back", s.readQdiscs},
		{"CPU quota", "whether a CPU quota held the processes back", s.readThrottled},
	}
	if len(s.watch.PIDs) > 0 || s.watch.FindOwners {
		v = slices.Insert(v, 0, view{"tasks of the connections", "whether the program at this end waits for a CPU", s.readTasks})
	}
	// Read right after the connections: what an interface carried beyond them counts as foreign
	// traffic, and on a busy host much passes between two readings.
	v = slices.Insert(v, 0, view{"interface counters", "what the NIC carried, dropped and found damaged", s.readNICs})
	if s.conns.asked() {
		v = slices.Insert(v, 0, view{"tcp_info", "windows, losses and what limits each connection", s.readConns})
	}
	v = slices.Insert(v, 0, view{"SNMP counters", "retransmits, timeouts, out-of-order and window events of the host", s.readSNMP})
	if s.watch.Mount != "" {
		v = append(v, view{"NFS statistics of " + s.watch.Mount, "whether requests wait for a slot, the network or the server", s.readNFS})
	}
	if s.watch.Share != "" {
		v = append(v, view{"SMB statistics of " + s.watch.Share, "how many requests are under way, and for how long", s.readSMB})
	}
	if s.watch.Disk != "" {
		v = append(v, view{"statistics of the disk " + s.watch.Disk, "how many requests are under way, and for how long", s.readDisk})
	}
	if s.watch.Queues {
		v = append(v, view{"transmit queues", "which queue of an interface carries the data, and which drops", s.readQueues})
	}
	if s.watch.Serves != nil {
		v = append(v, view{"the storage that this host serves", "whether its disk, or the threads of its NFS server, are what requests wait for", s.readServer})
	}
	return v
}

// errNobody: there is no process to sample, so nothing is missing either.
var errNobody = errors.New("no watched process")

func (s *Sampler) readTasks(_ context.Context, out *model.Sample) (err error) {
	out.Tasks, err = s.tasks.read(out.Conns)
	if err == nil && len(out.Tasks) == 0 {
		return errNobody
	}
	return err
}

func (s *Sampler) readCPUs(_ context.Context, out *model.Sample) error {
	b, err := s.src.ReadFile("/proc/stat")
	if err != nil {
		return err
	}
	if out.CPUs, err = kernel.ParseStat(b); err != nil {
		return err
	}
	out.Pressure = s.readPressure()
	return nil
}

// readPressure reads pressure stall information; nil where the kernel has none, which is
// nothing to tell the user of.
func (s *Sampler) readPressure() *model.Pressure {
	var p model.Pressure
	for name, into := range map[string]*time.Duration{"cpu": &p.CPU, "io": &p.IO, "memory": &p.Memory} {
		b, err := s.src.ReadFile("/proc/pressure/" + name)
		if err != nil {
			return nil
		}
		if *into, err = kernel.ParsePressure(b); err != nil {
			return nil
		}
	}
	return &p
}

func (s *Sampler) readSoftnet(_ context.Context, out *model.Sample) error {
	b, err := s.src.ReadFile("/proc/thread-self/net/softnet_stat")
	if err != nil {
		return err
	}
	out.Softnet, err = kernel.ParseSoftnet(b)
	return err
}

// readSNMP reads through thread-self, since /proc/net shows the namespace of the process's first
// thread.
func (s *Sampler) readSNMP(_ context.Context, out *model.Sample) error {
	counters := make(map[string]int64, s.counted)
	for _, name := range []string{"snmp", "netstat"} {
		b, err := s.src.ReadFile("/proc/thread-self/net/" + name)
		if err != nil {
			return err
		}
		if err := s.netstat.Parse(b, counters); err != nil {
			return err
		}
	}
	out.SNMP, s.counted = counters, len(counters)
	return nil
}

func (s *Sampler) readConns(ctx context.Context, out *model.Sample) error {
	s.begun = s.now()
	return s.conns.read(ctx, out)
}

func (s *Sampler) readNICs(ctx context.Context, out *model.Sample) error {
	links, err := s.src.Links(ctx)
	if s.conns.asked() {
		out.Spread = max(0, s.now().Sub(s.begun).Truncate(time.Millisecond))
	}
	s.links = slices.DeleteFunc(links, func(l kernel.Link) bool {
		if len(s.watch.NICs) > 0 {
			return !slices.Contains(s.watch.NICs, l.Name)
		}
		return !l.Up
	})
	ask := out.HostAt.Sub(s.paused).Abs() >= pauseEvery
	for _, l := range s.links {
		if ask && l.Kind == "" && (l.BusID != "" || l.PermMAC != "") { // software has no flow control
			l.Count.Pause = s.src.Pauses(l.Name)
		}
		out.NICs = append(out.NICs, l.Count)
	}
	if ask {
		s.paused = out.HostAt
	}
	return err
}

// pauseEvery is how often drivers are asked for pause frames, since some ask their firmware.
const pauseEvery = time.Second

func (s *Sampler) readQdiscs(ctx context.Context, out *model.Sample) error {
	qdiscs, err := s.src.Qdiscs(ctx)
	for _, l := range s.links {
		if q, ok := qdiscs[l.Index]; ok {
			q.Dev = l.Name
			out.Qdiscs = append(out.Qdiscs, q)
		}
	}
	return err
}

func (s *Sampler) readQueues(ctx context.Context, out *model.Sample) error {
	src, ok := s.src.(kernel.QueueSource)
	if !ok {
		return fmt.Errorf("transmit queues: %w", errors.ErrUnsupported)
	}
	queues, err := src.TxQueues(ctx)
	for _, l := range s.links {
		for _, q := range queues[l.Index] {
			q.Dev = l.Name
			out.Queues = append(out.Queues, q)
		}
	}
	return err
}

func (s *Sampler) readThrottled(_ context.Context, out *model.Sample) (err error) {
	dir := s.watch.CgroupDir
	if dir == "" {
		dir, err = s.quota.find(slices.Sorted(maps.Keys(s.tasks.pids)))
	}
	if errors.Is(err, errNobody) {
		out.Throttled = model.Unknown[time.Duration](model.Absent, "no process of the connections is known")
	}
	if err != nil {
		return err
	}
	out.Throttled, err = s.quota.read(dir)
	return err
}

func (s *Sampler) readNFS(_ context.Context, out *model.Sample) error {
	b, err := s.src.ReadFile("/proc/self/mountstats")
	if err != nil {
		return err
	}
	out.NFS, err = kernel.ParseMountstats(b, s.watch.Mount)
	return err
}

func (s *Sampler) readSMB(_ context.Context, out *model.Sample) error {
	b, err := s.src.ReadFile("/proc/fs/cifs/Stats")
	if err != nil {
		return err
	}
	if out.Requests, err = kernel.ParseCIFSStats(b, s.watch.Share); err != nil {
		return err
	}
	out.Requests.Credits = s.credits()
	return nil
}

// credits are read once: the text is long if many files are open, and only what the server grants
// to an idle client is of interest.
func (s *Sampler) credits() int64 {
	if s.granted == nil {
		s.granted = new(int64)
		b, err := s.src.ReadFile("/proc/fs/cifs/DebugData")
		if err != nil {
			return 0 // unknown
		}
		all := kernel.ParseCIFSDebugData(b)
		for _, c := range all {
			if len(all) == 1 || slices.Contains(s.watch.Addrs, c.Addr) {
				*s.granted = c.Credits
			}
		}
	}
	return *s.granted
}

func (s *Sampler) readDisk(_ context.Context, out *model.Sample) error {
	b, err := s.src.ReadFile("/proc/diskstats")
	if err != nil {
		return err
	}
	if out.Requests, err = kernel.ParseDiskstats(b, s.watch.Disk); err != nil {
		return err
	}
	// A RAID or a loop device may have none.
	if b, err := s.src.ReadFile(path.Join("/sys/block", s.watch.Disk, "device/queue_depth")); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			out.Requests.Depth = n
		}
	}
	return nil
}
