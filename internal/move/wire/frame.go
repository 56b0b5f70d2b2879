package wire

import (
	"bufio"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/blake3"

	"linerate/internal/move"
)

// A frame is a head, what the frame says (meta) and data of files:
//
//	kind (1)  0 (3)  length of meta (4)  length of data (4)  0 (4)  number (8)  MAC (16)
//
// Numbers count from 0 in each direction of a stream. The MAC is keyed BLAKE3 over the 24
// bytes before it and over meta, cut to 16 bytes; of data meta holds the hashes. It is
// compared before meta is looked at and before data are read.
const (
	macSize  = 16
	macAt    = 24
	headSize = macAt + macSize

	// maxMeta bounds what one frame says, in bytes.
	maxMeta = 2 << 20
	// MaxData bounds the data of a frame: a block's, or a pack's.
	MaxData = move.BlockSize
)

// kind of a frame.
type kind uint8

// The kinds, and which end sends them: the sender (of files) or the receiver.
const (
	kindMake     kind = iota + 1 // sender: an entry without data; answered where it has a number
	kindBegin                    // sender: a file whose blocks follow
	kindHave                     // receiver: what it has of the file
	kindBlock                    // sender: a block, on any data stream
	kindPack                     // sender: whole files, on any data stream
	kindCommit                   // sender: all blocks of a file were sent
	kindAbort                    // sender: the file is given up
	kindDone                     // receiver: what became of a file, or of an entry with a number
	kindNak                      // receiver: send that block again
	kindPacked                   // receiver: a pack was taken
	kindMore                     // sender: open the next stream
	kindFinish                   // sender: that was all
	kindFinished                 // receiver: everything is durable
	kindEnd                      // sender: nothing follows on this data stream
	kindMem                      // sender: data of no file, which is counted and dropped
	kindFail                     // either: the run is over, and why
	kindAsk                      // receiver: which of these names does the source keep?
	kindTold                     // sender: those
	kindLook                     // sender: what is there of these entries?
	kindLooked                   // receiver: that
	kindKept                     // sender: the metadata of a small file that the receiver has
	kindLess                     // sender: a stream that was told of does not come
	kinds                        // how many there are
)

// Errors of frames.
var (
	errFrame = errors.New("a frame came that this run's other end did not send: it was changed, repeated, moved or left out on the way")
	errOver  = errors.New("the run is over")
	errBound = errors.New("a frame is longer than any that this build sends")
)

// frame is one that was received, or is to be sent. Meta and data are the connection's or
// the caller's buffers.
type frame struct {
	kind kind
	meta []byte
	data []byte
}

// frameTime bounds how long one frame may take: a peer that stands still for so long is
// taken for gone. It is long, because a disk at the other end may stand still too.
const frameTime = 5 * time.Minute

// Conn is one stream: frames in both directions. One goroutine may receive; any may send.
type Conn struct {
	n   uint32
	c   net.Conn // records, or the same as raw
	raw net.Conn
	in  *bufio.Reader
	// body is where the bytes of in are from, if that is raw; records have their own.
	body *bulk

	sending  sync.Mutex
	sendMAC  *blake3.Hasher
	sent     uint64
	sendHead [headSize]byte
	last     time.Time // until when anything may be sent, once it is parted from

	stopped atomic.Bool // after the deadline of one who waits was moved into the past

	recvMAC  *blake3.Hasher
	received uint64
	meta     []byte

	// bytes of data that were sent and received, for who watches.
	dataOut, dataIn atomic.Int64
	// sends, receives that wait for a frame, and what was received and waits for the writer.
	busyOut, idleIn, heldIn move.Meter
}

func newConn(c, raw net.Conn, n uint32, sendKey, recvKey [32]byte) *Conn {
	out := &Conn{n: n, c: c, raw: raw}
	var from io.Reader = c
	if c == raw {
		out.body = newBulk(raw)
		from = out.body
	}
	out.in = bufio.NewReaderSize(from, 64<<10)
	// 32 bytes is the one length that a key may have.
	out.sendMAC, _ = blake3.NewKeyed(sendKey[:])
	out.recvMAC, _ = blake3.NewKeyed(recvKey[:])
	return out
}

// Stream is its number; 0 is the control stream.
func (c *Conn) Stream() uint32 { return c.n }

// stop has whoever sends or receives return, without a word to the other end: that hears the
// reason on the control stream, before it sees this stream's end.
func (c *Conn) stop() {
	c.stopped.Store(true)
	_ = c.raw.SetDeadline(time.Unix(1, 0)) // one that is closed returns anyway
}

// Close ends it at once.
func (c *Conn) Close() error { return c.raw.Close() }

