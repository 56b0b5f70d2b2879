package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The first bytes of a connection, from the end that dials:
//
//	magic (8)  version (2)  plain (1)  0 (1)  stream (4)  run (16)
//
// They are no secret and prove nothing: they tell a stranger from a peer, and streams apart.
const (
	magic     = "LRCOPY1\n"
	version   = 3
	helloSize = len(magic) + 2 + 2 + 4 + runSize
	runSize   = 16
)

// Run is the number of a run, drawn anew for each.
type Run [runSize]byte

// MaxStreams bounds the data streams of a run. Stream 0 is the control stream.
const MaxStreams = 32

// Why a connection is let go.
var (
	ErrStranger = errors.New("it does not speak linerate's copy protocol")
	errOther    = errors.New("it belongs to another run")
)

type hello struct {
	plain  bool
	stream uint32
	run    Run
}

func (h hello) append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint16(b, version)
	plain := byte(0)
	if h.plain {
		plain = 1
	}
	b = append(b, plain, 0)
	b = binary.BigEndian.AppendUint32(b, h.stream)
	return append(b, h.run[:]...)
}

// readHello reads the first bytes of whoever dialled, and no more than the magic of one who
// is not a peer.
func readHello(r io.Reader) (hello, error) {
	b := make([]byte, helloSize)
	if _, err := io.ReadFull(r, b[:len(magic)]); err != nil {
		return hello{}, fmt.Errorf("read its first bytes: %w", err)
	}
	if string(b[:len(magic)]) != magic {
		return hello{}, ErrStranger
	}
	if _, err := io.ReadFull(r, b[len(magic):]); err != nil {
		return hello{}, fmt.Errorf("read its first bytes: %w", err)
	}
	return parseHello(b[len(magic):])
}

// parseHello reads what follows the magic.
func parseHello(b []byte) (hello, error) {
	if len(b) != helloSize-len(magic) {
		return hello{}, ErrStranger
	}
	if v := binary.BigEndian.Uint16(b); v != version {
		return hello{}, fmt.Errorf("it speaks version %d of the copy protocol, this build %d: use the same build on both hosts", v, version)
	}
	if b[2] > 1 || b[3] != 0 {
		return hello{}, ErrStranger
	}
	h := hello{plain: b[2] == 1, stream: binary.BigEndian.Uint32(b[4:])}
	copy(h.run[:], b[8:])
	if h.stream > MaxStreams {
		return hello{}, fmt.Errorf("it is stream %d, want at most %d", h.stream, MaxStreams)
	}
	return h, nil
}
