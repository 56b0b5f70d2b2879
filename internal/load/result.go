package load

import "time"

// Alone is what a Copy, a Read or a Write is about to do, or has done.
type Alone struct {
	// File and Size are what is read, or is written and how large it may get.
	File string `json:"file,omitempty"`
	Size int64  `json:"size,omitempty"`
	// Cached is the share of the file that lay in the page cache before it was
	// read; nil: not known (mincore(2) tells the file's owner and root only).
	Cached *float64 `json:"cached,omitempty"`
	// ReadAhead of the file system, bytes; 0: not known.
	ReadAhead int64 `json:"read_ahead,omitempty"`
	// Block is how much is read at once, bytes.
	Block int64 `json:"block,omitempty"`
	// Method is how it is done, for people.
	Method string `json:"method"`
	// Buffer is the size of each of a Copy's two buffers.
	Buffer int64 `json:"buffer,omitempty"`
	// InCache is what the same core copied between buffers that fit into its
	// caches, in bytes per second.
	InCache float64 `json:"in_cache,omitempty"`
}

// Result is what a load moved.
type Result struct {
	// Bytes is everything read or written; BytesAfterWarmup what was moved
	// in Window, which begins with the end of the warm-up.
	Bytes            int64         `json:"bytes"`
	BytesAfterWarmup int64         `json:"bytes_after_warmup"`
	Window           time.Duration `json:"window"`
	// CPU is what all threads of this process used in Window; nil: not known, or no streams.
	CPU *time.Duration `json:"cpu,omitempty"`
	// PerSecond is what a sink read in each whole second after the warm-up.
	PerSecond []int64        `json:"per_second,omitempty"`
	Streams   []StreamResult `json:"streams"`
	// Unacked is what a source had written and the peer's kernel had not
	// acknowledged when the run ended; RecvSpace the receive buffers of a sink.
	Unacked   int64 `json:"unacked,omitempty"`
	RecvSpace int64 `json:"recv_space,omitempty"`
	// Discard: the data was dropped in the kernel, which no real receiver does.
	Discard bool `json:"discard,omitempty"`
	// Refused counts connections that did not prove the token in time or
	// came twice; Evicted those that gave way to newer ones at the cap.
	Refused int `json:"refused,omitempty"`
	Evicted int `json:"evicted,omitempty"`
	// Early: the streams, or the file, ended before the time was over.
	Early bool `json:"early,omitempty"`
	// Alone: what a Copy, a Read or a Write did.
	Alone *Alone `json:"alone,omitempty"`
	// Block: what a Block did.
	Block *BlockResult `json:"block,omitempty"`
	// Frames: what a Frames did.
	Frames *FramesResult `json:"frames,omitempty"`
}

// StreamResult is one connection's part of a Result.
type StreamResult struct {
	Bytes            int64  `json:"bytes"`
	BytesAfterWarmup int64  `json:"bytes_after_warmup"`
	Error            string `json:"error,omitempty"` // what ended it before its time
	// ZeroSends are the sends without a copy that the kernel has told the end of, and
	// ZeroCopied those of them that it copied all the same.
	ZeroSends  int64 `json:"zero_sends,omitempty"`
	ZeroCopied int64 `json:"zero_copied,omitempty"`
}
