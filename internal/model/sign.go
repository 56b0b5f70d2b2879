package model

// Sign is one observation that a path which fills its link does not show. For each limiter
// the table says which signs have to be seen if it binds, and which must not be seen because
// it does not cause them.
type Sign string

// The signs, by the part of the path that shows them.
const (
	WindowFull     Sign = "window-full"
	DataUnread     Sign = "data-unread"
	BufferFull     Sign = "buffer-full"
	NothingToSend  Sign = "nothing-to-send"
	Paced          Sign = "paced"
	HeldAtHome     Sign = "held-at-home"
	WriterShort    Sign = "writer-short-of-cpu"
	ReaderShort    Sign = "reader-short-of-cpu"
	CoreFull       Sign = "core-full-of-packets"
	QueueStands    Sign = "queue-stands"
	RateSteady     Sign = "rate-steady"
	CongestionFull Sign = "congestion-window-full"
	SegmentsLost   Sign = "segments-lost"
	RateFitsLoss   Sign = "rate-fits-loss"
	NoSACK         Sign = "losses-without-sack"
	NeedlessResent Sign = "needless-retransmits"
	LargeFail      Sign = "large-segments-fail"
	MemoryShort    Sign = "tcp-memory-short"
	SegmentsSmall  Sign = "segments-small"
	PausedPort     Sign = "port-paused"
	OthersTraffic  Sign = "other-traffic"
	// CallsIdle is seen only on a mount, share or disk: no row of the table has it.
	CallsIdle Sign = "calls-leave-it-idle"
	// OtherRun comes from another run over the same path: no row of the table has it.
	OtherRun Sign = "another-run"
)

// SignRow is a sign in words.
type SignRow struct {
	ID      Sign
	Present string // what shows the sign
	Absent  string // what a verdict says if the sign is missing
}

// Signs is the table of signs; docs/limiters.md prints it.
func Signs() []SignRow {
	return []SignRow{
		{WindowFull, "data in flight ≥ 0.9 of the advertised window, or rwnd-limited ≥ 10% of the time, and the window is too small for the ceiling", "the receive window has room"},
		{DataUnread, "received data waits in the receive queue: ≥ 0.3 of queue and window", "the receive queue is short: the reader keeps up"},
		{BufferFull, "sndbuf-limited ≥ 10% of the time, or nothing waits beyond a full send queue, and the buffer is too small for the ceiling", "the send buffer has room"},
		{NothingToSend, "in half of the samples the socket has nothing to send while its congestion window has room", "data always waits to be sent"},
		{Paced, "the rate is ≥ 0.85 of the socket's finite maximum pacing rate", "no maximum pacing rate is near"},
		{HeldAtHome, "the sender's own queueing discipline holds packets back or drops them, or packets do not leave the host", "the sender's own queueing discipline lets packets pass"},
		{WriterShort, "the writer has used up its CPU, its quota or its turn", "the writer does not run short of CPU"},
		{ReaderShort, "the reader waits for a CPU, is out of quota or on a CPU all the time, or one core takes all packets and is full", "the reader does not run short of CPU"},
		{CoreFull, "a core has no time left and spends it in the kernel, or packets are dropped before the stack takes them", "no core is full of packets"},
		{QueueStands, "half of the time the round trip is ≥ 1.12 times its minimum and more than 33 packets above it; under a model-based congestion control, at times", "no queue stands in the path"},
		{RateSteady, "the high tenth of the rate is ≤ 1.25 times its low quarter", "the rate is not steady"},
		{CongestionFull, "data in flight is ≥ 0.75 of the congestion window (≥ 0.4 under a model-based control), or a full window or buffer stands in a queue", "the congestion window has room: the path does not hold the sender back"},
		{SegmentsLost, "more than 0.002% of the bytes are sent again", "hardly any segment is sent again"},
		{RateFitsLoss, "the rate is 0.1 to 5 times what a loss-based sender reaches with this many losses", "this many losses would allow another rate"},
		{NoSACK, "segments are lost on a connection without SACK", "the connection has SACK, or loses nothing"},
		{NeedlessResent, "most of what is sent again had arrived after all, or 3% of the segments arrive twice without being sent twice (DSACK)", "what is sent again was lost"},
		{LargeFail, "full-sized segments are sent again and never acknowledged, or a smaller size was found after timeouts", "full-sized segments pass"},
		{MemoryShort, "the kernel came under memory pressure for TCP, or tcp_mem is below what the path needs and receive queues are cut short", "the kernel has memory for TCP"},
		{SegmentsSmall, "the path is full, and its segments are so much smaller than the interfaces' MTU allows that headers take 5% of the goodput or more (10% where the path MTU or an end was not seen)", "segments are as large as the interfaces allow, or do not fill the path"},
		{PausedPort, "pause frames can hold the sender's port for at least half of what is missing", "no pause frames come"},
		{OthersTraffic, "the port that carries the data also carries other traffic in the same direction: 8% of the ceiling or more", "nothing else uses the port"},
		{OtherRun, "another rung of the ladder carried what the verdict rules out", "the other rungs fit"},
		{CallsIdle, "calls of a mount, share or disk are under way and leave the connection idle, whatever the connection itself is limited by", "no calls wait on the connection"},
	}
}
