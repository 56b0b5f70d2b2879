package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Times of a connection.
const (
	reconnectWait   = time.Second
	reconnectJitter = 4 * time.Second
)

// Check refuses addresses of brokers that are no nats:// or tls:// URL.
func CheckServers(servers []string) error {
	if len(servers) == 0 {
		return errors.New("no broker is named; want nats://HOST:4222")
	}
	for _, s := range servers {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || u.User != nil {
			return fmt.Errorf("broker %q: want nats://HOST:PORT, without a user or password", printable(s))
		}
	}
	return nil
}

// Connect joins the site's brokers, always by TLS, and proves there who it is. It goes on trying
// for as long as the connection is not closed; what is published meanwhile is refused, not kept.
func (c Credential) Connect(name string, more ...nats.Option) (*nats.Conn, error) {
	if err := CheckServers(c.Servers); err != nil {
		return nil, err
	}
	k, err := c.Keys()
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(c.CA) {
		return nil, errors.New("connect to broker: no certificate of the site's brokers is known")
	}
	o := nats.GetDefaultOptions()
	o.Servers, o.Name, o.NoRandomize = c.Servers, name, false
	o.MaxReconnect, o.ReconnectWait, o.ReconnectBufSize = -1, reconnectWait, -1
	o.ReconnectJitter, o.ReconnectJitterTLS = reconnectJitter, reconnectJitter
	o.PingInterval, o.MaxPingsOut, o.Timeout = 10*time.Second, 2, 5*time.Second
	o.Secure, o.TLSConfig = true, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}
	o.UserJWT = func() (string, error) { return c.User, nil }
	o.SignatureCB = k.nats.Sign
	o.AsyncErrorCB = func(*nats.Conn, *nats.Subscription, error) {} // else the library prints it
	o.CustomDialer = &net.Dialer{Timeout: 5 * time.Second}
	for _, f := range more {
		if err := f(&o); err != nil {
			return nil, err
		}
	}
	nc, err := o.Connect()
	if errors.Is(err, nats.ErrNoServers) {
		return nil, fmt.Errorf("no broker answers at %s: see whether one runs there, and whether this machine can reach it (%w)", strings.Join(c.Servers, ", "), err)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to broker: %w", err)
	}
	return nc, nil
}
