package model

import (
	"net/netip"
	"time"

	"linerate/internal/unit"
)

// SampleVersion is the version of the Sample format that this build writes.
const SampleVersion = 1

// Sample is one reading of one host's counters. All counters are cumulative
// as the kernel keeps them; only differences between samples mean anything.
type Sample struct {
	V int `json:"v"`
	// At is the moment of reading on the controller's clock, counted from
	// the start of the run; HostAt is the host's own wall clock.
	At     time.Duration `json:"at"`
	HostAt time.Time     `json:"host_at"`
	// Spread is how long it took, in whole milliseconds, from before the connections were
	// read until the interfaces had been read: what passed meanwhile is in the interfaces'
	// counters alone. On a busy host that is much. It is written where it is 0, too: a sample with
	// another field than the one before takes far more room on its way.
	Spread time.Duration `json:"spread"`
	// Partial tells that CPUs, Softnet and Queues have some of what there is alone. So it is of views
	// that nobody looks at; such a sample is never kept.
	Partial bool `json:"-"`
	// Next is when after it the host tells the next one, where that was said; 0: it was not.
	Next  time.Duration `json:"-"`
	Conns []Conn        `json:"conns,omitempty"`
	// Totals, if there are any, are what all connections did, by peer: Conns are then only some of them.
	// So it is of a host with very many connections while it is watched live; such a sample is never kept.
	Totals  []ConnTotal  `json:"totals,omitempty"`
	CPUs    []CPUTime    `json:"cpus,omitempty"`
	Tasks   []Task       `json:"tasks,omitempty"`
	NICs    []NICCount   `json:"nics,omitempty"`
	Qdiscs  []QdiscCount `json:"qdiscs,omitempty"`
	Softnet []Softnet    `json:"softnet,omitempty"`
	// Queues are the transmit queues of interfaces that have several, where that was asked for.
	Queues []QueueCount `json:"queues,omitempty"`
	// SNMP counters, "Tcp.RetransSegs", "TcpExt.TCPTimeouts", "IpExt.InOctets", …
	SNMP map[string]int64 `json:"snmp,omitempty"`
	// Throttled is the CPU-quota throttling of this host's cgroup.
	Throttled Fact[time.Duration] `json:"throttled"`
	// Pressure is for how long tasks of the whole machine were short of something; nil
	// where the kernel does not count it.
	Pressure *Pressure `json:"pressure,omitempty"`
	// NFS RPC statistics of the watched mount, from /proc/self/mountstats.
	NFS *NFSCount `json:"nfs,omitempty"`
	// Requests of the watched SMB share or disk.
	Requests *RequestCount `json:"requests,omitempty"`
	// Server is what a host that serves storage counts of its own work; of an end of a copy
	// it has the disk that is read or written.
	Server *ServerCount `json:"server,omitempty"`
	// Copy is how far this host's end of one of our copies is.
	Copy *CopyCount `json:"copy,omitempty"`
}

// ConnTotal is what all connections to a peer did since their host began to count, each from when it
// was first seen.
type ConnTotal struct {
	Remote netip.Addr `json:"remote"`
	// Since is when that was, by the agent's own clock: sums with another one count something else.
	Since         time.Duration `json:"since"`
	Conns         int           `json:"conns"` // how many there are now
	BytesAcked    int64         `json:"bytes_acked"`
	BytesReceived int64         `json:"bytes_received"`
	// Of those that sent no less than they received: for how long, added up, they had something to send,
	// waited meanwhile for the peer's window and for their own buffer, and had nothing to send.
	Busy          time.Duration `json:"busy"`
	RwndLimited   time.Duration `json:"rwnd_limited"`
	SndbufLimited time.Duration `json:"sndbuf_limited"`
	Nothing       time.Duration `json:"nothing"`
}

// CopyCount is what an end of a copy has done since the ends met: times are sums over all of
// its streams, readers or writers, and zero where the other end knows them. A copy within one
// host has one, with Reading and Writing of the same tasks, Lanes of them.
type CopyCount struct {
	Took    time.Duration `json:"took"`
	Streams int           `json:"streams"` // that carry data; 0: within one host
	Lanes   int           `json:"lanes"`   // readers at once: of blocks, where LanesSmall is known
	// LanesSmall are those of whole small files; 0 in older bundles, and where files are read one way.
	LanesSmall int `json:"lanes_small,omitempty"`
	// Sending is the time in sends, Held what had arrived waited for the writer.
	Sending time.Duration `json:"sending"`
	Held    time.Duration `json:"held"`
	Pacing  time.Duration `json:"pacing,omitempty"` // in which any data waited for Limit
	Reading time.Duration `json:"reading"`          // with hashing
	// ReadingSmall is what of Reading was of whole small files.
	ReadingSmall time.Duration `json:"reading_small,omitempty"`
	Writing      time.Duration `json:"writing"`    // with hashing
	Committing   time.Duration `json:"committing"` // making durable and naming
	CPU          time.Duration `json:"cpu"`        // of the process
	CPUs         int           `json:"cpus"`       // that it may use
	Bytes        int64         `json:"bytes"`      // of data
	Files        int64         `json:"files"`
	Limit        int64         `json:"limit,omitempty"` // bytes per second that it was told to keep to
}

