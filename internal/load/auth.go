package load

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The proof, in three messages of fixed length:
//
//	sink → source  magic, sink's nonce
//	source → sink  magic, source's nonce, stream number, MAC("source")
//	sink → source  MAC("sink")
//
// Each MAC is HMAC-SHA256 under the token over a label that names protocol
// and prover, both nonces and the stream number: neither side's proof can be
// reflected, replayed or used for another stream.
const (
	magic        = "LRLOAD1\n"
	nonceLen     = 32
	macLen       = sha256.Size
	challengeLen = len(magic) + nonceLen
	responseLen  = len(magic) + nonceLen + 4 + macLen
)

// busy is what a sink says to a connection that gives way to others, at any point of the
// proof. It is no proof of anything: the source only words its error by it.
const busy = "LRBUSY!\n"

var (
	errBusy       = errors.New("the sink let go of this connection: more come to it than it holds at once, and have not proven that they are of the run")
	errNotOurs    = errors.New("peer does not speak the linerate load protocol")
	errWrongProof = errors.New("peer does not know the token of this run")
)

type nonce [nonceLen]byte

type response struct {
	nonce  nonce
	stream uint32
	mac    [macLen]byte
}

func parseChallenge(b []byte) (nonce, error) {
	var n nonce
	if len(b) != challengeLen || string(b[:len(magic)]) != magic {
		return n, errNotOurs
	}
	copy(n[:], b[len(magic):])
	return n, nil
}

func appendChallenge(b []byte, n nonce) []byte {
	return append(append(b, magic...), n[:]...)
}

func parseResponse(b []byte) (response, error) {
	var r response
	if len(b) != responseLen || string(b[:len(magic)]) != magic {
		return r, errNotOurs
	}
	b = b[len(magic):]
	copy(r.nonce[:], b)
	r.stream = binary.BigEndian.Uint32(b[nonceLen:])
	copy(r.mac[:], b[nonceLen+4:])
	return r, nil
}

func appendResponse(b []byte, r response) []byte {
	b = append(append(b, magic...), r.nonce[:]...)
	b = binary.BigEndian.AppendUint32(b, r.stream)
	return append(b, r.mac[:]...)
}

// prove computes the MAC by which role shows that it knows the token.
func prove(t Token, role Role, sink, source nonce, stream uint32) [macLen]byte {
	h := hmac.New(sha256.New, t[:])
	h.Write([]byte("linerate load 1 proof of "))
	h.Write([]byte(role))
	h.Write([]byte{0})
	h.Write(sink[:])
	h.Write(source[:])
	h.Write(binary.BigEndian.AppendUint32(nil, stream))
	var mac [macLen]byte
	h.Sum(mac[:0])
	return mac
}

// proveAsSource runs the source's side of the proof over c.
func proveAsSource(c io.ReadWriter, rand io.Reader, t Token, stream uint32) error {
	buf := make([]byte, challengeLen)
	if n, err := io.ReadFull(c, buf); err != nil {
		if string(buf[:n]) == busy {
			return errBusy
		}
		return fmt.Errorf("read challenge: %w", err)
	}
	theirs, err := parseChallenge(buf)
	if err != nil {
		return err
	}
	r := response{stream: stream}
	if _, err := io.ReadFull(rand, r.nonce[:]); err != nil {
		return fmt.Errorf("draw nonce: %w", err)
	}
	r.mac = prove(t, Source, theirs, r.nonce, stream)
	if _, err := c.Write(appendResponse(nil, r)); err != nil {
		return fmt.Errorf("send proof: %w", err)
	}
	var mac [macLen]byte
	if n, err := io.ReadFull(c, mac[:]); err != nil {
		if string(mac[:n]) == busy {
			return errBusy
		}
		return fmt.Errorf("read proof of sink: %w", err)
	}
	want := prove(t, Sink, theirs, r.nonce, stream)
	if !hmac.Equal(mac[:], want[:]) {
		return errWrongProof
	}
	return nil
}

// challenge runs the sink's side up to the source's proof and returns the
// stream it is for and the sink's own proof, to be sent once a place is free.
func challenge(c io.ReadWriter, rand io.Reader, t Token) (stream uint32, proof [macLen]byte, err error) {
	var ours nonce
	if _, err := io.ReadFull(rand, ours[:]); err != nil {
		return 0, proof, fmt.Errorf("draw nonce: %w", err)
	}
	if _, err := c.Write(appendChallenge(nil, ours)); err != nil {
		return 0, proof, fmt.Errorf("send challenge: %w", err)
	}
	buf := make([]byte, responseLen)
	// The first bytes are looked at before waiting for the rest, so that a
	// stray client is let go without waiting for more of it.
	if _, err := io.ReadFull(c, buf[:len(magic)]); err != nil {
		return 0, proof, fmt.Errorf("read proof of source: %w", err)
	}
	if string(buf[:len(magic)]) != magic {
		return 0, proof, errNotOurs
	}
	if _, err := io.ReadFull(c, buf[len(magic):]); err != nil {
		return 0, proof, fmt.Errorf("read proof of source: %w", err)
	}
	r, err := parseResponse(buf)
	if err != nil {
		return 0, proof, err
	}
	want := prove(t, Source, ours, r.nonce, r.stream)
	if !hmac.Equal(r.mac[:], want[:]) {
		return 0, proof, errWrongProof
	}
	return r.stream, prove(t, Sink, ours, r.nonce, r.stream), nil
}
