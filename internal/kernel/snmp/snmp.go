// Package snmp is the door to switches: it walks tables of an SNMP agent, by version 2c or 3,
// with the credentials that the user keeps in a file or in the environment.
//
// It refuses to write anything (there is no Set), to guess a community, to take
// a file with credentials that others may read, and tables beyond MaxRows.
package snmp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/gosnmp/gosnmp"

	"linerate/internal/conf"
	"linerate/internal/kernel"
)

// Login is what a switch asks for: a community (version 2c), or a user (version
// 3) with the secrets to sign and to encrypt.
type Login struct {
	Community string `yaml:"community"`
	User      string `yaml:"user"`
	// Auth is sha, sha224, sha256, sha384 or sha512; empty: not signed.
	Auth       string `yaml:"auth"`
	AuthSecret string `yaml:"auth_secret"`
	// Privacy is aes, aes192 or aes256; empty: not encrypted.
	Privacy       string `yaml:"privacy"`
	PrivacySecret string `yaml:"privacy_secret"`
}

// Environment variables that stand for a file.
const CommunityVariable = "LINERATE_SNMP_COMMUNITY"

// maxLogin bounds the file with credentials.
const maxLogin = 64 << 10

// ReadLogin reads credentials from a YAML file that nobody but its owner may read.
func ReadLogin(file string) (Login, error) {
	b, err := kernel.ReadPrivate(file, maxLogin, 0o077)
	if err != nil {
		return Login{}, fmt.Errorf("read credentials: %w", err)
	}
	return ParseLogin(b)
}

var errLogin = errors.New("read credentials: want YAML with community, or with user, auth, auth_secret, privacy and privacy_secret")

// ParseLogin reads credentials. Its errors hold nothing of the text.
func ParseLogin(b []byte) (Login, error) {
	var l Login
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // with which some editors begin a file, and conf too takes it off
	// Before the decoder sees it: what conf refuses costs memory there, or makes it panic.
	if conf.Bounded(b) != nil {
		return l, errLogin
	}
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(&l); err != nil {
		return l, errLogin
	}
	return l, l.check()
}

func (l Login) check() error {
	_, auth := authProtocols()[l.Auth]
	_, privacy := privacyProtocols()[l.Privacy]
	switch {
	case (l.Community == "") == (l.User == ""):
		return errors.New("read credentials: want either a community or a user")
	case !auth || !privacy:
		return errors.New("read credentials: want auth sha, sha224, sha256, sha384 or sha512 and privacy aes, aes192 or aes256, or neither")
	case (l.Auth == "") != (l.AuthSecret == "") || (l.Privacy == "") != (l.PrivacySecret == "") || l.Privacy != "" && l.Auth == "":
		return errors.New("read credentials: auth goes with auth_secret, privacy with privacy_secret and with auth")
	}
	return nil
}

func authProtocols() map[string]gosnmp.SnmpV3AuthProtocol {
	return map[string]gosnmp.SnmpV3AuthProtocol{
		"": gosnmp.NoAuth, "sha": gosnmp.SHA, "sha224": gosnmp.SHA224, "sha256": gosnmp.SHA256, "sha384": gosnmp.SHA384, "sha512": gosnmp.SHA512,
	}
}

func privacyProtocols() map[string]gosnmp.SnmpV3PrivProtocol {
	return map[string]gosnmp.SnmpV3PrivProtocol{"": gosnmp.NoPriv, "aes": gosnmp.AES, "aes192": gosnmp.AES192, "aes256": gosnmp.AES256}
}

// Bounds of a session.
const (
	MaxRows = 20000 // of one table
	timeout = 2 * time.Second
	port    = 161 // RFC 3417 section 3
)

// Session is an open way to one switch.
type Session struct{ g *gosnmp.GoSNMP }

// Row is one value of a table.
type Row struct {
	Index string // what follows the column's object id, as "3.12"
	Int   int64  // numbers; one beyond int64 is cut to it
	Bytes []byte // strings
}

