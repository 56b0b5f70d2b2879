package model

// LimiterID is a word of the limiter vocabulary.
type LimiterID string

// The vocabulary: every verdict, fault and test uses these ids and no others.
const (
	ReceiverWindow LimiterID = "receiver-window"
	SendBuffer     LimiterID = "send-buffer"
	PacketCost     LimiterID = "packet-cost"
	// TCPMemory is what all TCP sockets of a host may use together.
	TCPMemory LimiterID = "tcp-memory"
	// SmallSegments are smaller than the ports at both ends could send.
	SmallSegments     LimiterID = "small-segments"
	MTUBlackhole      LimiterID = "mtu-blackhole"
	PathLoss          LimiterID = "path-loss"
	PathQueue         LimiterID = "path-queue"
	LinkRate          LimiterID = "link-rate"
	ApplicationSource LimiterID = "application-source"
	ApplicationSink   LimiterID = "application-sink"
	ReceiverCPU       LimiterID = "receiver-cpu"
	SenderCPU         LimiterID = "sender-cpu"
	Pacing            LimiterID = "pacing"
	LocalQdisc        LimiterID = "local-qdisc"
	Reordering        LimiterID = "reordering"
	SACKOff           LimiterID = "sack-off"
	Outage            LimiterID = "outage"
	// ConnectionRefused is a path that carries packets, but not this connection.
	ConnectionRefused LimiterID = "connection-refused"
	// FlowControl is Ethernet's, not TCP's.
	FlowControl    LimiterID = "flow-control"
	StartUp        LimiterID = "start-up"
	NFSConcurrency LimiterID = "nfs-concurrency"
	ServerTime     LimiterID = "server-time"
	// RequestConcurrency is NFSConcurrency of the other storage protocols.
	RequestConcurrency LimiterID = "request-concurrency"
	CongestionControl  LimiterID = "congestion-control"
	// SourceStorage and TargetStorage are the ends of a copy, SmallFiles what each of its
	// files takes whatever its size.
	SourceStorage LimiterID = "source-storage"
	TargetStorage LimiterID = "target-storage"
	SmallFiles    LimiterID = "small-files"
	Undetermined  LimiterID = "undetermined"
	None          LimiterID = "none"
)

// Limiter is one row of the vocabulary.
type Limiter struct {
	ID             LimiterID
	Where          Where
	Signature      string // what can be observed
	Counterfactual string // what removing it means
	Confusable     []LimiterID
	Fix            FixKind
	// Must are the signs that have to be seen where it binds, as far as they are
	// visible, MustNot those that it does not cause: each contradicts it.
	Must, MustNot []Sign
}

