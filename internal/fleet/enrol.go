package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"linerate/internal/failure"
)

// Entry is what a newcomer states about itself when it asks to be enrolled. It is signed twice: by
// the token's key, and in Proof by the host's own.
type Entry struct {
	V     int    `json:"v"`
	Site  string `json:"site"`
	Token []byte `json:"token"` // public key of the token
	Key   []byte `json:"key"`   // of the host
	User  string `json:"user"`  // the host's name at brokers
	Name  string `json:"name"`  // what the host calls itself
	Boot  string `json:"boot"`
	Build string `json:"build"`
	Proof []byte `json:"proof"`
}

// proven is what the host's own key signs: that it asks to be admitted by this token.
func (e Entry) proven() []byte {
	return bytes.Join([][]byte{[]byte(e.Site), e.Token, []byte(e.User), []byte(e.Name)}, []byte{'\n'})
}

// ID is that of the host.
func (e Entry) ID() string { return IDOf(e.Key) }

// TokenID is that of the token.
func (e Entry) TokenID() string { return IDOf(e.Token) }

// told is the head of the answer to a newcomer. The body is a Credential without the seed, or the reason
// for a refusal.
type told struct {
	V       int    `json:"v"`
	Site    string `json:"site"`
	To      string `json:"to"` // ID of the host
	Refused bool   `json:"refused,omitempty"`
	Sum     []byte `json:"sum"`
}

// RefusedError is why a site did not enrol a host.
type RefusedError struct{ Site, Reason string }

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("site %s refuses to enrol this host: %s", e.Site, e.Reason)
}

// Times of an enrolment.
const (
	enrolTime  = 60 * time.Second
	enrolAgain = 3 * time.Second
)

// Enrol asks the site of a token to admit a host with the keys k, and returns the host's credential.
// Repeated with the same token and keys it gives the same one, since an answer can be lost.
func Enrol(ctx context.Context, token Credential, k *Keys, e Entry, now time.Time, more ...nats.Option) (Credential, error) {
	t, err := token.Keys()
	if err != nil {
		return Credential{}, fmt.Errorf("read token: %w", err)
	}
	g, err := openGrant(token.Grant, token.Root, token.Site)
	if err != nil {
		return Credential{}, fmt.Errorf("read token: %w", err)
	}
	if g.Role != Newcomer {
		return Credential{}, fmt.Errorf("read token: it is a credential of a %s, no token", g.Role)
	}
	ask, err := e.ask(token.Site, t, k)
	if err != nil {
		return Credential{}, err
	}
	c, err := token.ask(ctx, t.ID(), k, ask, more)
	var no *RefusedError
	if err != nil && !errors.As(err, &no) && !g.Expires.IsZero() && now.After(g.Expires) {
		err = fmt.Errorf("the token expired at %s, and this host's clock says %s (%w)", g.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), err)
		err = failure.Advise(err, failure.NewToken)
	}
	return c, err
}

// ask is the message by which a host asks to be enrolled.
func (e Entry) ask(site string, token, k *Keys) ([]byte, error) {
	user, err := k.User()
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	e.V, e.Site, e.Token, e.Key, e.User = 1, site, token.Public(), k.Public(), user
	e.Proof = k.sig(forEnrol, e.proven())
	return seal(token, forEnrol, e, nil)
}

// ask sends the message until the site has answered.
func (c Credential) ask(ctx context.Context, token string, k *Keys, msg []byte, more []nats.Option) (Credential, error) {
	nc, err := c.Connect("linerate newcomer", more...)
	if err != nil {
		return Credential{}, fmt.Errorf("%w; a token is good for as many hosts as it was made for, for its own site, and until it expires", err)
	}
	defer nc.Close()
	at := prefix + c.Site + ".enrol." + token
	answers := make(chan *nats.Msg, 256) // the answers to others with the same token come here too
	if _, err := nc.ChanSubscribe(at+".answer", answers); err != nil {
		return Credential{}, fmt.Errorf("listen for site %s: %w", c.Site, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, enrolTime, fmt.Errorf("site %s did not answer within %s: does its desk run there?", c.Site, enrolTime))
	defer cancel()
	again := time.NewTicker(enrolAgain)
	defer again.Stop()
	for {
		if err := nc.Publish(at+".ask", msg); err != nil && !errors.Is(err, nats.ErrReconnectBufExceeded) {
			return Credential{}, fmt.Errorf("ask site %s: %w", c.Site, err)
		}
		select {
		case m := <-answers:
			if got, mine, err := c.answered(m.Data, k); mine {
				return got, err
			}
		case <-again.C:
		case <-ctx.Done():
			return Credential{}, context.Cause(ctx)
		}
	}
}

// answered reads an answer; mine reports whether it is from the site and for this host.
func (c Credential) answered(msg []byte, k *Keys) (got Credential, mine bool, err error) {
	f, err := parseFrame(msg)
	if err != nil {
		return got, false, err
	}
	var h told
	if err := strict(f.head, &h); err != nil {
		return got, false, err
	}
	if h.V != 1 || h.Site != c.Site || h.To != k.ID() || !verify(c.Root, forSite, f.head, f.sig) || !bytes.Equal(h.Sum, sumOf(f.body)) {
		return got, false, errFrame
	}
	if h.Refused {
		return got, true, &RefusedError{c.Site, printable(string(f.body))}
	}
	if err := strict(f.body, &got); err != nil {
		return got, true, fmt.Errorf("read credential: %s", printable(err.Error()))
	}
	got.Seed = k.seed
	return got, true, nil
}

// openEntry reads a newcomer's request and verifies that it has the token's key and its own.
func openEntry(msg []byte, site, token string) (Entry, error) {
	f, err := parseFrame(msg)
	if err != nil {
		return Entry{}, err
	}
	var e Entry
	if err := strict(f.head, &e); err != nil {
		var v struct {
			V   int    `json:"v"`
			Key []byte `json:"key"`
		}
		if json.Unmarshal(f.head, &v) == nil && v.V > 1 {
			return Entry{V: v.V, Key: v.Key}, fmt.Errorf("it speaks version %d of the fleet's messages, and this site 1: upgrade the site's linerate first", v.V)
		}
		return e, fmt.Errorf("%w: %s", errFrame, printable(err.Error()))
	}
	switch {
	case e.V != 1:
		return e, fmt.Errorf("it speaks version %d of the fleet's messages, and this site 1: upgrade the site's linerate first", e.V)
	case e.Site != site || e.TokenID() != token || !verify(e.Token, forEnrol, f.head, f.sig):
		return Entry{}, errors.New("read message: not signed by the token that it came with")
	case !verify(e.Key, forEnrol, e.proven(), e.Proof):
		return Entry{}, errors.New("read message: not signed by the host's own key")
	}
	return e, nil
}

// Admit makes the credential of a host that was enrolled; the seed stays with the host.
func (m *Material) Admit(e Entry, name string, labels map[string]string) (Credential, error) {
	return m.admit(Agent, name, labels, e.Key, e.User, time.Time{})
}
