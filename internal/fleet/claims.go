package fleet

import (
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Claims are the operator and the account that brokers of the site are configured with; revoked are
// the users that they no longer admit.
func (m *Material) Claims(revoked []string, now time.Time) (operator, account string, err error) {
	op, err := nkeys.FromSeed(m.Operator)
	if err != nil {
		return "", "", fmt.Errorf("read secrets of site %s: %w", m.Site, err)
	}
	acc, err := nkeys.FromSeed(m.Account)
	if err != nil {
		return "", "", fmt.Errorf("read secrets of site %s: %w", m.Site, err)
	}
	opPub, err := op.PublicKey()
	if err != nil {
		return "", "", err
	}
	accPub, err := acc.PublicKey()
	if err != nil {
		return "", "", err
	}
	oc := jwt.NewOperatorClaims(opPub)
	oc.Name = "linerate " + m.Site
	if operator, err = oc.Encode(op); err != nil {
		return "", "", fmt.Errorf("write operator: %w", err)
	}
	ac := jwt.NewAccountClaims(accPub)
	ac.Name = "linerate " + m.Site
	for _, u := range revoked {
		ac.RevokeAt(u, now.Add(time.Minute)) // whatever was issued before
	}
	if account, err = ac.Encode(op); err != nil {
		return "", "", fmt.Errorf("write account: %w", err)
	}
	return operator, account, nil
}

// BrokerTask is what a broker of the site needs to start: whom it admits, and its certificate. It does
// not contain the secrets by which hosts and people are admitted.
type BrokerTask struct {
	V        int      `json:"v"`
	Site     string   `json:"site"`
	Operator string   `json:"operator"` // JWT
	Account  string   `json:"account"`  // JWT; lists the users that are no longer admitted
	CA       []byte   `json:"ca"`       // PEM
	Cert     []byte   `json:"cert"`     // PEM
	Key      []byte   `json:"key"`      // PEM
	Host     string   `json:"host"`
	Port     int      `json:"port"`              // -1: any
	Cluster  string   `json:"cluster,omitempty"` // HOST:PORT where the site's other brokers meet it; empty: it is alone
	Routes   []string `json:"routes,omitempty"`  // nats:// URLs of the others
}

// BrokerSaid is a line that a broker's process writes to whoever started it: first its address, then
// the result of each order.
type BrokerSaid struct {
	URL   string `json:"url,omitempty"`
	Error string `json:"error,omitempty"`
}

// BrokerOrder is an order to a running broker, one per line.
type BrokerOrder struct {
	Account string `json:"account"` // JWT
}

// Broker is the task of a broker that listens at host (a name or an address), for which its certificate
// is made. revoked are the users that it does not admit.
func (m *Material) Broker(host string, port int, revoked []string, now time.Time) (BrokerTask, error) {
	t := BrokerTask{V: 1, Site: m.Site, CA: m.CA, Host: host, Port: port}
	var err error
	if t.Operator, t.Account, err = m.Claims(revoked, now); err != nil {
		return t, err
	}
	t.Cert, t.Key, err = m.Certificate([]string{host}, now)
	return t, err
}
