package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"linerate/internal/move"
)

// Bounds of what frames say.
const (
	maxPacked = 1024    // files of a pack
	maxLeaves = 32768   // of one have frame; a file with more takes several
	maxText   = 1 << 10 // bytes of an error
)

var errMessage = errors.New("a frame says what cannot be: the other end is not of this build, or broken")

// parser takes meta apart; after an error every further value is zero.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) number(limit uint64) uint64 {
	n, size := binary.Uvarint(p.b)
	if size <= 0 || n > limit {
		p.b, p.bad = nil, true
		return 0
	}
	p.b = p.b[size:]
	return n
}

func (p *parser) flag() bool { return p.number(1) == 1 }

func (p *parser) bytes(n uint64) []byte {
	if n > uint64(len(p.b)) {
		p.b, p.bad = nil, true
		return nil
	}
	out := p.b[:n]
	p.b = p.b[n:]
	return out
}

func (p *parser) hash() (h move.Hash) {
	copy(h[:], p.bytes(uint64(len(h))))
	return h
}

func (p *parser) entry() *move.Entry {
	if p.bad {
		return nil
	}
	e, rest, err := move.DecodeEntry(p.b)
	if err != nil {
		p.b, p.bad = nil, true
		return nil
	}
	p.b = rest
	return e
}

// done is the error of the whole: meta has to end where it says all.
func (p *parser) done() error {
	if p.bad || len(p.b) > 0 {
		return errMessage
	}
	return nil
}

const (
	maxID    = 1<<63 - 1
	maxBlock = 1<<63/move.BlockSize - 1
)

// fileMessage opens a file, or makes an entry: id is 0 where nobody waits for an answer.
type fileMessage struct {
	id    uint64
	entry *move.Entry
}

func (m fileMessage) append(b []byte) []byte {
	return move.AppendEntry(binary.AppendUvarint(b, m.id), m.entry)
}

func parseFile(b []byte) (m fileMessage, err error) {
	p := parser{b: b}
	m.id, m.entry = p.number(maxID), p.entry()
	return m, p.done()
}

// haveMessage is what the receiver has of a file; more: another one follows.
type haveMessage struct {
	id         uint64
	same, more bool
	leaves     []move.Leaf
	failed     string // why there will be no file
	sink       bool   // the sink takes nothing more
}

func flag(b []byte, on bool) []byte {
	if on {
		return append(b, 1)
	}
	return append(b, 0)
}

func (m haveMessage) append(b []byte) []byte {
	b = binary.AppendUvarint(b, m.id)
	b = flag(flag(flag(b, m.same), m.more), m.sink)
	b = appendText(b, m.failed)
	b = binary.AppendUvarint(b, uint64(len(m.leaves)))
	for _, l := range m.leaves {
		b = append(binary.AppendUvarint(b, uint64(l.Index)), l.Hash[:]...)
	}
	return b
}

func parseHave(b []byte) (m haveMessage, err error) {
	p := parser{b: b}
	m = haveMessage{id: p.number(maxID), same: p.flag(), more: p.flag(), sink: p.flag(), failed: p.text()}
	last := int64(-1)
	for range p.number(maxLeaves) {
		l := move.Leaf{Index: int64(p.number(maxBlock)), Hash: p.hash()}
		if l.Index <= last {
			p.bad = true
		}
		if p.bad {
			break
		}
		last = l.Index
		m.leaves = append(m.leaves, l)
	}
	return m, p.done()
}

// blockMessage is a block; its data follow the frame's meta.
type blockMessage struct {
	id uint64
	move.Block
}

func appendBlock(b []byte, k move.Block) []byte {
	b = binary.AppendUvarint(b, uint64(k.Index))
	b = append(b, k.Hash[:]...)
	b = append(b, k.Quick[:]...)
	b = binary.AppendUvarint(b, uint64(len(k.Extents)))
	at := k.Index * move.BlockSize
	for _, x := range k.Extents {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(x.Offset-at)), uint64(x.Length))
		at = x.Offset + x.Length
	}
	return b
}

// block reads a block but for its data, and says how many bytes those are.
func (p *parser) block() (k move.Block, data int64) {
	k = move.Block{Index: int64(p.number(maxBlock)), Hash: p.hash()}
	copy(k.Quick[:], p.bytes(uint64(len(k.Quick))))
	n := p.number(move.MaxExtents)
	if n > uint64(len(p.b)) { // each takes two bytes at least
		p.bad = true
		return k, 0
	}
	k.Extents = make([]move.Extent, 0, n)
	at := k.Index * move.BlockSize
	for range n {
		x := move.Extent{Offset: at + int64(p.number(move.BlockSize)), Length: int64(p.number(move.BlockSize))}
		if p.bad || data+x.Length > move.BlockSize {
			p.bad = true
			return k, 0
		}
		k.Extents = append(k.Extents, x)
		at, data = x.Offset+x.Length, data+x.Length
	}
	return k, data
}