// Conn is one TCP connection as inet_diag shows it: struct tcp_info
// (include/uapi/linux/tcp.h), queues and skmem. Sizes in bytes unless named
// otherwise; sender-side windows in segments where the kernel counts so.
type Conn struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	Inode  uint32         `json:"inode,omitempty"`
	CC     string         `json:"cc,omitempty"` // congestion control
	// InfoLen is how many bytes of tcp_info the kernel gave; fields past
	// it are zero because the kernel is older, not because they were zero.
	InfoLen int `json:"info_len"`
	// From is what showed the connection where that was not inet_diag; it lists the fields that are
	// then filled, and all others are zero because they were not shown.
	From ConnSource `json:"from,omitempty"`

	State     uint8 `json:"state"`    // TCP_ESTABLISHED = 1 …
	CAState   uint8 `json:"ca_state"` // Open 0, Disorder 1, CWR 2, Recovery 3, Loss 4
	Backoff   uint8 `json:"backoff"`
	Options   uint8 `json:"options"` // TCPI_OPT_TIMESTAMPS 1, SACK 2, WSCALE 4, ECN 8 …
	SndWScale uint8 `json:"snd_wscale"`
	RcvWScale uint8 `json:"rcv_wscale"`
	// AppLimited: the last delivery rate sample was taken while the
	// application had nothing to send (tcpi_delivery_rate_app_limited).
	AppLimited bool `json:"app_limited"`

	RTO          time.Duration `json:"rto"`
	SndMSS       int           `json:"snd_mss"`
	RcvMSS       int           `json:"rcv_mss"`
	AdvMSS       int           `json:"advmss"`
	PMTU         int           `json:"pmtu"`
	Unacked      int           `json:"unacked"` // segments in flight
	Sacked       int           `json:"sacked"`
	Lost         int           `json:"lost"`
	Retrans      int           `json:"retrans"` // retransmitted and still out
	TotalRetrans int           `json:"total_retrans"`
	Cwnd         int           `json:"cwnd"`     // segments
	Ssthresh     int           `json:"ssthresh"` // segments
	Reordering   int           `json:"reordering"`
	ReordSeen    int           `json:"reord_seen"`
	DSACKDups    int           `json:"dsack_dups"`
	RTT          time.Duration `json:"rtt"`
	RTTVar       time.Duration `json:"rttvar"`
	MinRTT       time.Duration `json:"min_rtt"`
	RcvRTT       time.Duration `json:"rcv_rtt"`
	RcvSpace     int           `json:"rcv_space"`
	RcvSsthresh  int           `json:"rcv_ssthresh"`

	BytesAcked    int64        `json:"bytes_acked"`
	BytesReceived int64        `json:"bytes_received"`
	BytesSent     int64        `json:"bytes_sent"`
	BytesRetrans  int64        `json:"bytes_retrans"`
	SegsOut       int64        `json:"segs_out"`
	SegsIn        int64        `json:"segs_in"`
	DataSegsOut   int64        `json:"data_segs_out"`
	DataSegsIn    int64        `json:"data_segs_in"` // wrong where super-packets arrive through TAP or AF_PACKET: compare bytes
	NotSent       int64        `json:"notsent"`
	Delivered     int64        `json:"delivered"`
	DeliveryRate  unit.BitRate `json:"delivery_rate_bps"`
	// PacingRate and MaxPacing in bits per second; negative is unlimited.
	PacingRate unit.BitRate `json:"pacing_bps"`
	MaxPacing  unit.BitRate `json:"max_pacing_bps"`

	Busy          time.Duration `json:"busy"`
	RwndLimited   time.Duration `json:"rwnd_limited"`
	SndbufLimited time.Duration `json:"sndbuf_limited"`
	// SourceLimited is the time in which neither window held the sender, but what it was given to
	// send, or room for that. FromEstats alone has it.
	SourceLimited time.Duration `json:"source_limited,omitempty"`

	SndWnd   int64 `json:"snd_wnd"` // the peer's advertised window
	RcvWnd   int64 `json:"rcv_wnd"` // the window we advertise
	RcvOOO   int64 `json:"rcv_ooo"`
	TotalRTO int   `json:"total_rto"`

	RecvQ int64 `json:"recv_q"` // received, not yet read by the application
	SendQ int64 `json:"send_q"` // written, not yet acknowledged
	// Skmem as SK_MEMINFO_*: rmem_alloc, rcvbuf, wmem_alloc, sndbuf,
	// fwd_alloc, wmem_queued, optmem, backlog, drops.
	RmemAlloc  int64 `json:"rmem_alloc"`
	RcvBuf     int64 `json:"rcvbuf"`
	SndBuf     int64 `json:"sndbuf"`
	WmemQueued int64 `json:"wmem_queued"`
	SockDrops  int64 `json:"sock_drops"`
}

