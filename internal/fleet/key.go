package fleet

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/nats-io/nkeys"
)

// seedSize is the length of a secret, in bytes.
const seedSize = 32

// Keys are what one secret gives: a key that signs linerate's messages, and another that proves
// who is there to a broker. A broker chooses what the second signs; it must not be the first.
type Keys struct {
	seed []byte
	sign ed25519.PrivateKey
	nats nkeys.KeyPair
}

// NewKeys draws a secret.
func NewKeys() (*Keys, error) {
	seed := make([]byte, seedSize)
	if _, err := rand.Read(seed); err != nil {
		return nil, fmt.Errorf("draw a key: %w", err)
	}
	return keysOf(seed)
}

// KeysOf are the keys that a secret gives.
func KeysOf(seed []byte) (*Keys, error) { return keysOf(seed) }

// Seed is the secret.
func (k *Keys) Seed() []byte { return k.seed }

func keysOf(seed []byte) (*Keys, error) {
	if len(seed) != seedSize {
		return nil, fmt.Errorf("read key: %d bytes, want %d", len(seed), seedSize)
	}
	part := func(what string) ([]byte, error) {
		return hkdf.Key(sha256.New, seed, nil, "linerate-fleet 1 "+what, ed25519.SeedSize)
	}
	s, err := part("messages")
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	n, err := part("broker")
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	k := &Keys{seed: seed, sign: ed25519.NewKeyFromSeed(s)}
	if k.nats, err = nkeys.FromRawSeed(nkeys.PrefixByteUser, n); err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return k, nil
}

// Public is the key that others verify messages with.
func (k *Keys) Public() []byte { return k.sign.Public().(ed25519.PublicKey) }

// ID is who signs with these keys.
func (k *Keys) ID() string { return IDOf(k.Public()) }

// User is the broker's name for who has these keys.
func (k *Keys) User() (string, error) { return k.nats.PublicKey() }

// IDOf is the ID of who signs with a key: 120 bits of its SHA-256, base32 in small letters.
func IDOf(public []byte) string {
	sum := sha256.Sum256(public)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]))
}

// isID tells whether s has the form of an ID.
func isID(s string) bool {
	return len(s) == 24 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// random is n random bytes in base32, for ids that nobody may guess.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: it ends the process if the kernel has no randomness
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// signed has the purpose in what is signed, so that no message can stand for one of another kind.
func signed(purpose string, text []byte) []byte {
	return append([]byte("linerate-fleet 1 "+purpose+"\n"), text...)
}

func (k *Keys) sig(purpose string, text []byte) []byte {
	return ed25519.Sign(k.sign, signed(purpose, text))
}

func verify(public []byte, purpose string, text, sig []byte) bool {
	return len(public) == ed25519.PublicKeySize && ed25519.Verify(public, signed(purpose, text), sig)
}