func (m blockMessage) append(b []byte) []byte {
	return appendBlock(binary.AppendUvarint(b, m.id), m.Block)
}

// parseBlockFrame reads a block's meta; as many bytes of data have to follow as its extents
// have.
func parseBlockFrame(b []byte, data int) (m blockMessage, err error) {
	p := parser{b: b}
	m.id = p.number(maxID)
	k, n := p.block()
	m.Block = k
	if n != int64(data) {
		return m, errMessage
	}
	return m, p.done()
}

// packMessage is some files whole. After is how many entries on the control stream come
// before it: their directories are among those.
type packMessage struct {
	after uint64
	files []packed
}

type packed struct {
	entry *move.Entry
	block move.Block
}

func appendPacked(b []byte, f packed) []byte {
	return appendBlock(move.AppendEntry(b, f.entry), f.block)
}

// parsePack reads a pack's meta. The blocks' data are left to the caller: their lengths add
// up to data.
func parsePack(b []byte, data int) (m packMessage, err error) {
	p := parser{b: b}
	m.after = p.number(maxID)
	n := p.number(maxPacked)
	sum := int64(0)
	m.files = make([]packed, 0, min(n, uint64(len(p.b)))) // each takes more than a byte
	for range n {
		f := packed{entry: p.entry()}
		k, size := p.block()
		f.block = k
		if p.bad || f.entry.Kind != move.File || f.entry.Size > move.PackSize {
			return m, errMessage
		}
		sum += size
		m.files = append(m.files, f)
	}
	if sum != int64(data) {
		return m, errMessage
	}
	return m, p.done()
}

// commitMessage ends a file after so many blocks.
type commitMessage struct {
	id, blocks uint64
	root       move.Hash
}

func (m commitMessage) append(b []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(b, m.id), m.blocks), m.root[:]...)
}

func parseCommit(b []byte) (m commitMessage, err error) {
	p := parser{b: b}
	m = commitMessage{p.number(maxID), p.number(maxBlock), p.hash()}
	return m, p.done()
}

// Outcomes of a file or an entry.
const (
	outcomeGood    = iota
	outcomeFailed  // the receiver has reported it
	outcomeNoFirst // its first name is not there: to be sent as a file
	outcomeSink    // the sink takes nothing more
	outcomes
)

// doneMessage is what became of a file.
type doneMessage struct {
	id      uint64
	outcome uint64
	text    string
}

func (m doneMessage) append(b []byte) []byte {
	return appendText(binary.AppendUvarint(binary.AppendUvarint(b, m.id), m.outcome), m.text)
}

func parseDone(b []byte) (m doneMessage, err error) {
	p := parser{b: b}
	m = doneMessage{p.number(maxID), p.number(outcomes - 1), p.text()}
	return m, p.done()
}

// pairMessage is two numbers: a file and a block (nak), a file and whether to keep (abort),
// how many packs and files there were (finish).
type pairMessage struct{ a, b uint64 }

func (m pairMessage) append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, m.a), m.b)
}

func parsePair(b []byte) (m pairMessage, err error) {
	p := parser{b: b}
	m = pairMessage{p.number(maxID), p.number(maxID)}
	return m, p.done()
}

// parseStream reads the number of a data stream.
func parseStream(b []byte) (uint32, error) {
	p := parser{b: b}
	n := p.number(MaxStreams)
	if err := p.done(); err != nil || n == 0 {
		return 0, errMessage
	}
	return uint32(n), nil
}

func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), maxText)]
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// text is an error of the other end, as it may go to a terminal.
func (p *parser) text() string { return printable(string(p.bytes(p.number(maxText)))) }

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
}

// farError is an error that the other end told. One after which its sink takes nothing more says so itself.
type farError struct {
	text string
	sink bool
}

// Is implements what errors.Is asks for.
func (e *farError) Is(target error) bool { return e.sink && target == move.ErrSink }

// Error implements error.
func (e *farError) Error() string { return fmt.Sprintf("the other end: %s", e.text) }

func parseText(b []byte) (string, error) {
	p := parser{b: b}
	s := p.text()
	return s, p.done()
}