// ConnSource is a way in which a system shows its TCP connections.
type ConnSource string

// FromEstats: Windows' extended TCP statistics, which count from when they were switched on. It fills
// Local, Remote, State, RTO, RTT, RTTVar, MinRTT, SndMSS, Unacked, Cwnd, Ssthresh, Backoff, TotalRTO,
// TotalRetrans, DSACKDups, the counters of bytes and segments but Delivered, NotSent, SendQ, RecvQ,
// SndWnd, RcvWnd, Busy, RwndLimited and SourceLimited. Zero is "not shown" of RTT, MinRTT, Cwnd and the windows too.
const FromEstats ConnSource = "windows-estats"

// FromNettop: nettop(1) of macOS. It fills Local, Remote, State, CC, SndWnd, RTT (a mean over the life of the
// connection), BytesReceived, BytesRetrans, BytesSent and, the same, BytesAcked, which macOS does not tell apart.
const FromNettop ConnSource = "macos-nettop"

// CPUTime is one core's cumulative time, from /proc/stat. Scope is "machine"
// where the host shares its kernel with others (a namespace).
type CPUTime struct {
	CPU     int           `json:"cpu"`
	User    time.Duration `json:"user"` // user + nice
	System  time.Duration `json:"system"`
	SoftIRQ time.Duration `json:"softirq"`
	IRQ     time.Duration `json:"irq"`
	Idle    time.Duration `json:"idle"`
	IOWait  time.Duration `json:"iowait"`
	Steal   time.Duration `json:"steal"`
}

// Task is one thread of an end of the watched connections.
type Task struct {
	PID  int           `json:"pid"`
	TID  int           `json:"tid"`
	Name string        `json:"name"`
	CPU  time.Duration `json:"cpu"`  // on a CPU (schedstat 1)
	Wait time.Duration `json:"wait"` // runnable, waiting for a CPU (schedstat 2)
	Core int           `json:"core"` // where it ran last
	// State is the kernel's letter for what it did at that moment, as proc(5)
	// has them: R runs or wants to, S sleeps, D waits for a disk.
	State string `json:"state,omitempty"`
	// Conns are the inodes of the sockets its process holds that are of the run.
	Conns []uint32 `json:"conns,omitempty"`
}

// Pressure is the kernel's pressure stall information: for how long at least one task
// waited (Documentation/accounting/psi.rst). It is of the machine, not of one host on it.
type Pressure struct {
	CPU time.Duration `json:"cpu"`
	// IO is storage.
	IO time.Duration `json:"io"`
	// Memory is reclaim and the like.
	Memory time.Duration `json:"memory"`
}

// NICCount is one interface's counters.
type NICCount struct {
	Name      string `json:"name"`
	RxBytes   int64  `json:"rx_bytes"`
	TxBytes   int64  `json:"tx_bytes"`
	RxPackets int64  `json:"rx_packets"`
	TxPackets int64  `json:"tx_packets"`
	RxErrors  int64  `json:"rx_errors"`
	TxErrors  int64  `json:"tx_errors"`
	RxDropped int64  `json:"rx_dropped"`
	TxDropped int64  `json:"tx_dropped"`
	RxCRC     int64  `json:"rx_crc"`
	// RxMissed are frames that found no room in the receive ring.
	RxMissed int64 `json:"rx_missed,omitempty"`
	// Pause frames; nil in samples that leave them out, and where the driver does
	// not count them.
	Pause *PauseCount `json:"pause,omitempty"`
}

// Errors are the frames that were damaged, both ways. Those with a wrong checksum are among those received
// with an error (struct rtnl_link_stats64), but for drivers that count them apart alone.
func (n NICCount) Errors() int64 { return max(n.RxErrors, n.RxCRC) + n.TxErrors }

// PauseCount are Ethernet flow control's frames (IEEE 802.3 Annex 31B).
type PauseCount struct {
	Rx int64 `json:"rx"` // received from the peer
	Tx int64 `json:"tx"` // sent to the peer
}

