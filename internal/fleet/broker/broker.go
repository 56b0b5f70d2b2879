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

// Broker is one that runs.
type Broker struct {
	s   *server.Server
	res *server.MemAccResolver
}

// Start runs a broker.
func Start(task fleet.BrokerTask) (*Broker, error) {
	if task.V != 1 {
		return nil, fmt.Errorf("start broker: its task is of version %d, and this broker knows 1: use the same release of linerate and linerate-broker", task.V)
	}
	oc, err := jwt.DecodeOperatorClaims(task.Operator)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	ac, err := jwt.DecodeAccountClaims(task.Account)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	t, err := tlsOf(task)
	if err != nil {
		return nil, err
	}
	b := &Broker{res: &server.MemAccResolver{}}
	if err := b.res.Store(ac.Subject, task.Account); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	opts := &server.Options{
		ServerName: "linerate-" + task.Site, Host: task.Host, Port: task.Port, NoSigs: true, NoLog: true,
		TrustedOperators: []*jwt.OperatorClaims{oc}, AccountResolver: b.res,
		TLS: true, TLSConfig: t, TLSTimeout: 5, AuthTimeout: 5, MaxPayload: 1 << 20, MaxPending: 32 << 20,
	}
	if task.Cluster != "" {
		if err := join(opts, task, t); err != nil {
			return nil, err
		}
	}
	if b.s, err = server.NewServer(opts); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	b.s.Start()
	if !b.s.ReadyForConnections(30 * time.Second) {
		b.s.Shutdown()
		return nil, fmt.Errorf("start broker: it does not listen on %s:%d; is the port taken?", task.Host, task.Port)
	}
	return b, nil
}

// join makes a broker one of several; each proves to the others by its certificate that it is
// of the site.
func join(opts *server.Options, o fleet.BrokerTask, t *tls.Config) error {
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

func tlsOf(task fleet.BrokerTask) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(task.Cert, task.Key)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(task.CA) {
		return nil, errors.New("start broker: the site's certificate cannot be read")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS13}, nil
}

// URL is where the broker listens.
func (b *Broker) URL() string { return b.s.ClientURL() }

// Account is whom the broker lets in from now on, as a JWT; it ends the connections of those
// whom that revokes.
func (b *Broker) Account(account string) error {
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
