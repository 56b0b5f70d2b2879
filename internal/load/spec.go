package load

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Role is what a worker does.
type Role string

// A Source connects and writes, a Sink listens and reads. A Copy copies memory
// on one core; a Read reads one file from its start on; a Write writes a new
// file, which it removes; a Block makes requests on a file or device; a Frames
// records video to files, which it removes, or plays it. No other writes a file.
const (
	Source Role = "source"
	Sink   Role = "sink"
	Copy   Role = "copy"
	Read   Role = "read"
	Write  Role = "write"
	Block  Role = "block"
	Frames Role = "frames"
)

// Cache says what a Read does about the host's page cache.
type Cache string

// Direct goes past it (O_DIRECT); Dropped asks the kernel to forget the file
// first (posix_fadvise, DONTNEED) and then reads with its read-ahead, as an
// application does; Kept reads a part of the file twice and times the second.
const (
	Direct  Cache = "direct"
	Dropped Cache = "dropped"
	Kept    Cache = "kept"
)

// Bounds of a Spec.
const (
	MaxStreams  = 128
	MaxReaders  = 16
	MaxConns    = 1024
	MaxDuration = 24 * time.Hour
)

// Token is the secret of one run. It prints as a placeholder, so that no
// message can carry it; only its JSON form, which goes down a worker's
// standard input, holds the value.
type Token [32]byte

// NewToken draws a token from r, which is crypto/rand.Reader outside tests.
func NewToken(r io.Reader) (Token, error) {
	var t Token
	if _, err := io.ReadFull(r, t[:]); err != nil {
		return Token{}, fmt.Errorf("draw token: %w", err)
	}
	return t, nil
}

// String hides the token.
func (t Token) String() string { return "token(hidden)" }

// GoString hides the token from %#v.
func (t Token) GoString() string { return t.String() }

// MarshalText writes the token as hex.
func (t Token) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, t[:]), nil }

// UnmarshalText reads 64 hex digits. The error never repeats its input.
func (t *Token) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(t)) {
		return fmt.Errorf("read token: want %d hex digits, got %d bytes", hex.EncodedLen(len(t)), len(b))
	}
	if _, err := hex.Decode(t[:], b); err != nil {
		return errors.New("read token: not hex digits")
	}
	return nil
}

// Spec is a load that runs for a time that it is told: the streams of one end, or one of
// the loads without a peer.
type Spec struct {
	Role Role `json:"role"`
	// Bind is the data address of this end, the only one used.
	Bind netip.Addr `json:"bind"`
	// Port is the sink's port; 0 lets the kernel pick. A source ignores it.
	Port uint16 `json:"port,omitempty"`
	// Peer is the sink to connect to; set for a source only.
	Peer     netip.AddrPort `json:"peer,omitzero"`
	Token    Token          `json:"token"`
	Streams  int            `json:"streams"`
	Duration time.Duration  `json:"duration"` // from "go", warm-up included
	Warmup   time.Duration  `json:"warmup"`
	CC       string         `json:"cc,omitempty"` // TCP_CONGESTION; empty: the host's default
	// What this end's application does with its sockets: a source has a SourceUse, a sink a
	// SinkUse, both the same Dialogue.
	model.SourceUse
	model.SinkUse
	model.Dialogue
	// CPUs to pin the streams' threads to, in turn; empty: not pinned.
	CPUs []int `json:"cpus,omitempty"`
	// From is where a sink expects its source to come from. Others may be the source too
	// (an address may be translated on the way), but give way to that one; invalid: anywhere.
	From netip.Addr `json:"from,omitzero"`
	// MaxConns caps the connections that a sink has open at once, unproven ones
	// included; 0 is Streams + 32.
	MaxConns int `json:"max_conns,omitempty"`
	// Read is what a Read reads; nil for every other role.
	Read *ReadSpec `json:"read,omitempty"`
	// Write is where a Write writes; nil for every other role.
	Write *WriteSpec `json:"write,omitempty"`
	// Block is what a Block does; nil for every other role.
	Block *BlockSpec `json:"block,omitempty"`
	// Frames is what a Frames does; nil for every other role.
	Frames *FramesSpec `json:"frames,omitempty"`
}

// ReadSpec is what a Read is told.
type ReadSpec struct {
	// File is an absolute path; if empty, the largest regular file below Dir
	// that may be read.
	File  string `json:"file,omitempty"`
	Dir   string `json:"dir,omitempty"`
	Cache Cache  `json:"cache"`
	// Device: File may be a block device as well.
	Device bool `json:"device,omitempty"`
	// Readers read at once, each a part of the file of its own; 0 is one. Kept
	// has one only.
	Readers int `json:"readers,omitempty"`
	// MaxBytes bounds the part that Kept reads; 0 is 256 MiB.
	MaxBytes unit.Bytes `json:"max_bytes,omitempty"`
}