// QdiscCount is one root queueing discipline's counters.
type QdiscCount struct {
	Dev        string `json:"dev"`
	Kind       string `json:"kind"`
	Bytes      int64  `json:"bytes"`
	Packets    int64  `json:"packets"`
	Drops      int64  `json:"drops"`
	Overlimits int64  `json:"overlimits"`
	Backlog    int64  `json:"backlog"` // bytes
}

// QueueCount is one transmit queue of an interface, as its own queueing discipline counts.
type QueueCount struct {
	Dev     string `json:"dev"`
	Queue   int    `json:"queue"` // its number, from 0
	Bytes   int64  `json:"bytes"`
	Packets int64  `json:"packets"`
	Drops   int64  `json:"drops"`
	Backlog int64  `json:"backlog"` // bytes
}

// Softnet is one core's line of /proc/net/softnet_stat.
type Softnet struct {
	CPU       int   `json:"cpu"`
	Processed int64 `json:"processed"`
	Dropped   int64 `json:"dropped"`
	Squeezed  int64 `json:"squeezed"`
}

// NFSCount is the part of one NFS mount's /proc/self/mountstats that the
// diagnosis uses, per operation.
type NFSCount struct {
	Mount string           `json:"mount"`
	Ops   map[string]NFSOp `json:"ops"` // READ, WRITE, …
	// ServerReadBytes and ServerWriteBytes went over the wire.
	ServerReadBytes  int64 `json:"server_read_bytes"`
	ServerWriteBytes int64 `json:"server_write_bytes"`
	// Slots in use and waiting, from the xprt line.
	MaxSlots    int64 `json:"max_slots"`
	BacklogUtil int64 `json:"backlog_util"`
	SendingUtil int64 `json:"sending_util"`
	PendingUtil int64 `json:"pending_util"`
	// Sends and Receives are the calls sent and the answers to them; what they differ by is
	// under way. Receives is 0 in recordings of earlier builds.
	Sends    int64 `json:"sends"`
	Receives int64 `json:"receives,omitempty"`
}

// NFSOp is one operation's cumulative statistics.
type NFSOp struct {
	Ops       int64         `json:"ops"`
	Trans     int64         `json:"trans"`
	Timeouts  int64         `json:"timeouts"`
	BytesSent int64         `json:"bytes_sent"`
	BytesRecv int64         `json:"bytes_recv"`
	Queue     time.Duration `json:"queue"` // waited before sending
	RTT       time.Duration `json:"rtt"`   // sent to answered
	Execute   time.Duration `json:"execute"`
}

// What the requests of a RequestCount go to.
const (
	OfSMB  = "smb"
	OfDisk = "disk" // a block device, e.g. of iSCSI
)

// RequestCount is what a client's kernel counts of its requests to one share or
// block device.
type RequestCount struct {
	Of    string    `json:"of"`
	Name  string    `json:"name"` // share or device
	Read  RequestOp `json:"read"`
	Write RequestOp `json:"write"`
	// Depth is how many requests the device takes at once; 0: not known.
	Depth int64 `json:"depth,omitempty"`
	// Credits are what an SMB server had granted and no request held when the
	// sampling began, 64 KiB each; 0: not known.
	Credits int64 `json:"credits,omitempty"`
}

// RequestOp is one direction's cumulative statistics.
type RequestOp struct {
	Ops   int64         `json:"ops"`
	Bytes int64         `json:"bytes"`
	Time  time.Duration `json:"time"` // summed over requests, from their start to their end
}

// ServerCount is what a host that serves storage shows of its own work.
type ServerCount struct {
	// Blocked is how many tasks of the whole machine waited for a disk at that
	// moment (procs_blocked of /proc/stat).
	Blocked int64 `json:"blocked"`
	// Disk is the device that the served directory lies on; nil where it lies
	// on none that keeps counters (tmpfs, ZFS).
	Disk *DiskCount `json:"disk,omitempty"`
	// NFSD is the kernel's NFS server; nil where it does not run.
	NFSD *NFSDCount `json:"nfsd,omitempty"`
}

// DiskCount is one block device's cumulative counters, from /proc/diskstats.
type DiskCount struct {
	Name  string        `json:"name"`
	Read  RequestOp     `json:"read"`
	Write RequestOp     `json:"write"`
	Busy  time.Duration `json:"busy"` // with at least one request in it
}

// NFSDCount is what the kernel's NFS server counts.
type NFSDCount struct {
	Threads int64 `json:"threads"`
	// Arrived is how often a connection had something to read, Woken how often
	// a thread stood idle to read it: the difference found all threads in use.
	Arrived int64 `json:"arrived"`
	Woken   int64 `json:"woken"`
}
