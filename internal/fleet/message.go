package fleet

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// maxHead bounds the head of a message, in bytes.
const maxHead = 8 << 10

// maxPart bounds the body of one message: brokers take 1 MiB by default.
const maxPart = 768 << 10

// purposes of signatures.
const (
	forRequest = "request"
	forHost    = "host"
	forGrant   = "grant"
	forEnrol   = "enrol"
	forSite    = "site"
)

// request is the head of a request from a controller to a host.
type request struct {
	V       int       `json:"v"`
	Site    string    `json:"site"`
	To      string    `json:"to"`              // ID of the host
	Key     []byte    `json:"key"`             // of the controller
	Agent   string    `json:"agent,omitempty"` // the running agent that is meant; empty only for opening
	Session string    `json:"session"`
	Nonce   string    `json:"nonce,omitempty"` // the agent's, of this session
	ID      string    `json:"id"`              // of this request
	Method  string    `json:"method"`
	Expires time.Time `json:"expires,omitzero"` // by the host's clock
	Sum     []byte    `json:"sum"`              // SHA-256 of the body
	// Grant is by what right the signer asks; only for opening.
	Grant json.RawMessage `json:"grant,omitempty"`
}

// said is the head of a message from a host.
type said struct {
	V       int             `json:"v"`
	Site    string          `json:"site"`
	Key     []byte          `json:"key"`   // of the host; its hash is the ID
	Agent   string          `json:"agent"` // random, different after each start of the agent
	Stream  string          `json:"stream"`
	Seq     uint64          `json:"seq"` // within the stream, from 1
	At      time.Time       `json:"at"`  // by the host's clock
	Session string          `json:"session,omitempty"`
	Answers string          `json:"answers,omitempty"` // id of the request; empty: asked by nobody
	Refused bool            `json:"refused,omitempty"` // the body says why, in words
	Over    bool            `json:"over,omitempty"`    // there is no such session
	Part    int             `json:"part,omitempty"`    // from 0
	Parts   int             `json:"parts,omitempty"`   // 0: one
	Push    uint64          `json:"push,omitempty"`    // its number in the session, if it is kept until the asker has it
	From    uint64          `json:"from,omitempty"`    // the oldest number that is kept
	Sum     []byte          `json:"sum"`
	Grant   json.RawMessage `json:"grant,omitempty"` // what the site calls this host
}

var errFrame = errors.New("read message: not one of linerate's fleet")

// seal writes a message: the length of the head (2 bytes), head, signature, body. The head has
// to hold the sum of the body already.
func seal(k *Keys, purpose string, head any, body []byte) ([]byte, error) {
	h, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("write message: %w", err)
	}
	if len(h) > maxHead {
		return nil, fmt.Errorf("write message: a head of %d bytes, more than %d", len(h), maxHead)
	}
	out := make([]byte, 0, 2+len(h)+ed25519.SignatureSize+len(body))
	out = binary.BigEndian.AppendUint16(out, uint16(len(h)))
	out = append(out, h...)
	out = append(out, k.sig(purpose, h)...)
	return append(out, body...), nil
}

// frame is a message taken apart; its signature is not verified.
type frame struct{ head, sig, body []byte }

func parseFrame(msg []byte) (frame, error) {
	if len(msg) < 2 {
		return frame{}, errFrame
	}
	n := int(binary.BigEndian.Uint16(msg))
	if n > maxHead || len(msg) < 2+n+ed25519.SignatureSize {
		return frame{}, errFrame
	}
	rest := msg[2+n:]
	return frame{msg[2 : 2+n], rest[:ed25519.SignatureSize], rest[ed25519.SignatureSize:]}, nil
}

func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func sumOf(body []byte) []byte {
	s := sha256.Sum256(body)
	return s[:]
}

// openRequest reads a request and verifies that the owner of the key in it has signed it. Whether that
// key may ask is decided by the session.
func openRequest(msg []byte) (request, frame, error) {
	f, err := parseFrame(msg)
	if err != nil {
		return request{}, f, err
	}
	var r request
	if err := strict(f.head, &r); err != nil {
		return r, f, fmt.Errorf("%w: %s", errFrame, printable(err.Error()))
	}
	if r.V != 1 {
		return r, f, fmt.Errorf("read message: of version %d, and this linerate knows 1", r.V)
	}
	if !bytes.Equal(r.Sum, sumOf(f.body)) {
		return r, f, errors.New("read message: its body was changed on the way")
	}
	if !verify(r.Key, forRequest, f.head, f.sig) {
		return r, f, errors.New("read message: the signature is not of the key in it")
	}
	return r, f, nil
}

// openSaid reads a message from a host and verifies that the host has signed it, by the key whose hash is
// the ID in the subject.
func openSaid(msg []byte, site, id, stream string) (said, []byte, error) {
	s, f, err := readSaid(msg, site, id, stream)
	if err == nil {
		err = s.prove(f, id)
	}
	return s, f.body, err
}

// readSaid reads a message from a host; its signature is not verified.
func readSaid(msg []byte, site, id, stream string) (said, frame, error) {
	f, err := parseFrame(msg)
	if err != nil {
		return said{}, f, err
	}
	var s said
	if err := strict(f.head, &s); err != nil {
		var v struct{ V int }
		if json.Unmarshal(f.head, &v) == nil && v.V > 1 {
			return s, f, fmt.Errorf("read message: host %s speaks version %d of the fleet's messages, this linerate 1: use the newer one here", id, v.V)
		}
		return s, f, fmt.Errorf("%w: %s", errFrame, printable(err.Error()))
	}
	switch {
	case s.V != 1:
		return s, f, fmt.Errorf("read message: host %s speaks version %d of the fleet's messages, this linerate 1", id, s.V)
	case s.Site != site || s.Stream != stream:
		return s, f, errors.New("read message: it was made for another place")
	}
	return s, f, nil
}

// prove verifies that the host with this ID has signed a message.
func (s said) prove(f frame, id string) error {
	switch {
	case IDOf(s.Key) != id:
		return fmt.Errorf("read message: signed by %s, not by %s", IDOf(s.Key), id)
	case !verify(s.Key, forHost, f.head, f.sig):
		return errors.New("read message: the signature is not the host's")
	case !bytes.Equal(s.Sum, sumOf(f.body)):
		return errors.New("read message: its body was changed on the way")
	}
	return nil
}
