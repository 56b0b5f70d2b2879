package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Material are the secrets of a site: who has them decides who belongs to it.
type Material struct {
	V        int      `json:"v"`
	Site     string   `json:"site"`
	Root     []byte   `json:"root"`     // vouches for keys, and signs what newcomers are told
	Operator []byte   `json:"operator"` // seed; brokers trust it
	Account  []byte   `json:"account"`  // seed; gives hosts and people their places at brokers
	CA       []byte   `json:"ca"`       // PEM, certificate
	CAKey    []byte   `json:"ca_key"`   // PEM
	Servers  []string `json:"servers"`
}

// NewMaterial draws the secrets of a site whose brokers are reached at these addresses.
func NewMaterial(site string, servers []string, now time.Time) (*Material, error) {
	if err := CheckSite(site); err != nil {
		return nil, err
	}
	m := &Material{V: 1, Site: site, Servers: servers, Root: make([]byte, seedSize)}
	_, _ = rand.Read(m.Root) // never fails
	op, err := nkeys.CreateOperator()
	if err != nil {
		return nil, fmt.Errorf("draw keys of site %s: %w", site, err)
	}
	acc, err := nkeys.CreateAccount()
	if err != nil {
		return nil, fmt.Errorf("draw keys of site %s: %w", site, err)
	}
	if m.Operator, err = op.Seed(); err != nil {
		return nil, fmt.Errorf("draw keys of site %s: %w", site, err)
	}
	if m.Account, err = acc.Seed(); err != nil {
		return nil, fmt.Errorf("draw keys of site %s: %w", site, err)
	}
	return m, m.makeCA(now)
}

// certificateLife is how long the site's certificates are good. They begin a day early: a host
// whose clock is behind must be able to connect, and to be told so.
const certificateLife = 10 * 365 * 24 * time.Hour

func (m *Material) makeCA(now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make certificate: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "site " + m.Site + " of linerate"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(certificateLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return fmt.Errorf("make certificate: %w", err)
	}
	m.CA, m.CAKey, err = pems(der, key)
	return err
}

func pems(der []byte, key *ecdsa.PrivateKey) (cert, private []byte, err error) {
	k, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: k}), nil
}

// Certificate makes one for a broker with these names and addresses, as PEM.
func (m *Material) Certificate(names []string, now time.Time) (cert, private []byte, err error) {
	block, _ := pem.Decode(m.CA)
	keyBlock, _ := pem.Decode(m.CAKey)
	if block == nil || keyBlock == nil {
		return nil, nil, fmt.Errorf("make certificate: the secrets of site %s are damaged", m.Site)
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate: %w", err)
	}
	caKey, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "broker of linerate"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, key.Public(), caKey)
	if err != nil {
		return nil, nil, fmt.Errorf("make certificate: %w", err)
	}
	return pems(der, key)
}

// RootKeys are the site's own.
func (m *Material) RootKeys() (*Keys, error) { return keysOf(m.Root) }

// Credential is what somebody of a site has: a file that only they may read.
type Credential struct {
	V       int             `json:"v"`
	Site    string          `json:"site"`
	Servers []string        `json:"servers"`
	CA      []byte          `json:"ca"`   // PEM, of the brokers
	Root    []byte          `json:"root"` // public, of the site
	Seed    []byte          `json:"seed"` // secret, of the owner's Keys
	User    string          `json:"user"` // JWT for brokers
	Grant   json.RawMessage `json:"grant,omitempty"`
}

// Keys are those of the credential's owner.
func (c Credential) Keys() (*Keys, error) { return keysOf(c.Seed) }

// Granted is what the site's root says of the owner.
func (c Credential) Granted() (Grant, error) { return openGrant(c.Grant, c.Root, c.Site) }

// Issue makes a credential for new keys. until is when it ends; zero: never.
func (m *Material) Issue(role Role, name string, labels map[string]string, until time.Time) (Credential, error) {
	k, err := NewKeys()
	if err != nil {
		return Credential{}, err
	}
	user, err := k.User()
	if err != nil {
		return Credential{}, err
	}
	c, err := m.admit(role, name, labels, k.Public(), user, until)
	c.Seed = k.seed
	return c, err
}

