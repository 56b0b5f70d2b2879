// Package broker is a NATS server within linerate, for sites that have none: core NATS alone,
// TLS, and the rights that the site's credentials state. It keeps nothing on disk, and refuses
// whoever has no credential of the site.
package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"linerate/internal/fleet"
)

// Options of a broker.
type Options struct {
	Host    string
	Port    int      // -1: any
	Names   []string // that its certificate is for, beside Host
	Cluster string   // HOST:PORT where the site's other brokers meet it; empty: it is alone
	Routes  []string // nats:// URLs of the others
	Now     func() time.Time
}

// Broker is one that runs.
type Broker struct {
	s   *server.Server
	m   *fleet.Material
	now func() time.Time
	res *server.MemAccResolver
}

// Start runs a broker of the site. revoked are the users that it does not let in.
func Start(m *fleet.Material, revoked []string, o Options) (*Broker, error) {
	operator, account, err := m.Claims(revoked, o.Now())
	if err != nil {
		return nil, err
	}
	oc, err := jwt.DecodeOperatorClaims(operator)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	ac, err := jwt.DecodeAccountClaims(account)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	t, err := tlsOf(m, append([]string{o.Host}, o.Names...), o.Now())
	if err != nil {
		return nil, err
	}
	b := &Broker{m: m, now: o.Now, res: &server.MemAccResolver{}}
	if err := b.res.Store(ac.Subject, account); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	opts := &server.Options{
		ServerName: "linerate-" + m.Site, Host: o.Host, Port: o.Port, NoSigs: true, NoLog: true,
		TrustedOperators: []*jwt.OperatorClaims{oc}, AccountResolver: b.res,
		TLS: true, TLSConfig: t, TLSTimeout: 5, AuthTimeout: 5, MaxPayload: 1 << 20, MaxPending: 32 << 20,
	}
	if o.Cluster != "" {
		if err := join(opts, o, t); err != nil {
			return nil, err
		}
	}
	if b.s, err = server.NewServer(opts); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	b.s.Start()
	if !b.s.ReadyForConnections(30 * time.Second) {
		b.s.Shutdown()
		return nil, fmt.Errorf("start broker: it does not listen on %s:%d; is the port taken?", o.Host, o.Port)
	}
	return b, nil
}

// join makes a broker one of several; each proves to the others by its certificate that it is
// of the site.
func join(opts *server.Options, o Options, t *tls.Config) error {
	host, text, err := net.SplitHostPort(o.Cluster)
	if err != nil {
		return fmt.Errorf("start broker: cluster address %q: %w", o.Cluster, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("start broker: cluster address %q: %w", o.Cluster, err)
	}
	opts.ServerName += "-" + text
	both := t.Clone()
	both.ClientAuth, both.ClientCAs = tls.RequireAndVerifyClientCert, t.RootCAs
	opts.Cluster = server.ClusterOpts{Name: "linerate", Host: host, Port: port, TLSConfig: both, TLSTimeout: 5}
	for _, r := range o.Routes {
		u, err := url.Parse(r)
		if err != nil {
			return fmt.Errorf("start broker: %q: %w", r, err)
		}
		opts.Routes = append(opts.Routes, u)
	}
	return nil
}

func tlsOf(m *fleet.Material, names []string, now time.Time) (*tls.Config, error) {
	cert, key, err := m.Certificate(names, now)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(m.CA) {
		return nil, errors.New("start broker: the site's certificate cannot be read")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS13}, nil
}

// URL is where the broker listens.
func (b *Broker) URL() string { return b.s.ClientURL() }

// Revoke lets these users in no more, and ends the connections that they have.
func (b *Broker) Revoke(users []string) error {
	_, account, err := b.m.Claims(users, b.now())
	if err != nil {
		return err
	}
	ac, err := jwt.DecodeAccountClaims(account)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if err := b.res.Store(ac.Subject, account); err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	acc, err := b.s.LookupAccount(ac.Subject)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	b.s.UpdateAccountClaims(acc, ac)
	return nil
}

// Close ends the broker and its connections.
func (b *Broker) Close() {
	b.s.Shutdown()
	b.s.WaitForShutdown()
}
