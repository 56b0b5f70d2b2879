// Package mover is the process of one end of a copy between hosts. It is told what to do by
// one JSON line on its standard input, its Task, then by further lines, Commands: how to
// meet the other end. It says how far it is by JSON lines on its standard output, Events.
// The same program is at both ends, whether the host is this one or another.
//
// It refuses a task with a field or a value that it does not know, and a path that is not
// absolute; it runs no command and knows no host but by address. It ends with its input:
// nobody is left then who asked for the copy. What was written until then stays for a next
// run, and no file has its name before it is whole.
package mover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"time"

	"linerate/internal/move"
	"linerate/internal/move/route"
	"linerate/internal/move/share"
	"linerate/internal/move/wire"
)

// Role is the hidden subcommand of the program that is a mover.
const Role = "mover"

// Version of Task, Command and Event that this build speaks.
const Version = 7

// Bounds of a task.
const (
	MaxTask    = 1 << 20 // bytes of its line, and of a command's
	MaxEvent   = 4 << 20 // bytes of an event's line
	maxPaths   = 1000
	maxMem     = time.Hour
	maxExclude = 1000
)

// Task is what one end is told first.
type Task struct {
	V int `json:"v"`
	// Read has absolute paths, by rsync's meaning of a trailing slash; Write the absolute
	// path of the target: one of them, or Mem, which reads and writes nothing, and Send,
	// which tells who sends then.
	Read  []move.Raw    `json:"read,omitempty"`
	Write move.Raw      `json:"write,omitempty"`
	Mem   time.Duration `json:"mem_ns,omitempty"`
	Send  bool          `json:"send,omitempty"`

	Full     bool       `json:"full,omitempty"` // BLAKE3 leaves, the target is read again
	Exclude  []move.Raw `json:"exclude,omitempty"`
	Buffered bool       `json:"buffered,omitempty"`
	Setuid   bool       `json:"setuid,omitempty"`
	Empty    bool       `json:"empty,omitempty"` // refuse a target that holds anything
	// Cold drops what the source's cache holds; Scratch writes into a new directory below
	// Write, which goes with the mover: a copy that is only measured.
	Cold    bool `json:"cold,omitempty"`
	Scratch bool `json:"scratch,omitempty"`
	Count   bool `json:"count,omitempty"` // of the end that reads: tell Work.Total
	// Do is what the run is for; both ends are told the same. Delete and MaxDelete are of
	// the end that writes.
	Do        Deed  `json:"do,omitempty"`
	Delete    bool  `json:"delete,omitempty"`
	MaxDelete int   `json:"max_delete,omitempty"`
	Limit     int64 `json:"limit,omitempty"`   // bytes per second
	Streams   int   `json:"streams,omitempty"` // 0: as many as bring something
	// Congestion is of the end that sends: what its data connections are given.
	Congestion wire.Congestion `json:"congestion,omitempty"`

	Plain  bool        `json:"plain,omitempty"`
	Run    wire.Run    `json:"run"`
	Secret wire.Secret `json:"secret"`
	// First, of an end that writes, is its Open, where all that this has is known by now: the mover
	// says Opened at once, and no Ready, which saves who asked a round trip.
	First *Command `json:"first,omitempty"`
	// Spread are the other ends, where there are several, each with a run of its own; Run and
	// Secret are zero then.
	Spread []Pair `json:"spread,omitempty"`
	// Turn, of an end that reads for several others: which of them it begins with, where it has a choice.
	Turn int `json:"turn,omitempty"`
}

// Pair is one of several other ends.
type Pair struct {
	Run    wire.Run    `json:"run"`
	Secret wire.Secret `json:"secret"`
	// Closed, of the end that reads: that target is asked what it has, and gets nothing.
	Closed bool `json:"closed,omitempty"`
	// Name is what people call it.
	Name string `json:"name,omitempty"`
}

// Deed is what a run is for.
type Deed string

// The deeds: to copy, to say what a copy would do, to compare. Only the first changes
// anything.
const (
	Copying   Deed = ""
	Planning  Deed = "plan"
	Comparing Deed = "compare"
)

// sends tells whether this end is the one that reads.
func (t *Task) sends() bool { return len(t.Read) > 0 || t.Send }

