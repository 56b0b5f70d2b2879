package load

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestProofBindsEverything(t *testing.T) {
	a, b := nonce{1}, nonce{2}
	base := prove(testToken(1), Source, a, b, 0)
	for name, other := range map[string][macLen]byte{
		"token":  prove(testToken(2), Source, a, b, 0),
		"role":   prove(testToken(1), Sink, a, b, 0),
		"nonces": prove(testToken(1), Source, b, a, 0),
		"stream": prove(testToken(1), Source, a, b, 1),
	} {
		if other == base {
			t.Errorf("the proof does not depend on the %s", name)
		}
	}
}

func TestTokenNeverPrints(t *testing.T) {
	tok := testToken(7)
	spec := Spec{Token: tok}
	secret := hex.EncodeToString(tok[:])
	for _, s := range []string{fmt.Sprint(tok), fmt.Sprintf("%v %+v %#v %s", spec, spec, spec, tok)} {
		if strings.Contains(s, secret[:16]) || strings.Contains(s, "7, 8, 9") || strings.Contains(s, "0x7, 0x8") {
			t.Errorf("the token shows in %q", s)
		}
	}
}

func TestWrongTokenIsRefusedAndTheRightOneStillGetsIn(t *testing.T) {
	sink := testSpec(Sink)
	k := startWorker(t, sink, defaultLimits())
	addr := k.want(Listening).Addr
	bad := testSpec(Source)
	bad.Peer, bad.Token = addr, testToken(99)
	b := startWorker(t, bad, defaultLimits())
	b.want(Failed)
	wantError(t, b.end(), "tokens differ")
	k.finishWith(addr)
	if res := k.result(); res.Refused == 0 {
		t.Error("refused connections were not counted")
	}
}

// finishWith lets a right source run against the sink k.
func (p *proc) finishWith(addr netip.AddrPort) {
	p.t.Helper()
	good := testSpec(Source)
	good.Peer = addr
	s := startWorker(p.t, good, defaultLimits())
	p.want(Connected)
	s.want(Connected)
	p.begin()
	s.begin()
	s.result()
}

func TestSourceRefusesASinkWithoutTheToken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	spec := testSpec(Source)
	spec.Peer = netip.MustParseAddrPort(ln.Addr().String())
	s := startWorker(t, spec, defaultLimits())
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The impostor knows the protocol and sends the source's own proof back.
	if _, err := c.Write(appendChallenge(nil, nonce{3})); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, responseLen)
	if _, err := io.ReadFull(c, buf); err != nil {
		t.Fatal(err)
	}
	r, err := parseResponse(buf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(r.mac[:]); err != nil {
		t.Fatal(err)
	}
	s.want(Failed)
	wantError(t, s.end(), "does not know the token")
}

func TestSilentPeerIsLetGo(t *testing.T) {
	lim := defaultLimits()
	lim.proof = 50 * time.Millisecond
	k := startWorker(t, testSpec(Sink), lim)
	addr := k.want(Listening).Addr
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(bound)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("silent peer was not let go: %v", err)
	}
	k.finishWith(addr)
	if res := k.result(); res.Refused != 1 {
		t.Errorf("%d refused, want 1", res.Refused)
	}
}

func TestThousandGarbageConnectionsDoNotKeepTheRunOut(t *testing.T) {
	k := startWorker(t, testSpec(Sink), defaultLimits())
	addr := k.want(Listening).Addr
	var wg sync.WaitGroup
	gate := make(chan struct{}, 50)
	for i := range 1000 {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			c, err := net.Dial("tcp", addr.String())
			if err != nil {
				return // the sink was full already, which is its right
			}
			defer c.Close()
			c.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\n", i%40))) // it may be let go at any byte
		})
		if i == 500 {
			wg.Go(func() { k.finishWith(addr) })
		}
	}
	wg.Wait()
	if res := k.result(); res.Refused == 0 {
		t.Error("garbage was not counted")
	}
}

func TestCapEvictsTheOldestUnproven(t *testing.T) {
	spec := testSpec(Sink)
	spec.MaxConns = 4
	k := startWorker(t, spec, defaultLimits())
	addr := k.want(Listening).Addr
	var silent []net.Conn
	for range 10 {
		c, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		// The challenge shows that the sink has taken this one in.
		if _, err := io.ReadFull(c, make([]byte, challengeLen)); err != nil {
			t.Fatal(err)
		}
		silent = append(silent, c)
	}
	for i, c := range silent[:6] {
		if err := c.SetDeadline(time.Now().Add(bound)); err != nil {
			t.Fatal(err)
		}
		if said, err := io.ReadAll(c); err != nil || string(said) != busy {
			t.Errorf("silent connection %d is told %q at the cap: %v", i, said, err)
		}
	}
	k.finishWith(addr)
	if res := k.result(); res.Evicted < 6 {
		t.Errorf("%d evicted, want at least 6", res.Evicted)
	}
}

// capture forwards one way and keeps what it saw.
type capture struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (c *capture) forward(dst, src net.Conn) {
	defer dst.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		c.mu.Lock()
		if c.all.Len() < 1<<20 {
			c.all.Write(buf[:n])
		}
		c.mu.Unlock()
		if _, werr := dst.Write(buf[:n]); werr != nil || err != nil {
			return
		}
	}
}

func TestTokenIsNeverOnTheWire(t *testing.T) {
	sink, source := testSpec(Sink), testSpec(Source)
	k := startWorker(t, sink, defaultLimits())
	target := k.want(Listening).Addr
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	seen := &capture{}
	go func() {
		for {
			a, err := ln.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", target.String())
			if err != nil {
				a.Close()
				return
			}
			go seen.forward(a, b)
			go seen.forward(b, a)
		}
	}()
	source.Peer = netip.MustParseAddrPort(ln.Addr().String())
	s := startWorker(t, source, defaultLimits())
	k.want(Connected)
	s.want(Connected)
	k.begin()
	s.begin()
	s.result()
	k.result()
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.all.Len() < 1000 {
		t.Fatalf("captured only %d bytes", seen.all.Len())
	}
	tok := source.Token
	for name, form := range map[string][]byte{"raw": tok[:], "half": tok[:16], "hex": []byte(hex.EncodeToString(tok[:]))} {
		if bytes.Contains(seen.all.Bytes(), form) {
			t.Errorf("the token is on the wire (%s)", name)
		}
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte(magic))
	f.Add(appendChallenge(nil, nonce{1}))
	f.Add(appendResponse(nil, response{nonce: nonce{1}, stream: 3}))
	f.Add([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 10)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := parseChallenge(b); err == nil && !bytes.Equal(appendChallenge(nil, n), b) {
			t.Error("challenge does not survive the round trip")
		}
		if r, err := parseResponse(b); err == nil && !bytes.Equal(appendResponse(nil, r), b) {
			t.Error("response does not survive the round trip")
		}
		// Neither side may accept what it did not ask for, or read on for ever.
		in := struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(b), io.Discard}
		if _, _, err := challenge(in, rand.Reader, testToken(1)); err == nil {
			t.Error("sink accepted a made-up proof")
		}
		in.Reader = bytes.NewReader(b)
		if err := proveAsSource(in, rand.Reader, testToken(1), 0); err == nil {
			t.Error("source accepted a made-up proof")
		}
	})
}