// Open prepares to ask a switch, named as HOST or HOST:PORT. Nothing is sent but
// what version 3 takes to find out its engine.
func Open(ctx context.Context, target string, l Login) (*Session, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	host, at := target, uint64(port)
	if h, p, err := net.SplitHostPort(target); err == nil {
		if at, err = strconv.ParseUint(p, 10, 16); err != nil || at == 0 {
			return nil, fmt.Errorf("ask switch %s: %q is no port", target, p)
		}
		host = h
	}
	g := &gosnmp.GoSNMP{
		Target: host, Port: uint16(at), Transport: "udp", Version: gosnmp.Version2c, Community: l.Community, Context: ctx,
		Timeout: timeout, Retries: 1, MaxOids: gosnmp.MaxOids, MaxRepetitions: 25,
	}
	if l.User != "" {
		asUser(g, l)
	}
	if err := g.Connect(); err != nil {
		return nil, fmt.Errorf("ask switch %s: %w", target, err)
	}
	return &Session{g}, nil
}

func asUser(g *gosnmp.GoSNMP, l Login) {
	g.Version, g.SecurityModel, g.MsgFlags = gosnmp.Version3, gosnmp.UserSecurityModel, gosnmp.NoAuthNoPriv
	if l.Auth != "" {
		g.MsgFlags = gosnmp.AuthNoPriv
	}
	if l.Privacy != "" {
		g.MsgFlags = gosnmp.AuthPriv
	}
	g.SecurityParameters = &gosnmp.UsmSecurityParameters{
		UserName:               l.User,
		AuthenticationProtocol: authProtocols()[l.Auth], AuthenticationPassphrase: l.AuthSecret,
		PrivacyProtocol: privacyProtocols()[l.Privacy], PrivacyPassphrase: l.PrivacySecret,
	}
}

// Walk reads one column of a table. A switch that has none of it returns no row.
func (s *Session) Walk(column string) ([]Row, error) {
	var out []Row
	prefix := "." + strings.TrimPrefix(column, ".") + "."
	err := s.g.BulkWalk(column, func(v gosnmp.SnmpPDU) error {
		index, ok := strings.CutPrefix(v.Name, prefix)
		if !ok {
			return nil
		}
		if len(out) >= MaxRows {
			return fmt.Errorf("more than %d rows", MaxRows)
		}
		if r, ok := row(v); ok {
			r.Index = index
			out = append(out, r)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask switch %s for %s: %w%s", net.JoinHostPort(s.g.Target, strconv.Itoa(int(s.g.Port))), column, err, s.hint(err))
	}
	return out, nil
}

// row is a value without its index; false for kinds of values that no table of ours has.
func row(v gosnmp.SnmpPDU) (r Row, ok bool) {
	switch v.Type {
	case gosnmp.OctetString:
		r.Bytes, _ = v.Value.([]byte)
	case gosnmp.Integer, gosnmp.Counter32, gosnmp.Counter64, gosnmp.Gauge32, gosnmp.TimeTicks, gosnmp.Uinteger32:
		n := gosnmp.ToBigInt(v.Value)
		if r.Int = math.MaxInt64; n.IsInt64() {
			r.Int = n.Int64()
		}
	default:
		return r, false
	}
	return r, true
}

// hint is what may be behind a failure. Version 2c has no word for a wrong
// community, and of version 3 a library's words say little.
func (s *Session) hint(err error) string {
	if s.g.Version == gosnmp.Version2c {
		if errors.Is(err, gosnmp.ErrMaxRetriesExceeded) {
			return "; it is silent where the community is wrong, SNMP is off, or a list of addresses or a firewall keeps this host out"
		}
		return ""
	}
	text := err.Error()
	for _, e := range []error{gosnmp.ErrUnknownUsername, gosnmp.ErrWrongDigest, gosnmp.ErrUnknownSecurityLevel, gosnmp.ErrDecryption, errors.New("not authentic")} {
		if errors.Is(err, e) || strings.Contains(text, e.Error()) {
			return "; see that user, auth, privacy and both secrets are those that the switch has"
		}
	}
	if errors.Is(err, gosnmp.ErrMaxRetriesExceeded) {
		return "; it is silent where a privacy secret is wrong, SNMP is off, or a firewall keeps this host out"
	}
	return ""
}

// Close ends the session.
func (s *Session) Close() error { return s.g.Close() }
