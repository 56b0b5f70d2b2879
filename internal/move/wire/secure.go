package wire

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"time"

	"github.com/zeebo/blake3"
)

// Pin is the SHA-256 of the public key (SubjectPublicKeyInfo) of an end's certificate.
type Pin [sha256.Size]byte

// MarshalText implements encoding.TextMarshaler: hexadecimal.
func (p Pin) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(p[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Pin) UnmarshalText(text []byte) error { return unhex(p[:], text, "pin") }

// Secret is what both ends of a run know and nobody else: 32 random bytes, drawn anew for
// each run. It travels over the agents' channels.
type Secret [32]byte

// MarshalText implements encoding.TextMarshaler: hexadecimal.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(s[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Secret) UnmarshalText(text []byte) error { return unhex(s[:], text, "secret") }

// MarshalText implements encoding.TextMarshaler: hexadecimal.
func (r Run) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(r[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Run) UnmarshalText(text []byte) error { return unhex(r[:], text, "run") }

func unhex(into, text []byte, what string) error {
	if len(text) != hex.EncodedLen(len(into)) {
		return fmt.Errorf("read %s: %d letters, want %d", what, len(text), hex.EncodedLen(len(into)))
	}
	if _, err := hex.Decode(into, text); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

// Draw fills a run's number and secret.
func Draw() (r Run, s Secret, err error) {
	_, rerr := rand.Read(r[:])
	_, serr := rand.Read(s[:])
	return r, s, errors.Join(rerr, serr)
}

// Identity is one end's key and certificate, made for one run and kept in memory only.
type Identity struct {
	cert tls.Certificate
	pin  Pin
}

// NewIdentity makes one. The certificate names nobody: its key's hash is what counts.
func NewIdentity() (*Identity, error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for the run: %w", err)
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "linerate copy"},
		// Nobody looks at the times: a host whose clock is a year off copies all the same.
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, pub, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the run: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the run: %w", err)
	}
	return &Identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pinOf(leaf)}, nil
}

// Pin is what the other end is told of this one.
func (i *Identity) Pin() Pin { return i.pin }

func pinOf(c *x509.Certificate) Pin { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// Keys are what one end needs to tell the run's other end from everybody else.
type Keys struct {
	Run    Run
	Secret Secret
	Self   *Identity
	Peer   Pin
	// Plain: no TLS. Frames are authenticated all the same, and everybody on the way can
	// read the data.
	Plain bool
}

var errPin = errors.New("its certificate is not the one that was made for this run")

// config is TLS for either side. The chain is not verified because there is none: the key
// itself is compared with its pin.
func (k *Keys) config() *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{k.Self.cert}, MinVersion: tls.VersionTLS13, MaxVersion: tls.VersionTLS13,
		SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true,
		ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) != 1 || s.DidResume {
				return errPin
			}
			pin := pinOf(s.PeerCertificates[0])
			if subtle.ConstantTimeCompare(pin[:], k.Peer[:]) != 1 {
				return errPin
			}
			return nil
		},
	}
}

// Bounds of what comes before the first frame: helloTime until whoever dials has named the run, and
// handshakeTime for all of it at an end that knows that it is of the run. That is long: where other
// work takes the CPU of a host, one end takes the stream for open, and sends, before the other has
// come to prove it; if that gave up, the copy would end. No more than maxNamed have it at a time.
const (
	helloTime     = 10 * time.Second
	handshakeTime = time.Minute
)

// Dial makes stream n of the run of a connection that this end has dialled. It owns c.
func (k *Keys) Dial(ctx context.Context, c net.Conn, n uint32) (*Conn, error) {
	out, err := k.within(ctx, c, handshakeTime, func() (*Conn, error) {
		if _, err := c.Write(hello{k.Plain, n, k.Run}.append(nil)); err != nil {
			return nil, err
		}
		return k.open(ctx, c, n, true)
	})
	if err != nil {
		return nil, fmt.Errorf("open stream %d to %s: %w", n, c.RemoteAddr(), err)
	}
	return out, nil
}

// Accept makes a stream of a connection that the other end has dialled. It owns c.
func (k *Keys) Accept(ctx context.Context, c net.Conn) (*Conn, error) {
	return k.accept(ctx, c, make(chan struct{}, 1))
}

// accept has a connection that names the run wait longer for its proof, while there is room for it among
// those that do: whoever has seen the run's number can name it.
func (k *Keys) accept(ctx context.Context, c net.Conn, long chan struct{}) (*Conn, error) {
	out, err := k.within(ctx, c, helloTime, func() (*Conn, error) {
		h, err := readHello(c)
		switch {
		case err != nil:
			return nil, err
		case subtle.ConstantTimeCompare(h.run[:], k.Run[:]) != 1:
			return nil, errOther
		case h.plain != k.Plain:
			return nil, errors.New("one end is to encrypt and the other is not")
		}
		select {
		case long <- struct{}{}:
			defer func() { <-long }()
			if err := c.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
				return nil, err
			}
		default: // it has what is left of helloTime
		}
		return k.open(ctx, c, h.stream, false)
	})
	if err != nil {
		return nil, fmt.Errorf("let %s in: %w", c.RemoteAddr(), err)
	}
	return out, nil
}

