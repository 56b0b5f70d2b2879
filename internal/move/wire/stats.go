package wire

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats is what an end has done so far, for who watches. The zero value is ready.
type Stats struct {
	// Read is the time that reads of the source took, with hashing, over all readers; Write
	// that of the sink, over all writers; Commit that of files' and the run's end, until all
	// was durable: nanoseconds.
	Read, Write, Commit atomic.Int64
	// Again counts the blocks that had to be sent again.
	Again atomic.Int64

	mu    sync.Mutex
	conns []*Conn
	// sockets is the last that was seen of all.
	sockets Sockets
}

func (s *Stats) add(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
}

// close ends the streams.
func (s *Stats) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close() // some were closed before
	}
}

// Look is Stats at one moment. Times are sums over all streams, readers or writers.
type Look struct {
	Streams  int           `json:"streams"` // of data
	Sent     int64         `json:"sent_bytes"`
	Received int64         `json:"received_bytes"`
	Sending  time.Duration `json:"sending_ns"` // in sends of frames
	Idle     time.Duration `json:"idle_ns"`    // waiting for the next frame
	Held     time.Duration `json:"held_ns"`    // what was received waited for the writer
	Reading  time.Duration `json:"reading_ns"` // the source, with hashing
	Writing  time.Duration `json:"writing_ns"` // the sink, with hashing
	// Committing is the end of files and of the run, until all was durable.
	Committing time.Duration `json:"committing_ns"`
	Again      int64         `json:"blocks_again"`
}

// Look sums up.
func (s *Stats) Look() Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := Look{Reading: time.Duration(s.Read.Load()), Writing: time.Duration(s.Write.Load()), Committing: time.Duration(s.Commit.Load()), Again: s.Again.Load()}
	for _, c := range s.conns {
		if c.n == 0 {
			continue
		}
		l.Streams++
		l.Sent, l.Received = l.Sent+c.dataOut.Load(), l.Received+c.dataIn.Load()
		l.Sending, l.Idle = l.Sending+time.Duration(c.busyOut.Load()), l.Idle+time.Duration(c.idleIn.Load())
		l.Held += time.Duration(c.heldIn.Load())
	}
	return l
}
