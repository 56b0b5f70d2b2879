package fleet

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// clusterOffset is how far above its clients' port a broker's port for the other brokers is.
const clusterOffset = 2000

// pushTime is how long brokers may take to learn of an account.
const pushTime = 10 * time.Second

// BrokerFiles are what one broker of a site's own cluster is started with: an ordinary
// nats-server, by an operator. They have the key of its certificate; nobody else may read them.
type BrokerFiles struct {
	Name  string // of the broker's host, and of the directory
	Files map[string][]byte
}

// system is the key of the account by which brokers are told of revocations. It comes from the
// operator's key, so that a site that was made without one has it.
func (m *Material) system() (nkeys.KeyPair, error) {
	seed, err := hkdf.Key(sha256.New, m.Operator, nil, "linerate-fleet 1 system account", seedSize)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	k, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, seed)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return k, nil
}

// clusterClaims are Claims with the system account in them.
type clusterClaims struct {
	operator, account, system string // JWTs
	accountKey, systemKey     string
}

func (m *Material) clusterClaims(revoked []string, now time.Time) (c clusterClaims, err error) {
	operator, account, err := m.Claims(revoked, now)
	if err != nil {
		return c, err
	}
	op, err := nkeys.FromSeed(m.Operator)
	if err != nil {
		return c, fmt.Errorf("read secrets of site %s: %w", m.Site, err)
	}
	sys, err := m.system()
	if err != nil {
		return c, err
	}
	if c.systemKey, err = sys.PublicKey(); err != nil {
		return c, err
	}
	sc := jwt.NewAccountClaims(c.systemKey)
	sc.Name = "linerate " + m.Site + " system"
	if c.system, err = sc.Encode(op); err != nil {
		return c, fmt.Errorf("write system account: %w", err)
	}
	oc, err := jwt.DecodeOperatorClaims(operator)
	if err != nil {
		return c, fmt.Errorf("read operator: %w", err)
	}
	oc.SystemAccount = c.systemKey
	if c.operator, err = oc.Encode(op); err != nil {
		return c, fmt.Errorf("write operator: %w", err)
	}
	ac, err := jwt.DecodeAccountClaims(account)
	if err != nil {
		return c, fmt.Errorf("read account: %w", err)
	}
	c.account, c.accountKey = account, ac.Subject
	return c, nil
}

// place is where a broker is.
func place(server string) (host string, port int, err error) {
	if host, port, err = hostPort(server); err == nil && port+clusterOffset > 65535 {
		err = fmt.Errorf("broker %q: want a port from 1 to %d: the other brokers meet it %d above", printable(server), 65535-clusterOffset, clusterOffset)
	}
	return host, port, err
}

// hostPort is where a broker is called.
func hostPort(server string) (host string, port int, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", 0, fmt.Errorf("broker %q: %w", printable(server), err)
	}
	if port = 4222; u.Port() != "" {
		port, err = strconv.Atoi(u.Port())
	}
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("broker %q: want a port from 1 to 65535", printable(server))
	}
	return u.Hostname(), port, nil
}

// Ports are the host of a broker, and its ports there: that which hosts call, and that by which the
// brokers of a cluster call each other.
func Ports(server string) (host string, ports []uint16, err error) {
	host, port, err := hostPort(server)
	if err != nil {
		return "", nil, err
	}
	for p := port; p <= 65535 && p <= port+clusterOffset; p += clusterOffset {
		ports = append(ports, uint16(p))
	}
	return host, ports, nil
}