// Limiters is the vocabulary as a table; docs/limiters.md prints it.
func Limiters() []Limiter {
	return []Limiter{
		{ReceiverWindow, AtReceiver, "data in flight ≥ 0.9 of the advertised window, or rwnd-limited ≥ 10% of the time, with an empty receive queue", "a receive buffer of at least rate × RTT", []LimiterID{ApplicationSink, ReceiverCPU}, FixSetting,
			[]Sign{WindowFull}, []Sign{DataUnread, ReaderShort, NothingToSend, LargeFail, MemoryShort}},
		{SendBuffer, AtSender, "sndbuf-limited ≥ 10% of the time, or the send queue fills the send buffer while the congestion window has room", "a send buffer of at least rate × RTT", []LimiterID{ApplicationSource}, FixSetting,
			[]Sign{BufferFull}, []Sign{WindowFull, DataUnread, ReaderShort, LargeFail, MemoryShort}},
		{PacketCost, AtSender, "a core is busy, mostly in system and softirq time, while wire-sized packets pass the stack one by one (segmentation offload off)", "segmentation offload on, or larger packets", []LimiterID{SenderCPU, ReceiverCPU}, FixSetting,
			nil, []Sign{LargeFail, Paced}},
		{TCPMemory, AtReceiver, "the kernel comes under memory pressure for TCP, or cuts receive queues short while tcp_mem is below what the path needs", "a tcp_mem that holds the buffers of the host's sockets", []LimiterID{ReceiverWindow, SendBuffer, PathLoss}, FixOperator,
			[]Sign{MemoryShort}, []Sign{LargeFail, NothingToSend, Paced}},
		{SmallSegments, AtPath, "the path is full, with segments so much smaller than the interfaces' MTU that headers take 5% of the goodput or more", "segments of the interfaces' size: no MSS clamp, no small route or path MTU", []LimiterID{PacketCost}, FixOperator,
			[]Sign{SegmentsSmall}, []Sign{LargeFail, WindowFull, DataUnread, NothingToSend, Paced, HeldAtHome}},
		{MTUBlackhole, AtPath, "full-sized segments are retransmitted with growing backoff and never acknowledged, small ones pass; or probing has cut the MSS below the advertised one", "every hop carries the hosts' MTU", []LimiterID{Outage}, FixOperator,
			[]Sign{LargeFail}, nil},
		{PathLoss, AtPath, "segments are lost while the queue is short (RTT near its minimum) and the window keeps being cut", "a path without loss", []LimiterID{PathQueue}, FixOperator,
			[]Sign{SegmentsLost, CongestionFull, RateFitsLoss}, []Sign{QueueStands, NoSACK, NeedlessResent, LargeFail, NothingToSend, WindowFull, DataUnread, BufferFull, Paced, WriterShort, ReaderShort, MemoryShort, OthersTraffic}},
		{PathQueue, AtPath, "losses or a rate cut that come with the rate: a shallow queue or a policer", "a deeper queue, or sending below the policed rate", []LimiterID{PathLoss, LinkRate}, FixOperator,
			[]Sign{SegmentsLost}, []Sign{NoSACK, NeedlessResent, LargeFail, NothingToSend, WindowFull, DataUnread, BufferFull, Paced, WriterShort, ReaderShort, MemoryShort, SegmentsSmall, OthersTraffic}},
		{LinkRate, AtPath, "the rate is steady below the expected one, a queue stands (RTT above its minimum), and no window, buffer, CPU or application limits it", "a faster slowest link", []LimiterID{PathQueue}, FixOperator,
			[]Sign{QueueStands, RateSteady, CongestionFull}, []Sign{NoSACK, NeedlessResent, LargeFail, NothingToSend, WindowFull, DataUnread, BufferFull, Paced, HeldAtHome, WriterShort, ReaderShort, CoreFull, PausedPort, MemoryShort, SegmentsSmall, OthersTraffic}},
		{ApplicationSource, AtApplication, "the sender has nothing to send: not-sent near zero, send buffer not full, window unused", "a source that reads or produces faster", []LimiterID{SendBuffer, SenderCPU}, FixOperator,
			[]Sign{NothingToSend}, []Sign{WriterShort, WindowFull, DataUnread, LargeFail, CoreFull}},
		{ApplicationSink, AtApplication, "received data waits in the receive queue while the reader does not run short of CPU", "an application that reads faster", []LimiterID{ReceiverWindow, ReceiverCPU}, FixOperator,
			[]Sign{DataUnread}, []Sign{ReaderShort, NothingToSend, LargeFail, MemoryShort}},
		{ReceiverCPU, AtReceiver, "the reading task is runnable but waits for a CPU, or is throttled, most of the time; or one core is full with the softirq work of all packets while others idle", "a CPU for the reader", []LimiterID{ApplicationSink, LinkRate}, FixOperator,
			[]Sign{ReaderShort}, []Sign{NothingToSend, LargeFail, Paced}},
		{SenderCPU, AtSender, "the writing task is on a CPU or waits for one all the time, and the socket runs dry", "a CPU for the writer", []LimiterID{ApplicationSource, PacketCost}, FixOperator,
			[]Sign{WriterShort}, []Sign{WindowFull, DataUnread, LargeFail}},
		{Pacing, AtSender, "goodput equals a finite maximum pacing rate", "a higher SO_MAX_PACING_RATE, or none", nil, FixOperator,
			[]Sign{Paced}, []Sign{WindowFull, DataUnread, LargeFail}},
		{LocalQdisc, AtSender, "the sender's own queueing discipline drops packets or holds them back (overlimits)", "no shaper on the sender", []LimiterID{LinkRate}, FixOperator,
			[]Sign{HeldAtHome}, []Sign{WindowFull, NothingToSend}},
		{Reordering, AtPath, "reordering is seen often and most retransmits turn out needless (DSACK)", "a path that keeps order", []LimiterID{PathLoss}, FixOperator,
			[]Sign{NeedlessResent}, []Sign{NoSACK}},
		{SACKOff, AtSender, "the connection lost segments and runs without SACK", "SACK on at both ends", []LimiterID{PathLoss}, FixSetting,
			[]Sign{NoSACK}, nil},
		{Outage, AtPath, "nothing is acknowledged, of any size", "a path that carries packets", []LimiterID{MTUBlackhole, ConnectionRefused}, FixOperator, nil, nil},
		{ConnectionRefused, AtReceiver, "a connection request is refused (RST or ICMP), or the sender itself blocks it, or nobody answers it while connections the other way come up", "a firewall that lets the connection through, or a service that listens", []LimiterID{Outage}, FixOperator, nil, nil},
		{FlowControl, AtPath, "pause frames stop the sender's port, often enough to explain what is missing (IEEE 802.3 Annex 31B)", "a port that takes packets as fast as they come", []LimiterID{LinkRate, PathQueue}, FixOperator,
			[]Sign{PausedPort}, []Sign{NothingToSend, WindowFull, LargeFail}},
		{StartUp, AtPath, "the transfer ended before slow start did", "a longer transfer, or a larger initial window", nil, FixNone, nil, nil},
		{NFSConcurrency, AtSender, "RPCs wait for a slot, or slots × transfer size / RTT equals the goodput", "more slots, larger transfers or more connections", []LimiterID{ServerTime}, FixOperator, nil, nil},
		{ServerTime, AtServer, "most of an RPC's time passes at the server while the connection is idle", "a faster server or disk", []LimiterID{NFSConcurrency}, FixOperator, nil, nil},
		{RequestConcurrency, AtSender, "iSCSI commands or SMB requests in flight × size / RTT equal the goodput, while the connection is idle in between", "a deeper queue, more credits or larger requests", []LimiterID{ServerTime}, FixOperator, nil, nil},
		{CongestionControl, AtSender, "the congestion control in force needs many round trips to recover from losses so rare that another one would not notice them", "a congestion control that recovers faster", []LimiterID{PathLoss}, FixSetting,
			[]Sign{SegmentsLost, CongestionFull, RateFitsLoss}, []Sign{QueueStands, NoSACK, NeedlessResent, LargeFail, NothingToSend, WindowFull, DataUnread, BufferFull, Paced, WriterShort, ReaderShort, MemoryShort, OthersTraffic}},
		{SourceStorage, AtSender, "a copy's readers are busy most of the time while its streams wait for blocks", "a source that is read faster", []LimiterID{ApplicationSource, SmallFiles}, FixOperator, nil, nil},
		{TargetStorage, AtReceiver, "what arrived of a copy waits to be written, or most of the time goes into making files durable", "a target that is written faster", []LimiterID{ApplicationSink, ReceiverWindow, SmallFiles}, FixOperator, nil, nil},
		{SmallFiles, AtApplication, "an end of a copy is busy most of the time with files so small that opening, naming and describing them takes longer than their data", "fewer, larger files, or a file system that creates files faster", []LimiterID{SourceStorage, TargetStorage}, FixOperator, nil, nil},
		{Undetermined, Nowhere, "the evidence names no limiter", "", nil, FixNone, nil, nil},
		{None, Nowhere, "goodput ≥ 0.9 of the ceiling", "nothing to remove", nil, FixNone, nil, nil},
	}
}
