package model

import (
	"net/netip"
	"time"

	"linerate/internal/unit"
)

// Workload is memory-to-memory TCP from one host to another.
type Workload struct {
	Sender   string        `json:"sender"`   // host name
	Receiver string        `json:"receiver"` // host name
	From     netip.Addr    `json:"from"`     // data address of the sender
	To       netip.Addr    `json:"to"`       // data address of the receiver; the only address the sink binds
	Streams  int           `json:"streams"`
	Duration time.Duration `json:"duration"` // whole run, warm-up included
	Warmup   time.Duration `json:"warmup"`   // left out of the goodput
	// CC is the congestion control asked for by TCP_CONGESTION; empty
	// leaves the host's default. What was in force is in the samples.
	CC string `json:"cc"`
	SourceUse
	SinkUse
	Dialogue
	// SenderCPUs and ReceiverCPUs name the CPUs that the workers' streams are
	// pinned to, in turn; empty leaves them to the scheduler.
	SenderCPUs   []int `json:"sender_cpus,omitempty"`
	ReceiverCPUs []int `json:"receiver_cpus,omitempty"`
}

// SourceUse is what the sending application does with its sockets. Its zero value streams as
// fast as it goes, with sizes that the kernel chooses.
type SourceUse struct {
	// Rate is what it produces over all streams; 0: as fast as it can.
	Rate unit.BitRate `json:"rate_bps,omitempty"`
	// SendBuffer is what it asks for by SO_SNDBUF before the handshake (the kernel doubles it);
	// 0: the kernel's autotuning.
	SendBuffer unit.Bytes `json:"send_buffer,omitempty"`
	// MaxPacing is the SO_MAX_PACING_RATE of each stream; 0: none.
	MaxPacing unit.BitRate `json:"max_pacing_bps,omitempty"`
	// WriteSize is what it writes in one call; 0: 1 MiB, the most.
	WriteSize unit.Bytes `json:"write_size,omitempty"`
	// ZeroCopy sends pages without copying them (MSG_ZEROCOPY), as far as the kernel does.
	ZeroCopy bool `json:"zero_copy,omitempty"`
	// SendFile sends a file that lies in the page cache (sendfile(2)), which copies nothing,
	// on loopback neither.
	SendFile bool `json:"send_file,omitempty"`
}

// SinkUse is what the receiving application does with its sockets.
type SinkUse struct {
	// ReadRate is what it takes in over all streams; 0: as fast as it can.
	ReadRate unit.BitRate `json:"read_rate_bps,omitempty"`
	// RecvBuffer is what it asks for by SO_RCVBUF before the handshake (the kernel doubles it);
	// 0: the kernel's autotuning.
	RecvBuffer unit.Bytes `json:"recv_buffer,omitempty"`
	// Discard drops received data in the kernel (MSG_TRUNC): faster than
	// any real receiver, so results made with it are marked.
	Discard bool `json:"discard,omitempty"`
}

// Dialogue is what the two applications have agreed on: both ends are told.
type Dialogue struct {
	// Exchange is the size of requests: the source writes each in two pieces and waits for the
	// sink's answer before the next; 0: a stream of bytes.
	Exchange unit.Bytes `json:"exchange,omitempty"`
	// NoDelay turns Nagle's algorithm off (TCP_NODELAY), so that both pieces of a request leave
	// at once. Streams always have it off.
	NoDelay bool `json:"no_delay,omitempty"`
}

// Run is one measured run. Its samples are kept beside it, per host.
type Run struct {
	Label    string    `json:"label"` // "diagnosis", "A/A 1a", "pair 3 baseline", …
	Workload Workload  `json:"workload"`
	Started  time.Time `json:"started"`
	// Goodput is payload received after the warm-up over the time it took,
	// as counted by the receiving worker.
	Goodput  unit.BitRate     `json:"goodput_bps"`
	Bytes    unit.Bytes       `json:"bytes"`
	Window   time.Duration    `json:"window"` // the time Goodput is the mean of
	Clocks   map[string]Clock `json:"clocks,omitempty"`
	Warnings []Warning        `json:"warnings,omitempty"`
	// ZeroSends is how many of the source's zero-copy sends the kernel has reported
	// as complete, and ZeroCopied how many of these it copied all the same.
	ZeroSends  int64 `json:"zero_sends,omitempty"`
	ZeroCopied int64 `json:"zero_copied,omitempty"`
	// Unsampled are the ends whose host cannot be sampled. Counted is what the run's own processes
	// counted, where there is such an end.
	Counted   Counted  `json:"counted,omitzero"`
	Unsampled []string `json:"unsampled,omitempty"`
	// Samples by host name; written to samples/<host>.jsonl.zst.
	Samples map[string][]Sample `json:"-"`
}

// Counted is what the processes of a run count of themselves on every system.
type Counted struct {
	// PerSecond is what the receiver's program read in each whole second after the warm-up, bytes.
	PerSecond []int64 `json:"per_second_bytes,omitempty"`
	// SenderCPU and ReceiverCPU are what all threads of each process used in its window, and
	// SenderWindow and ReceiverWindow those windows; null: not known.
	SenderCPU      *time.Duration `json:"sender_cpu_ns"`
	SenderWindow   time.Duration  `json:"sender_window_ns"`
	ReceiverCPU    *time.Duration `json:"receiver_cpu_ns"`
	ReceiverWindow time.Duration  `json:"receiver_window_ns"`
}

// Clock relates a host's clock to the controller's.
type Clock struct {
	// Offset is host time minus controller time; Error bounds it (half the
	// round trip of the exchange that gave it).
	Offset time.Duration `json:"offset"`
	Error  time.Duration `json:"error"`
	// Drift is how much faster the host's clock runs than the controller's,
	// in parts per million: the change of Offset over the time between two
	// readings. DriftError bounds it. nil: read once only, or it was set in between.
	Drift      *float64 `json:"drift_ppm"`
	DriftError *float64 `json:"drift_error_ppm"`
}

// Finding is what a rule concluded from facts.
type Finding struct {
	Rule     string        `json:"rule"`
	Severity string        `json:"severity"` // "high", "medium", "low", "info"
	Host     string        `json:"host"`
	Title    string        `json:"title"`
	Observed string        `json:"observed"`
	Bound    *unit.BitRate `json:"bound_bps"` // the goodput it caps at; null: no bound can be given
	// Limiters are those that a verdict may name where this is what binds; empty:
	// it holds back no transfer by itself.
	Limiters []LimiterID `json:"limiters,omitempty"`
	Fix      string      `json:"fix"`
	Source   string      `json:"source"`
}

// Results is what a run of the loop left behind: results.json of a bundle.
type Results struct {
	Outcome
	Command  string        `json:"command"`
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took"`
	Build    string        `json:"build"`
	Topology string        `json:"topology"`           // one line, e.g. "client1 ── 1 Gbit/s, 10 ms RTT ── server1"
	LeftOut  []string      `json:"left_out,omitempty"` // what this machine could not provide
	Hosts    []string      `json:"hosts"`
	Findings []Finding     `json:"findings"`
	Runs     []Run         `json:"runs"`
	Changes  []Change      `json:"changes,omitempty"` // applied and undone
	// Clocks by host, over the whole of a climb: from its start to its end.
	Clocks map[string]Clock `json:"clocks,omitempty"`
	// Injected are the lab's faults, entered only after the verdict.
	Injected string `json:"injected,omitempty"`
	// Study is what a controlled experiment found; of a study's bundle only.
	Study *Study `json:"study,omitempty"`
	// Load is what a load did; of a load's bundle only.
	Load *Load `json:"load,omitempty"`
}