func mac(h *blake3.Hasher, head, meta []byte) (out [macSize]byte) {
	h.Reset()
	_, _ = h.Write(head[:macAt]) // a hash takes everything
	_, _ = h.Write(meta)
	var sum [32]byte
	h.Sum(sum[:0])
	copy(out[:], sum[:])
	return out
}

// send writes a frame. f.meta and f.data are the caller's again when it returns.
func (c *Conn) send(f frame) error {
	if len(f.meta) > maxMeta || len(f.data) > MaxData {
		return errBound
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.frame(f)
}

// frame writes a frame; c.sending is held.
func (c *Conn) frame(f frame) error {
	h := c.sendHead[:]
	clear(h)
	h[0] = byte(f.kind)
	binary.BigEndian.PutUint32(h[4:], uint32(len(f.meta)))
	binary.BigEndian.PutUint32(h[8:], uint32(len(f.data)))
	binary.BigEndian.PutUint64(h[16:], c.sent)
	c.sent++
	m := mac(c.sendMAC, h, f.meta)
	copy(h[macAt:], m[:])
	c.busyOut.Begin()
	defer c.busyOut.End()
	by := time.Now().Add(frameTime)
	if !c.last.IsZero() {
		by = c.last
	}
	if err := c.c.SetWriteDeadline(by); err != nil {
		return err
	}
	if c.stopped.Load() {
		return errOver
	}
	if err := c.write(h, f); err != nil {
		return fmt.Errorf("send on stream %d: %w", c.n, err)
	}
	c.dataOut.Add(int64(len(f.data)))
	return nil
}

// write hands the parts over: to TCP in one call, as records what is small in one.
func (c *Conn) write(head []byte, f frame) error {
	if c.c == c.raw {
		parts := net.Buffers{head, f.meta, f.data}
		_, err := parts.WriteTo(c.c)
		return err
	}
	small := append(make([]byte, 0, headSize+len(f.meta)), head...)
	if _, err := c.c.Write(append(small, f.meta...)); err != nil || len(f.data) == 0 {
		return err
	}
	_, err := c.c.Write(f.data)
	return err
}

// receive reads a frame's head and meta, which is valid until the next receive, and says
// how many bytes of data follow: those are to be read with data before the next receive.
// io.EOF is an end between two frames, which proves nothing by itself.
func (c *Conn) receive() (k kind, meta []byte, data int, err error) {
	if err := c.idle(); err != nil {
		return 0, nil, 0, err
	}
	if err := c.c.SetReadDeadline(time.Now().Add(frameTime)); err != nil {
		return 0, nil, 0, err
	}
	if c.stopped.Load() {
		return 0, nil, 0, errOver
	}
	var head [headSize]byte
	if err := c.full(head[:]); err != nil {
		return 0, nil, 0, err
	}
	k, metaLen, data, err := parseHead(head[:macAt], c.received)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("receive on stream %d: %w", c.n, err)
	}
	if cap(c.meta) < metaLen {
		c.meta = make([]byte, max(metaLen, 4096))
	}
	meta = c.meta[:metaLen]
	if err := c.full(meta); err != nil {
		return 0, nil, 0, err
	}
	want := mac(c.recvMAC, head[:], meta)
	if subtle.ConstantTimeCompare(want[:], head[macAt:]) != 1 {
		return 0, nil, 0, fmt.Errorf("receive on stream %d: %w", c.n, errFrame)
	}
	c.received++
	return k, meta, data, nil
}

// idle waits until a frame comes.
func (c *Conn) idle() error {
	c.idleIn.Begin()
	defer c.idleIn.End()
	if err := c.c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if c.stopped.Load() {
		return errOver
	}
	_, err := c.in.Peek(1)
	return err
}

// parseHead reads the head of the frame that is to have this number.
func parseHead(h []byte, number uint64) (k kind, meta, data int, err error) {
	k = kind(h[0])
	m, d := binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
	switch {
	case k == 0 || k >= kinds || h[1]|h[2]|h[3]|h[12]|h[13]|h[14]|h[15] != 0:
		return 0, 0, 0, errFrame
	case binary.BigEndian.Uint64(h[16:]) != number:
		return 0, 0, 0, errFrame
	case m > maxMeta || d > MaxData:
		return 0, 0, 0, errBound
	case d > 0 && k != kindBlock && k != kindPack && k != kindMem:
		return 0, 0, 0, errFrame
	}
	return k, int(m), int(d), nil
}

// data reads the data of the frame that was received last.
func (c *Conn) data(b []byte) error {
	if err := c.full(b); err != nil {
		return err
	}
	c.dataIn.Add(int64(len(b)))
	return nil
}

// full reads all of b: an end within a frame is no end.
func (c *Conn) full(b []byte) error {
	c.body.expect(len(b) - c.in.Buffered())
	_, err := io.ReadFull(c.in, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("receive on stream %d: %w", c.n, err)
	}
	return nil
}