// Check says why the task cannot be had.
func (t *Task) Check() error {
	given := 0
	for _, is := range []bool{len(t.Read) > 0, t.Write != "", t.Mem != 0} {
		if is {
			given++
		}
	}
	switch {
	case t.V != Version:
		return fmt.Errorf("version %d, this build speaks %d", t.V, Version)
	case given != 1 || t.Send && t.Mem == 0:
		return errors.New("it is to read, to write, or to send memory: one of them")
	case len(t.Read) > maxPaths || len(t.Exclude) > maxExclude:
		return fmt.Errorf("%d paths and %d exclusions, want at most %d and %d", len(t.Read), len(t.Exclude), maxPaths, maxExclude)
	case t.Mem < 0 || t.Mem > maxMem:
		return fmt.Errorf("memory for %v, want at most %v", t.Mem, maxMem)
	case t.Do != Copying && t.Do != Planning && t.Do != Comparing || t.Do != Copying && t.Mem != 0:
		return fmt.Errorf("to do %q, which cannot be had", t.Do)
	case t.Empty && (t.Write == "" || t.Do == Comparing):
		return errors.New("an empty directory where nothing is written")
	case t.Scratch && (t.Write == "" || t.Do != Copying || t.Delete):
		return errors.New("a scratch directory where nothing is only measured")
	case t.MaxDelete < 0 || t.Delete && (t.Write == "" || t.Do == Comparing):
		return errors.New("to delete where nothing is written")
	case t.Streams < 0 || t.Streams > wire.MaxStreams:
		return fmt.Errorf("%d streams, want at most %d", t.Streams, wire.MaxStreams)
	case t.Congestion != "" && (!t.Congestion.IsName() || !t.sends()):
		return fmt.Errorf("congestion control %q, which cannot be had, or of an end that sends no data", t.Congestion)
	case len(t.Spread) > share.MaxTargets:
		return fmt.Errorf("%d other ends, want at most %d", len(t.Spread), share.MaxTargets)
	case len(t.Spread) > 0 && (t.Mem != 0 || t.Scratch):
		return errors.New("several other ends for what is only measured")
	case t.First != nil && (t.First.Order != Open || t.Write == "" || len(t.Spread) > 0):
		return fmt.Errorf("first to %q, which cannot be had", t.First.Order)
	case t.Limit < 0:
		return fmt.Errorf("a limit of %d bytes per second", t.Limit)
	case t.Write != "" && !filepath.IsAbs(string(t.Write)):
		return fmt.Errorf("%q is no absolute path", t.Write)
	}
	for _, p := range t.Read {
		if !filepath.IsAbs(string(p)) {
			return fmt.Errorf("%q is no absolute path", p)
		}
	}
	return nil
}

// Order is what a command orders.
type Order string

// The orders, in the order in which they come. Open opens the files of this end; Listen
// and Dial meet the other end, and the later one counts; Drop gives one of several other ends up;
// Delete and Spare answer Doomed; Stop ends the copy.
const (
	Open   Order = "open"
	Listen Order = "listen"
	Dial   Order = "dial"
	Drop   Order = "drop"
	Delete Order = "delete"
	Spare  Order = "spare"
	Stop   Order = "stop"
)

// Command is one line that a mover is sent after its task.
type Command struct {
	Order Order `json:"order"`
	// One, Whole and As are of Open: the one source is no directory, and which directories
	// of the target are to be as the source has them, which the target is told; and the name
	// that the one source then has in the target, which the source is told.
	One   bool       `json:"one,omitempty"`
	Whole []move.Raw `json:"whole,omitempty"`
	As    move.Raw   `json:"as,omitempty"`
	// Lie, of Open, tells the target where the sources lie: one that lies in it, or that it lies in, is refused.
	Lie route.Lie `json:"lie,omitzero"`
	// New tells the source, with Open or Dial, that the target holds nothing of what is copied: it
	// is not asked what it has.
	New bool `json:"new,omitempty"`
	// Pair is the number of the other end, where there are several: of Listen, Dial and Drop.
	Pair int `json:"pair,omitempty"`
	// Peer is the other end's certificate.
	Peer wire.Pin `json:"peer,omitzero"`
	// At is where to listen, port 0 being any, or what to dial; From the address to dial
	// from, if it matters. An Open that has it listens there too, and Opened has the address.
	At   netip.AddrPort `json:"at,omitzero"`
	From netip.Addr     `json:"from,omitzero"`
}

