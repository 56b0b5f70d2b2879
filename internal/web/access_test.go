package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/watch"
)

const token = "0123456789abcdef0123456789abcdef"

// secured writes a certificate for names, its key and a token, and reads them.
func secured(t *testing.T, names ...string) (Access, error) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: names}
	if len(names) > 0 {
		c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 7)}
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string][]byte{"cert": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), "token": []byte(token + "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Secure(filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "token"))
}

// Off the loopback nothing but the page that asks for the token is seen without it, under no
// name but the certificate's, and with the token from no other origin.
func TestOffTheLoopbackOnlyTheTokenOpens(t *testing.T) {
	access, err := secured(t, "nas.example")
	if err != nil {
		t.Fatal(err)
	}
	v := NewView("x", "linerate test")
	if err := v.Show([]watch.Picture{picture(watch.Moving, model.PathLoss)}); err != nil {
		t.Fatal(err)
	}
	h, err := v.Handler(access)
	if err != nil {
		t.Fatal(err)
	}
	do := func(method, path, host string, header map[string]string) *http.Response {
		r := httptest.NewRequest(method, path, nil)
		r.Host = host
		for k, x := range header {
			r.Header.Set(k, x)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	bearer := map[string]string{"Authorization": "Bearer " + token}
	in := do("POST", "/session", "nas.example:8470", bearer)
	if in.StatusCode != 204 || len(in.Cookies()) != 1 {
		t.Fatalf("%d %v", in.StatusCode, in.Cookies())
	}
	c := in.Cookies()[0]
	if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, token) {
		t.Errorf("%+v", c)
	}
	cookie := map[string]string{"Cookie": "linerate=" + c.Value}
	for _, x := range []struct {
		name, method, path, host string
		header                   map[string]string
		want                     int
	}{
		{"without the token", "GET", "/pictures", "nas.example", nil, 401},
		{"history without the token", "GET", "/history?path=x", "nas.example", nil, 401},
		{"metrics without the token", "GET", "/metrics", "nas.example", nil, 401},
		{"the stream without the token", "GET", "/events", "nas.example", nil, 401},
		{"the page without the token", "GET", "/", "nas.example", nil, 401},
		{"what the door needs", "GET", "/enter.js", "nas.example", nil, 200},
		{"another token", "GET", "/pictures", "nas.example", map[string]string{"Authorization": "Bearer " + token + "x"}, 401},
		{"another token at the door", "POST", "/session", "nas.example", map[string]string{"Authorization": "Bearer x"}, 401},
		{"a forged cookie", "GET", "/pictures", "nas.example", map[string]string{"Cookie": "linerate=" + token}, 401},
		{"the token", "GET", "/metrics", "nas.example:8470", bearer, 200},
		{"the cookie", "GET", "/pictures", "nas.example", cookie, 200},
		{"an address of the certificate", "GET", "/", "192.0.2.7:8470", cookie, 200},
		{"a foreign name", "GET", "/pictures", "evil.example", cookie, 421},
		{"the loopback, which the certificate does not name", "GET", "/pictures", "127.0.0.1:8470", cookie, 421},
		{"a long name", "GET", "/", strings.Repeat("a", 300) + ".example", cookie, 421},
		{"a name in script", "GET", "/", "<script>alert(1)</script>", cookie, 421},
		{"a name from right to left", "GET", "/", "\u202eelpmaxe.san", cookie, 421},
		{"no name", "GET", "/", "", cookie, 421},
		{"a page of another origin", "GET", "/pictures", "nas.example", map[string]string{"Cookie": "linerate=" + c.Value, "Sec-Fetch-Site": "cross-site"}, 403},
		{"a POST of another origin", "POST", "/session", "nas.example", map[string]string{"Authorization": "Bearer " + token, "Origin": "https://evil.example"}, 403},
		{"a change", "POST", "/pictures", "nas.example", cookie, 405},
	} {
		resp := do(x.method, x.path, x.host, x.header)
		if resp.StatusCode != x.want {
			t.Errorf("%s: %d, want %d", x.name, resp.StatusCode, x.want)
		}
		if resp.Header.Get("Content-Security-Policy") == "" || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", x.name, resp.Header)
		}
	}
}

// What is served off the loopback speaks TLS alone.
func TestServesTLS(t *testing.T) {
	access, err := secured(t, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if got := access.URL(ln.Addr()); !strings.HasPrefix(got, "https://localhost:") {
		t.Error(got)
	}
	v := NewView("x", "linerate test")
	go func() { _ = v.Serve(t.Context(), ln, access) }() // it ends with the test
	pool := x509.NewCertPool()
	pool.AddCert(access.cert.Leaf)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost:"+port+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("%d", resp.StatusCode)
	}
	plain, err := http.Get("http://localhost:" + port + "/metrics")
	if err == nil {
		plain.Body.Close()
		if plain.StatusCode == 200 {
			t.Error("it answers without TLS")
		}
	}
}

func TestWeakTokensAndNamelessCertificatesAreRefused(t *testing.T) {
	if _, err := secured(t); err == nil || !strings.Contains(err.Error(), "names no host") {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "token")
	for text, mode := range map[string]os.FileMode{"short": 0o600, "": 0o600, strings.Repeat("a b", 20): 0o600, token: 0o644, strings.Repeat("a", 5000): 0o600} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := readToken(path); err == nil {
			t.Errorf("%q with mode %o is taken", text, mode)
		}
	}
}

// What a stranger says to the TLS port is no line of ours; what fails here is.
func TestStrangersLeaveNoLines(t *testing.T) {
	var said strings.Builder
	l := log.New(ours{&said}, "", 0)
	l.Print("http: TLS handshake error from 192.0.2.7:4711: client sent an HTTP request to an HTTPS server")
	l.Print("http: panic serving 192.0.2.7:4711: x")
	if got := said.String(); strings.Contains(got, "handshake") || !strings.Contains(got, "panic serving") {
		t.Error(got)
	}
}