// within bounds a handshake; c is closed where that fails, and where ctx ends.
func (k *Keys) within(ctx context.Context, c net.Conn, long time.Duration, f func() (*Conn, error)) (*Conn, error) {
	err := c.SetDeadline(time.Now().Add(long))
	var out *Conn
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // what waits on it returns
		out, err = f()
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = c.Close() // the handshake's error is what counts
		return nil, err
	}
	return out, nil
}

// open proves both ends to each other and derives the keys of the frames.
func (k *Keys) open(ctx context.Context, c net.Conn, n uint32, dialled bool) (*Conn, error) {
	if k.Plain {
		bind, err := k.prove(c, n, dialled)
		if err != nil {
			return nil, err
		}
		return k.conn(c, c, n, dialled, bind), nil
	}
	t := tls.Server(&handshaking{Conn: c}, k.config())
	if dialled {
		t = tls.Client(&handshaking{Conn: c}, k.config())
	}
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	s := t.ConnectionState()
	bind, err := s.ExportKeyingMaterial("EXPERIMENTAL linerate copy 2 frames", nil, 32)
	if err != nil {
		return nil, fmt.Errorf("derive the keys of the frames: %w", err)
	}
	r, err := k.records(c, s, n, dialled)
	if err != nil {
		return nil, err
	}
	return k.conn(r, c, n, dialled, bind), nil
}

// records leaves TLS: what follows its handshake is sealed by keys that it exports for each
// direction (RFC 8446, 7.5), with the run's secret and the stream as context.
func (k *Keys) records(c net.Conn, s tls.ConnectionState, n uint32, dialled bool) (*records, error) {
	how := suiteOf(s.CipherSuite)
	context := append(append([]byte(nil), k.Secret[:]...), hello{k.Plain, n, k.Run}.append(nil)...)
	to, err1 := s.ExportKeyingMaterial("EXPERIMENTAL linerate copy 2 records dialled", context, how.keySize)
	from, err2 := s.ExportKeyingMaterial("EXPERIMENTAL linerate copy 2 records accepted", context, how.keySize)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("derive the keys of the records: %w", err)
	}
	if !dialled {
		to, from = from, to
	}
	return newRecords(c, how, to, from)
}

// conn frames an open stream.
func (k *Keys) conn(t, raw net.Conn, n uint32, dialled bool, bind []byte) *Conn {
	to, from := k.frameKey(n, "dialled", bind), k.frameKey(n, "accepted", bind)
	if !dialled {
		to, from = from, to
	}
	return newConn(t, raw, n, to, from)
}

// frameKey is the key under which the end that dialled, or the other, authenticates the
// frames that it sends on a stream.
func (k *Keys) frameKey(n uint32, by string, bind []byte) (key [32]byte) {
	material := append(append([]byte(nil), k.Secret[:]...), hello{k.Plain, n, k.Run}.append(nil)...)
	material = append(append(material, by...), 0)
	blake3.DeriveKey("linerate copy 1 2026 frames of one direction of one stream", append(material, bind...), key[:])
	return key
}

const nonceSize = 32

// prove is what stands in for TLS where data go plain: each end sends a nonce, and then a
// proof over both nonces that it knows the secret. The nonces bind the frames' keys to this
// one connection.
func (k *Keys) prove(c io.ReadWriter, n uint32, dialled bool) (bind []byte, err error) {
	var ours, theirs [nonceSize]byte
	if _, err := rand.Read(ours[:]); err != nil {
		return nil, fmt.Errorf("draw a nonce: %w", err)
	}
	send := func() error { _, err := c.Write(ours[:]); return err }
	read := func() error { _, err := io.ReadFull(c, theirs[:]); return err }
	if err := inTurn(dialled, send, read); err != nil {
		return nil, err
	}
	bind = append(append(bind, ours[:]...), theirs[:]...)
	if !dialled {
		bind = append(append(bind[:0], theirs[:]...), ours[:]...)
	}
	proof := func(by string) (p [32]byte) { return k.frameKey(n, "proof of "+by, bind) }
	mine, want := proof("dialled"), proof("accepted")
	if !dialled {
		mine, want = want, mine
	}
	check := func() error {
		var got [32]byte
		if _, err := io.ReadFull(c, got[:]); err != nil {
			return err
		}
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return errors.New("it does not know the secret of this run")
		}
		return nil
	}
	return bind, inTurn(dialled, func() error { _, err := c.Write(mine[:]); return err }, check)
}

// inTurn has who dialled send first; the other proves nothing to one who has not.
func inTurn(dialled bool, send, read func() error) error {
	if !dialled {
		send, read = read, send
	}
	if err := send(); err != nil {
		return err
	}
	return read()
}
