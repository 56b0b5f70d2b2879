package shape

import (
	"errors"
	"fmt"
	"math"
	"time"

	"linerate/internal/unit"
)

// Pattern is the order in which blocks are touched.
type Pattern string

// Sequential goes from the first block to the last and starts again; requests of
// several sizes follow right behind each other. Random
// draws every block anew, with replacement. Once touches each block exactly
// once per pass, in random order. Zipf draws with replacement, the k-th most
// popular block with a share proportional to 1/k^Theta; popularity is spread
// over the whole area at random. Seek draws a Jump share of the requests anew; the
// others go to the block behind the one before them, and after the last to the first.
const (
	Sequential Pattern = "sequential"
	Random     Pattern = "random"
	Once       Pattern = "once"
	Zipf       Pattern = "zipf"
	Seek       Pattern = "seek"
)

// Arrivals is when requests are due.
type Arrivals string

// Closed has no rate: the next request is due when one ends. Uniform spaces
// them evenly; Exponential draws the gaps of a Poisson process.
const (
	Closed      Arrivals = "closed"
	Uniform     Arrivals = "uniform"
	Exponential Arrivals = "exponential"
)

// SizeShare is a request size and the share of requests that have it.
type SizeShare struct {
	Size  unit.Bytes `json:"bytes"`
	Share float64    `json:"share"`
}

// Band is a part of the area, as shares of it from 0 to 1, and the share of
// requests that go there.
type Band struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Share float64 `json:"share"`
}

// Shape is a workload on one area of a file or device.
type Shape struct {
	Pattern Pattern `json:"pattern"`
	Theta   float64 `json:"theta,omitempty"`      // of Zipf
	Jump    float64 `json:"jump_share,omitempty"` // of Seek
	// Read is the share of requests that read, each drawn for itself: a mix is
	// not a fixed sequence.
	Read  float64     `json:"read_share"`
	Sizes []SizeShare `json:"sizes"`
	Area  unit.Bytes  `json:"area_bytes,omitempty"` // requests lie within [0, Area)
	// Align is what every offset is a multiple of; 0: the smallest size, but for
	// Sequential, which leaves nothing out between requests of several sizes.
	Align unit.Bytes `json:"align_bytes,omitempty"`
	// Hot bands, for Random; what they leave of the requests goes anywhere.
	Hot      []Band        `json:"hot,omitempty"`
	Rate     float64       `json:"rate,omitempty"` // requests per second, over the whole workload; 0 with Closed
	Arrivals Arrivals      `json:"arrivals"`
	Think    time.Duration `json:"think_ns,omitempty"` // pause of a worker between a completion and its next request
}

// Step is what offsets are multiples of.
func (s Shape) Step() unit.Bytes {
	if s.Align > 0 {
		return s.Align
	}
	smallest := s.Sizes[0].Size
	for _, z := range s.Sizes {
		smallest = min(smallest, z.Size)
	}
	return smallest
}

// Largest is the largest request.
func (s Shape) Largest() unit.Bytes {
	var most unit.Bytes
	for _, z := range s.Sizes {
		most = max(most, z.Size)
	}
	return most
}

// maxSize bounds one request.
const maxSize = 64 * unit.MiB

// Check says why the shape cannot be had.
func (s Shape) Check() error {
	if err := s.checkSizes(); err != nil {
		return fmt.Errorf("shape workload: %w", err)
	}
	if err := s.checkPattern(); err != nil {
		return fmt.Errorf("shape workload: %w", err)
	}
	if err := s.checkArrivals(); err != nil {
		return fmt.Errorf("shape workload: %w", err)
	}
	return nil
}

func (s Shape) checkSizes() error {
	if len(s.Sizes) == 0 || len(s.Sizes) > MaxSizes {
		return fmt.Errorf("%d request sizes, want 1 to %d", len(s.Sizes), MaxSizes)
	}
	sum := 0.0
	for _, z := range s.Sizes {
		if z.Size < 1 || z.Size > maxSize {
			return fmt.Errorf("a request of %d bytes: want 1 to %d", z.Size, maxSize)
		}
		if !(z.Share > 0) {
			return fmt.Errorf("share %v of requests of %v: want above 0", z.Share, z.Size)
		}
		sum += z.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("the shares of the request sizes add up to %.4g, not 1", sum)
	}
	if s.Align < 0 {
		return fmt.Errorf("alignment of %d bytes", s.Align)
	}
	if s.Area < s.Largest() {
		return fmt.Errorf("an area of %d bytes is smaller than a request of %d", s.Area, s.Largest())
	}
	return nil
}

func (s Shape) checkPattern() error {
	if !(s.Read >= 0 && s.Read <= 1) {
		return fmt.Errorf("reads are %v of the requests: want 0 to 1", s.Read)
	}
	switch s.Pattern {
	case Sequential, Random:
	case Once:
		if len(s.Sizes) > 1 {
			return errors.New("each block once takes requests of one size")
		}
	case Seek:
		if !(s.Jump > 0 && s.Jump < 1) {
			return fmt.Errorf("%.4g%% of the requests go elsewhere: want more than 0 (which is sequential) and less than 100 (random)", 100*s.Jump)
		}
		if len(s.Sizes) > 1 {
			return errors.New("the pattern seek takes requests of one size")
		}
	case Zipf:
		if !(s.Theta > 0 && s.Theta <= 5) {
			return fmt.Errorf("zipf exponent %v: want above 0 and at most 5", s.Theta)
		}
	default:
		return fmt.Errorf("pattern %q: choose sequential, random, once, zipf or seek", s.Pattern)
	}
	if len(s.Hot) > 0 && s.Pattern != Random {
		return fmt.Errorf("hot bands go with the random pattern, not with %s", s.Pattern)
	}
	sum := 0.0
	for _, b := range s.Hot {
		if !(b.From >= 0 && b.From < b.To && b.To <= 1) || !(b.Share > 0) {
			return fmt.Errorf("hot band %v to %v with share %v: want 0 <= from < to <= 1 and a share above 0", b.From, b.To, b.Share)
		}
		if unit.Bytes((b.To-b.From)*float64(s.Area)) < s.Largest()+s.Step() {
			return fmt.Errorf("hot band %v to %v holds no request", b.From, b.To)
		}
		sum += b.Share
	}
	if sum > 1+1e-6 {
		return fmt.Errorf("the shares of the hot bands add up to %.4g, more than 1", sum)
	}
	return nil
}

func (s Shape) checkArrivals() error {
	if s.Think < 0 {
		return fmt.Errorf("think time %v", s.Think)
	}
	switch s.Arrivals {
	case Closed:
		if s.Rate != 0 {
			return errors.New("a rate needs arrivals: uniform or exponential")
		}
	case Uniform, Exponential:
		if !(s.Rate > 0 && s.Rate <= 1e8) {
			return fmt.Errorf("%s arrivals at %v requests per second: want above 0 and at most 1e8", s.Arrivals, s.Rate)
		}
		if s.Think > 0 {
			return errors.New("a think time goes with closed arrivals only: a rate already says when requests are due")
		}
	default:
		return fmt.Errorf("arrivals %q: choose closed, uniform or exponential", s.Arrivals)
	}
	return nil
}