// Kind of an Event.
type Kind string

// The events.
const (
	Ready     Kind = "ready"     // Pin, One, Whole, Lie
	Opened    Kind = "opened"    // Pin; As; New, of a target: as Command has it; Device: number of the block device, "8:16"; Text: a doubt about the copy, if there is one; Addr, where it listens by now
	Listening Kind = "listening" // Addr
	Unreached Kind = "unreached" // Text: the port could not be connected to
	Parted    Kind = "parted"    // Pair; Text: why, where that other end was not done
	Seen      Kind = "seen"      // Work: again and again
	Lost      Kind = "lost"      // Losses
	Planned   Kind = "planned"   // Steps
	Doomed    Kind = "doomed"    // Count, Unread; Text: why nothing can be deleted. It waits for Delete or Spare
	Over      Kind = "over"      // Work
	Failed    Kind = "failed"    // Text, Work: the copy ended before it was done
)

// Event is one line of a mover's standard output.
type Event struct {
	V      int            `json:"v"`
	Kind   Kind           `json:"event"`
	Text   string         `json:"text,omitempty"`
	Usage  bool           `json:"usage,omitempty"` // of Failed: what was asked for cannot be had
	Sink   bool           `json:"sink,omitempty"`  // of Failed: the target takes nothing more
	Pin    wire.Pin       `json:"pin,omitzero"`
	One    bool           `json:"one,omitempty"`
	Whole  []move.Raw     `json:"whole,omitempty"`
	Lie    route.Lie      `json:"lie,omitzero"`
	As     move.Raw       `json:"as,omitempty"`
	New    bool           `json:"new,omitempty"`
	Device string         `json:"device,omitempty"`
	Addr   netip.AddrPort `json:"addr,omitzero"`
	Pair   int            `json:"pair,omitempty"` // of Listening, Unreached and Parted
	// Count, of Doomed, is how many entries the sources do not have; Unread how many of theirs could
	// not be read.
	Count  int    `json:"count,omitempty"`
	Unread int64  `json:"unread,omitempty"`
	Losses []Loss `json:"losses,omitempty"`
	Steps  []Step `json:"steps,omitempty"`
	Work   *Work  `json:"work,omitempty"`
}

// Loss is a move.Loss with its path, whose bytes JSON's text would not keep.
type Loss struct {
	What   string `json:"what"`
	Path   []byte `json:"path"`
	Detail string `json:"detail,omitempty"`
}

// Step is a place.Step, likewise.
type Step struct {
	Do   string    `json:"do"`
	Kind move.Kind `json:"kind"`
	Path []byte    `json:"path"`
	Size int64     `json:"bytes,omitempty"`
	Why  string    `json:"why,omitempty"`
}

// Total is what a source holds, as far as it was counted.
type Total struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	Whole bool  `json:"whole"` // it is all
}

// Work is what an end has done so far.
type Work struct {
	Moved move.Summary `json:"moved"`
	Total *Total       `json:"total,omitempty"` // where it was asked for
	wire.Look
	Sockets wire.Sockets  `json:"sockets"`
	Near    *Near         `json:"near,omitempty"`
	CPU     time.Duration `json:"cpu_ns"`
	CPUs    int           `json:"cpus"`    // that it may use
	Took    time.Duration `json:"took_ns"` // since the ends met
	// Pairs are what each of several other ends got, or gave.
	Pairs []PairWork `json:"pairs,omitempty"`
}

// PairWork is what went between this end and one of several others.
type PairWork struct {
	Bytes      int64  `json:"bytes"`
	Streams    int    `json:"streams"`
	Congestion string `json:"congestion,omitempty"` // of the end that sends: what its connections have
}

// decode reads one line; an unknown field and data after it are errors.
func decode(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after it")
	}
	return nil
}

// DecodeTask reads a task's line.
func DecodeTask(line []byte) (Task, error) {
	var t Task
	err := decode(line, &t)
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return Task{}, fmt.Errorf("read task: %w", err)
	}
	return t, nil
}
