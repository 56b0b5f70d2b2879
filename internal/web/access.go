package web

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"linerate/internal/kernel"
)

// Access is who may see a view. The zero value: whoever can reach this machine's loopback.
type Access struct {
	token string
	cert  *tls.Certificate
}

// The bounds on a token: at 32 characters nobody guesses it.
const (
	leastToken = 32
	mostToken  = 4096
	mostPEM    = 1 << 20
	cookieName = "linerate"
)

// Secure reads what a view needs that others can reach: a certificate with its key, and a token.
func Secure(certFile, keyFile, tokenFile string) (Access, error) {
	certText, err := kernel.ReadNamed(certFile, mostPEM)
	if err != nil {
		return Access{}, fmt.Errorf("read certificate: %w", err)
	}
	keyText, err := kernel.ReadPrivate(keyFile, mostPEM, 0o007)
	if err != nil {
		return Access{}, fmt.Errorf("read key: %w", err)
	}
	cert, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return Access{}, fmt.Errorf("read certificate %s and key %s: %w", certFile, keyFile, err)
	}
	if len(cert.Leaf.DNSNames)+len(cert.Leaf.IPAddresses) == 0 {
		return Access{}, fmt.Errorf("read certificate %s: it names no host (subjectAltName), so that nobody could ask for this page by a name of its own", certFile)
	}
	token, err := readToken(tokenFile)
	return Access{token: token, cert: &cert}, err
}

func readToken(path string) (string, error) {
	b, err := kernel.ReadPrivate(path, mostToken, 0o007) // a group may share a token
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token, ok := parseToken(b)
	if !ok {
		return "", fmt.Errorf("read token %s: it has to be %d to %d letters and digits in one line: make one with openssl rand -hex 32", path, leastToken, mostToken)
	}
	return token, nil
}

// parseToken is the one word of a token's file; false where it is none that a header can carry.
func parseToken(b []byte) (string, bool) {
	token := string(bytes.TrimSpace(b))
	return token, len(token) >= leastToken && len(token) <= mostToken &&
		!strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// open tells that everybody on the loopback may see it.
func (a Access) open() bool { return a.cert == nil }

// URL is the address of a page that listens there, without the token.
func (a Access) URL(at net.Addr) string {
	if a.open() {
		return "http://" + at.String() + "/"
	}
	host := "localhost"
	if names := a.cert.Leaf.DNSNames; len(names) > 0 {
		host = strings.Replace(names[0], "*", "HOST", 1)
	} else if ips := a.cert.Leaf.IPAddresses; len(ips) > 0 {
		host = ips[0].String()
	}
	_, port, _ := net.SplitHostPort(at.String()) // of a listener: it has one
	return "https://" + net.JoinHostPort(host, port) + "/"
}

// named tells whether the request's Host is one of this page: a loopback name, or a name in its
// certificate. A name that an attacker has pointed at this address (DNS rebinding) is neither.
func (a Access) named(host string) bool {
	if a.open() {
		return Loopback(host)
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = trimBrackets(host)
		if name == "" {
			name = host
		}
	}
	return a.cert.Leaf.VerifyHostname(name) == nil
}

// names are those by which the page is asked for, in words.
func (a Access) names() string {
	if a.open() {
		return "localhost or 127.0.0.1"
	}
	all := slices.Clone(a.cert.Leaf.DNSNames)
	for _, ip := range a.cert.Leaf.IPAddresses {
		all = append(all, ip.String())
	}
	return strings.Join(all, " or ")
}

// session is the cookie's value. It is derived from the token alone, so that a session survives
// a restart, and the token cannot be computed from it.
func (a Access) session() string {
	m := hmac.New(sha256.New, []byte(a.token))
	m.Write([]byte("session 1 of linerate"))
	return hex.EncodeToString(m.Sum(nil))
}

// known tells whether a request has the cookie, or the token itself, which is what Prometheus
// sends.
func (a Access) known(r *http.Request) bool {
	if a.open() {
		return true
	}
	if c, err := r.Cookie(cookieName); err == nil && same(c.Value, a.session()) {
		return true
	}
	return a.bears(r)
}

func (a Access) bears(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && same(token, a.token)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// enter exchanges the token for a cookie that no page of another origin sends along and no script
// can read.
func (a Access) enter(w http.ResponseWriter, r *http.Request) {
	if a.open() || !a.bears(r) {
		http.Error(w, "this is not the token", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: a.session(), Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: 30 * 24 * 3600})
	w.WriteHeader(http.StatusNoContent)
}

// public are the parts of the login page. They are served without a token.
func public(path string) bool {
	return path == "/enter.js" || path == "/live.css" || path == "/session"
}

// guarded passes on requests that name this page as their host and carry the cookie or the
// token, and adds to every answer the headers that forbid framing, embedding and sniffing. A
// browser that was misled by DNS rebinding sends another host name. A page of another origin
// can send GET requests but cannot read the answers, and its POST requests are refused.
func (a Access) guarded(next http.Handler, door []byte) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !a.named(r.Host) {
			http.Error(w, "ask for this page by its own name: "+a.names(), http.StatusMisdirectedRequest)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.URL.Path != "/" {
			http.Error(w, "this is for its own page alone", http.StatusForbidden)
			return
		}
		switch {
		case a.known(r) || public(r.URL.Path):
			next.ServeHTTP(w, r)
		case r.URL.Path == "/" && r.Method == http.MethodGet:
			h.Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(door) // whoever asked may be gone
		default:
			h.Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a token is needed: open this page as …/#token=TOKEN, or send Authorization: Bearer TOKEN", http.StatusUnauthorized)
		}
	})
}