// Cluster are the files of each of a site's own brokers, in the order of Servers.
func (m *Material) Cluster(revoked []string, now time.Time) ([]BrokerFiles, error) {
	c, err := m.clusterClaims(revoked, now)
	if err != nil {
		return nil, err
	}
	var out []BrokerFiles
	for i, s := range m.Servers {
		host, port, err := place(s)
		if err != nil {
			return nil, err
		}
		var routes []string
		for j, other := range m.Servers {
			h, p, err := place(other)
			if err != nil {
				return nil, err
			}
			if j != i {
				routes = append(routes, fmt.Sprintf("%q", "nats://"+net.JoinHostPort(h, strconv.Itoa(p+clusterOffset))))
			}
		}
		cert, key, err := m.Certificate([]string{host}, now)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s-%d", host, port)
		out = append(out, BrokerFiles{Name: name, Files: map[string][]byte{
			"ca.pem": m.CA, "cert.pem": cert, "key.pem": key, "nats-server.conf": []byte(m.conf(name, host, port, routes, c)),
		}})
	}
	return out, nil
}

// conf is a broker's configuration, in the language of nats-server. Files are found beside it.
func (m *Material) conf(name, host string, port int, routes []string, c clusterClaims) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# Broker %s of site %s of linerate. Core NATS alone: no jetstream, no leafnodes, no gateway.", name, m.Site)
	say("# Who may publish and hear what is in the credentials that the site issues; this file admits\n# nobody. Start it with: nats-server -c nats-server.conf, in this directory.")
	say("server_name: %q\nlisten: %q\nmax_payload: 1MB\nmax_pending: 32MB", name, net.JoinHostPort(host, strconv.Itoa(port)))
	say("tls: { cert_file: \"cert.pem\", key_file: \"key.pem\", ca_file: \"ca.pem\", timeout: 5 }")
	say("authorization: { timeout: 5 }")
	say("operator: %s", c.operator)
	say("system_account: %s", c.systemKey)
	say("resolver: { type: full, dir: \"jwt\", allow_delete: false, interval: \"2m\" }")
	say("resolver_preload: {\n  %s: %s\n  %s: %s\n}", c.accountKey, c.account, c.systemKey, c.system)
	if len(routes) > 0 {
		say("cluster: {\n  name: \"linerate-%s\"\n  listen: %q\n  routes: [%s]", m.Site, net.JoinHostPort(host, strconv.Itoa(port+clusterOffset)), strings.Join(routes, ", "))
		say("  tls: { cert_file: \"cert.pem\", key_file: \"key.pem\", ca_file: \"ca.pem\", verify: true, timeout: 5 }\n}")
	}
	return b.String()
}

// Push tells the site's own brokers whom they let in no more; they tell each other.
func (m *Material) Push(account string, now time.Time) error {
	k, err := NewKeys()
	if err != nil {
		return err
	}
	user, err := k.User()
	if err != nil {
		return err
	}
	sys, err := m.system()
	if err != nil {
		return err
	}
	claims := jwt.NewUserClaims(user)
	claims.Name, claims.Expires = "linerate desk", now.Add(time.Hour).Unix()
	c, err := m.Issue(Desk, "desk", nil, time.Time{})
	if err != nil {
		return err
	}
	c.Seed = k.seed
	if c.User, err = claims.Encode(sys); err != nil {
		return fmt.Errorf("reach brokers: %w", err)
	}
	nc, err := c.Connect("linerate desk, for revocations")
	if err != nil {
		return err
	}
	defer nc.Close()
	msg, err := nc.Request("$SYS.REQ.CLAIMS.UPDATE", []byte(account), pushTime)
	if err != nil {
		return fmt.Errorf("tell brokers whom to let in: %w", err)
	}
	return pushed(msg)
}

// pushed reads a broker's answer.
func pushed(msg *nats.Msg) error {
	var said struct {
		Data struct {
			Code int `json:"code"`
		} `json:"data"`
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	err := json.Unmarshal(msg.Data, &said)
	switch {
	case err != nil:
		return fmt.Errorf("tell brokers whom to let in: %w", err)
	case said.Error != nil:
		return errors.New("tell brokers whom to let in: " + printable(said.Error.Description))
	case said.Data.Code != 200:
		return fmt.Errorf("tell brokers whom to let in: they answer %d", said.Data.Code)
	}
	return nil
}
