package wire

import (
	"sync"
	"sync/atomic"
	"time"

	"linerate/internal/move"
)

// Stats is what an end has done so far, for who watches. The zero value is ready.
type Stats struct {
	// Read is what reads blocks of the source, with hashing, and ReadSmall whole files; Write the sink's
	// writers; Commit the end of files and of the run, until all is durable.
	Read, ReadSmall, Write, Commit move.Meter
	// Pace is what waits for the rate that the data are held below.
	Pace move.Meter
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
	// Pacing is the time in which any data waited for the rate that they are held below.
	Pacing  time.Duration `json:"pacing_ns,omitempty"`
	Idle    time.Duration `json:"idle_ns"`    // waiting for the next frame
	Held    time.Duration `json:"held_ns"`    // what was received waited for the writer
	Reading time.Duration `json:"reading_ns"` // the source, with hashing
	Lanes   int           `json:"lanes"`      // readers of blocks
	// ReadingSmall is what of Reading was of whole small files, LanesSmall their readers.
	ReadingSmall time.Duration `json:"reading_small_ns"`
	LanesSmall   int           `json:"lanes_small"`
	Writing      time.Duration `json:"writing_ns"` // the sink, with hashing
	// Committing is the time in which any file, or the run, was being made durable.
	Committing time.Duration `json:"committing_ns"`
	Again      int64         `json:"blocks_again"`
}

// Look sums up.
func (s *Stats) Look() Look {
	s.mu.Lock()
	defer s.mu.Unlock()
	blocks, small := s.Read.Sum(), s.ReadSmall.Sum()
	l := Look{Reading: blocks + small, Lanes: Readers, ReadingSmall: small, LanesSmall: smallReaders,
		Writing: s.Write.Sum(), Committing: s.Commit.Any(), Pacing: s.Pace.Any(), Again: s.Again.Load()}
	for _, c := range s.conns {
		if c.n == 0 {
			continue
		}
		l.Streams++
		l.Sent, l.Received = l.Sent+c.dataOut.Load(), l.Received+c.dataIn.Load()
		l.Sending, l.Idle = l.Sending+c.busyOut.Sum(), l.Idle+c.idleIn.Sum()
		l.Held += c.heldIn.Sum()
	}
	return l
}

// Plus adds what another run has done.
func (l Look) Plus(o Look) Look {
	l.Streams, l.Sent, l.Received, l.Again = l.Streams+o.Streams, l.Sent+o.Sent, l.Received+o.Received, l.Again+o.Again
	l.Sending, l.Idle, l.Held = l.Sending+o.Sending, l.Idle+o.Idle, l.Held+o.Held
	l.Lanes, l.LanesSmall, l.ReadingSmall = max(l.Lanes, o.Lanes), max(l.LanesSmall, o.LanesSmall), l.ReadingSmall+o.ReadingSmall
	l.Reading, l.Writing, l.Committing = l.Reading+o.Reading, l.Writing+o.Writing, max(l.Committing, o.Committing)
	l.Pacing = max(l.Pacing, o.Pacing)
	return l
}