func (r *ReadSpec) check() error {
	switch {
	case r == nil:
		return errors.New("a read needs a file or a directory")
	case (r.File == "") == (r.Dir == ""):
		return errors.New("name either a file or a directory")
	case !filepath.IsAbs(r.File + r.Dir):
		return fmt.Errorf("%q is no absolute path", r.File+r.Dir)
	case r.Cache != Direct && r.Cache != Dropped && r.Cache != Kept:
		return fmt.Errorf("cache %q is none of direct, dropped, kept", r.Cache)
	case r.Readers < 0 || r.Readers > MaxReaders || r.Readers > 1 && r.Cache == Kept:
		return fmt.Errorf("%d readers, want at most %d, and one where the cache is kept", r.Readers, MaxReaders)
	case r.Device && r.File == "":
		return errors.New("a device is named, not looked for")
	case r.MaxBytes < 0 || r.MaxBytes > 64*unit.GiB:
		return fmt.Errorf("%v to be read twice, want at most 64 GiB", r.MaxBytes)
	}
	return nil
}

// maxConns is the cap on connections with its default.
func (s *Spec) maxConns() int { return cmp.Or(s.MaxConns, s.Streams+32) }

// Check says why the load cannot be had.
func (s *Spec) Check() error {
	switch s.Role {
	case Source, Sink:
		return s.checkStreams()
	case Copy, Read, Write, Block, Frames:
		return s.checkAlone()
	}
	return fmt.Errorf("role %q is none of source, sink, copy, read, write, block, frames", s.Role)
}

// checkAlone is for the roles without a peer.
func (s *Spec) checkAlone() error {
	switch {
	case s.Bind.IsValid() || s.Peer.IsValid() || s.Port != 0 || s.Streams != 0:
		return fmt.Errorf("a %s has no peer", s.Role)
	case s.Role == Frames && (s.Duration <= 0 || s.Duration > MaxDuration || s.Warmup != 0):
		return fmt.Errorf("duration %v with %v of warm-up, want above 0 and at most %v, without", s.Duration, s.Warmup, MaxDuration)
	case s.Role != Block && s.Role != Frames && (s.Duration <= 0 || s.Duration > time.Minute || s.Warmup != 0):
		return fmt.Errorf("duration %v with %v of warm-up, want above 0 and at most a minute, without", s.Duration, s.Warmup)
	case s.Role == Block && (s.Warmup < 0 || s.Duration <= s.Warmup || s.Duration > MaxDuration):
		return fmt.Errorf("duration %v with %v of warm-up, want above that and at most %v", s.Duration, s.Warmup, MaxDuration)
	case s.Role != Read && s.Read != nil:
		return fmt.Errorf("a %s reads no file", s.Role)
	case s.Role != Write && s.Write != nil:
		return fmt.Errorf("a %s writes no file", s.Role)
	case s.Role != Block && s.Block != nil:
		return fmt.Errorf("a %s makes no requests", s.Role)
	case s.Role != Frames && s.Frames != nil:
		return fmt.Errorf("a %s makes no frames", s.Role)
	case s.Role == Frames:
		_, err := s.Frames.Run(s.Duration)
		return err
	case s.Role == Block:
		return s.Block.check()
	case s.Role == Read:
		return s.Read.check()
	case s.Role == Write:
		return s.Write.check()
	}
	return nil
}

func (s *Spec) checkStreams() error {
	switch {
	case s.Read != nil || s.Write != nil || s.Block != nil || s.Frames != nil:
		return fmt.Errorf("a %s reads no file and writes none", s.Role)
	case !s.Bind.IsValid() || s.Bind.IsUnspecified() || s.Bind.IsMulticast():
		return errors.New("bind must be one data address of this host")
	case s.Role == Source && (!s.Peer.IsValid() || s.Peer.Port() == 0):
		return errors.New("a source needs the sink's address and port as peer")
	case s.Token == Token{}:
		return errors.New("no token")
	case s.Streams < 1 || s.Streams > MaxStreams:
		return fmt.Errorf("%d streams, want 1 to %d", s.Streams, MaxStreams)
	}
	return s.checkTimes()
}

func (s *Spec) checkTimes() error {
	switch {
	case s.Duration <= 0 || s.Duration > MaxDuration:
		return fmt.Errorf("duration %v, want above 0 and at most %v", s.Duration, MaxDuration)
	case s.Warmup < 0 || s.Warmup >= s.Duration:
		return fmt.Errorf("warm-up %v, want at least 0 and below the duration %v", s.Warmup, s.Duration)
	case s.maxConns() < s.Streams || s.maxConns() > MaxConns:
		return fmt.Errorf("cap of %d connections, want %d (the streams) to %d", s.maxConns(), s.Streams, MaxConns)
	}
	return s.checkPace()
}

func (s *Spec) checkPace() error {
	for name, r := range map[string]unit.BitRate{"rate": s.Rate, "read rate": s.ReadRate, "pacing rate": s.MaxPacing} {
		if !(r >= 0 && r <= 1e13) {
			return fmt.Errorf("%s %v, want 0 (no limit) to 10 Tbit/s", name, r)
		}
	}
	for name, b := range map[string]unit.Bytes{"send buffer": s.SendBuffer, "receive buffer": s.RecvBuffer} {
		if b < 0 || b > unit.GiB {
			return fmt.Errorf("%s of %v, want 0 (autotuned) to 1 GiB", name, b)
		}
	}
	if s.WriteSize < 0 || s.WriteSize > block {
		return fmt.Errorf("writes of %v, want 0 (1 MiB) to 1 MiB", s.WriteSize)
	}
	if wrong := s.checkExchange(); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}
