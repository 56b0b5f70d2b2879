package wire

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/crypto/chacha20poly1305"
)

// After its handshake TLS is left: its records of 16 KiB cost more than the encryption. A
// record here is
//
//	0 (1)  length of the plain bytes (3)  sealed bytes  tag (16)
//
// sealed by AES-128-GCM, or ChaCha20-Poly1305 where the handshake chose that, with the first
// 4 bytes as additional data. The nonce is the record's number, counted from 0 in each
// direction, and is not sent. docs/security.md has the construction and its limits.
const (
	recordHead = 4
	recordTag  = 16
	recordSize = 1 << 20 // of the plain bytes, at most

	// A key seals so many records, 256 GiB at most: two ciphertexts of AES-GCM then tell
	// apart from random bytes with a probability below 2^-60 (2^34 blocks; RFC 8446, 5.5 has
	// TLS stop at 2^34.5).
	recordsPerKey = 1 << 18
)

// suite is how records are sealed.
type suite struct {
	keySize int
	aead    func(key []byte) (cipher.AEAD, error)
}

// suiteOf is the suite of the handshake: both ends' hardware decided there.
func suiteOf(tlsSuite uint16) suite {
	if tlsSuite == tls.TLS_CHACHA20_POLY1305_SHA256 {
		return suite{chacha20poly1305.KeySize, chacha20poly1305.New}
	}
	const aes128 = 16
	return suite{aes128, func(key []byte) (cipher.AEAD, error) {
		b, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		return cipher.NewGCM(b)
	}}
}

// sealer is the state of one direction.
type sealer struct {
	suite  suite
	key    []byte
	aead   cipher.AEAD
	number uint64
	perKey uint64
	nonce  [chacha20poly1305.NonceSize]byte
	err    error // after which nothing goes on
}

func newSealer(s suite, key []byte) (*sealer, error) {
	a, err := s.aead(key)
	return &sealer{suite: s, key: key, aead: a, perKey: recordsPerKey}, err
}

// next is the nonce of the next record; it takes a new key when one has sealed enough.
func (s *sealer) next() ([]byte, error) {
	if s.number > 0 && s.number%s.perKey == 0 {
		key, err := hkdf.Expand(sha256.New, s.key, "linerate copy 2 next key", s.suite.keySize)
		if err != nil {
			return nil, err
		}
		clear(s.key)
		s.key = key
		if s.aead, err = s.suite.aead(key); err != nil {
			return nil, err
		}
	}
	binary.BigEndian.PutUint64(s.nonce[len(s.nonce)-8:], s.number)
	s.number++
	return s.nonce[:], nil
}

// records is a connection whose bytes are sealed. One goroutine may read, one write. An error
// in the middle of a record is for good.
type records struct {
	net.Conn
	body      *bulk // what comes
	in        *bufio.Reader
	out, from *sealer
	sealed    []byte // the record that is being sent
	taken     []byte // the one that was received last
	plain     []byte // what of it was not read yet
}

func newRecords(c net.Conn, s suite, sendKey, recvKey []byte) (*records, error) {
	out, err1 := newSealer(s, sendKey)
	in, err2 := newSealer(s, recvKey)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("make keys: %w", err)
	}
	body := newBulk(c)
	return &records{Conn: c, body: body, in: bufio.NewReaderSize(body, 32<<10), out: out, from: in}, nil
}

// Write seals b in records of at most recordSize.
func (r *records) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		if r.out.err != nil {
			return n, r.out.err
		}
		piece := b[:min(len(b), recordSize)]
		if r.sealed, r.out.err = r.out.seal(r.sealed[:0], piece); r.out.err == nil {
			_, r.out.err = r.Conn.Write(r.sealed)
		}
		if r.out.err != nil {
			return n, r.out.err
		}
		n, b = n+len(piece), b[len(piece):]
	}
	return n, nil
}

// seal appends the record of plain bytes to b.
func (s *sealer) seal(b, plain []byte) ([]byte, error) {
	nonce, err := s.next()
	if err != nil {
		return b, err
	}
	at := len(b)
	if need := at + recordHead + len(plain) + recordTag; cap(b) < need {
		b = append(make([]byte, 0, need), b...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(plain)))
	return s.aead.Seal(b, nonce, plain, b[at:]), nil
}

// Read implements net.Conn. The end of the connection is always io.ErrUnexpectedEOF: a good
// end is one of the frames within.
func (r *records) Read(b []byte) (int, error) {
	for len(r.plain) == 0 {
		if r.from.err != nil {
			return 0, r.from.err
		}
		n, err := r.open(b)
		if r.from.err = err; err != nil {
			return 0, err
		}
		if n > 0 {
			return n, nil
		}
	}
	n := copy(b, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// open receives the next record, into b where that has the room, else into r.plain.
func (r *records) open(b []byte) (n int, err error) {
	var head [recordHead]byte
	size, err := r.head(head[:])
	if err != nil {
		return 0, err
	}
	if need := size + recordTag; cap(r.taken) < need {
		r.taken = make([]byte, need)
	}
	r.taken = r.taken[:size+recordTag]
	r.body.expect(len(r.taken) - r.in.Buffered())
	if _, err := io.ReadFull(r.in, r.taken); err != nil {
		return 0, unexpected(err)
	}
	nonce, err := r.from.next()
	if err != nil {
		return 0, err
	}
	direct := len(b) >= size
	into := r.taken[:0]
	if direct {
		into = b[:0]
	}
	plain, err := r.from.aead.Open(into, nonce, r.taken, head[:])
	if err != nil {
		return 0, errFrame
	}
	if direct {
		return size, nil
	}
	r.plain = plain
	return 0, nil
}

// head reads a record's head. A whole record of no bytes is sent by nobody.
func (r *records) head(head []byte) (size int, err error) {
	const alert = 21 // RFC 8446, 5.1
	if _, err := io.ReadFull(r.in, head); err != nil {
		return 0, unexpected(err)
	}
	n := binary.BigEndian.Uint32(head)
	switch {
	case head[0] == alert && r.from.number == 0: // the peer has finished its handshake otherwise
		return 0, errors.New("the other end refuses the handshake of this one: it knows another key, or somebody is on the way")
	case n == 0:
		return 0, errFrame
	case n > recordSize:
		return 0, errBound
	}
	return int(n), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// handshaking hands a TLS handshake its records and not one byte after them: what follows the
// last one is no TLS.
type handshaking struct {
	net.Conn
	head []byte // of the present record, which was not handed over yet
	left int    // of its body
}

// Read implements net.Conn.
func (h *handshaking) Read(b []byte) (int, error) {
	const head = 5 // RFC 8446, 5.1: type (1), version (2), length (2)
	if len(h.head) == 0 && h.left == 0 {
		h.head = make([]byte, head)
		if _, err := io.ReadFull(h.Conn, h.head); err != nil {
			return 0, err
		}
		h.left = int(binary.BigEndian.Uint16(h.head[3:]))
	}
	if len(h.head) > 0 {
		n := copy(b, h.head)
		h.head = h.head[n:]
		return n, nil
	}
	n, err := h.Conn.Read(b[:min(len(b), h.left)])
	h.left -= n
	return n, err
}