// admit makes a credential for keys that others hold; Seed is empty.
func (m *Material) admit(role Role, name string, labels map[string]string, public []byte, user string, until time.Time) (Credential, error) {
	root, err := m.RootKeys()
	if err != nil {
		return Credential{}, err
	}
	c := Credential{V: 1, Site: m.Site, Servers: m.Servers, CA: m.CA, Root: root.Public()}
	if c.Grant, err = vouch(root, Grant{Site: m.Site, Role: role, Name: name, Labels: labels, Key: public, Expires: until}); err != nil {
		return c, err
	}
	claims := jwt.NewUserClaims(user)
	claims.Name = string(role) + " " + name
	permit(&claims.Permissions, role, m.Site, IDOf(public))
	if !until.IsZero() {
		claims.Expires = until.Unix()
	}
	acc, err := nkeys.FromSeed(m.Account)
	if err != nil {
		return c, fmt.Errorf("read secrets of site %s: %w", m.Site, err)
	}
	if c.User, err = claims.Encode(acc); err != nil {
		return c, fmt.Errorf("admit %s: %w", name, err)
	}
	return c, nil
}

// permit says which subjects a role may use; the broker enforces it. A list that is empty would
// allow all, so that each role has both.
func permit(p *jwt.Permissions, role Role, site, id string) {
	at := prefix + site
	switch role {
	case Agent:
		p.Pub.Allow.Add(at + ".up." + id + ".>")
		p.Sub.Allow.Add(at + ".dn." + id + ".>")
	case Viewer:
		p.Pub.Deny.Add(">")
		p.Sub.Allow.Add(at + ".up.*.live")
	case Reader:
		p.Pub.Allow.Add(at + ".dn.*.ro.>")
		p.Sub.Allow.Add(at+".up.*.live", at+".up.*.event", at+".up.*.s."+id)
	case Controller:
		p.Pub.Allow.Add(at+".dn.*.ro.>", at+".dn.*.rw.>")
		p.Sub.Allow.Add(at+".up.*.live", at+".up.*.event", at+".up.*.s."+id)
	case Desk:
		p.Pub.Allow.Add(at+".dn.*.ro.>", at+".dn.*.rw.>", at+".enrol.*.answer")
		p.Sub.Allow.Add(at+".up.*.live", at+".up.*.event", at+".up.*.s."+id, at+".enrol.*.ask")
	case Newcomer:
		p.Pub.Allow.Add(at + ".enrol." + id + ".ask")
		p.Sub.Allow.Add(at + ".enrol." + id + ".answer")
	default:
		p.Pub.Deny.Add(">")
		p.Sub.Deny.Add(">")
	}
}

// Token is what a newcomer is given: it admits one host, once, until it expires.
func (c Credential) Token() (string, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("write token: %w", err)
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(b), nil
}

const tokenPrefix = "linerate-token-1."

// maxToken bounds a token, in bytes.
const maxToken = 16 << 10

// ParseToken reads what Token has written.
func ParseToken(text string) (Credential, error) {
	text = strings.TrimSpace(text)
	code, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok || len(text) > maxToken {
		return Credential{}, fmt.Errorf("read token: it does not begin with %s: want the one line that a token is", tokenPrefix)
	}
	b, err := base64.RawURLEncoding.DecodeString(code)
	if err != nil {
		return Credential{}, errors.New("read token: it is damaged; copy the whole line")
	}
	var c Credential
	if err := strict(b, &c); err != nil {
		return c, fmt.Errorf("read token: %s", printable(err.Error()))
	}
	if err := errors.Join(CheckSite(c.Site), CheckServers(c.Servers)); err != nil || c.V != 1 {
		return c, fmt.Errorf("read token: it is none of this linerate (version %d): %w", c.V, err)
	}
	return c, nil
}
