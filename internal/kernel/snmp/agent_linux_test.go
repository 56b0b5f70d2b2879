package snmp

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
)

const ifDescr = "1.3.6.1.2.1.2.2.1.2"

// startAgent runs Net-SNMP's agent on the loopback address, with a community and
// two users, and returns where it listens.
func startAgent(t *testing.T) string {
	t.Helper()
	labtest.Needs(t, "snmpd")
	program, err := kernel.FindProgram("snmpd", os.Getenv("PATH")+":/usr/sbin:/sbin")
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.LocalAddr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "snmpd.conf")
	text := "agentaddress udp:" + at + `
rocommunity hush 127.0.0.1
createUser reader SHA-256 "authsecret1" AES "privsecret1"
rouser reader priv
createUser signer SHA "authsecret2"
rouser signer auth
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-f", "-LE", "3", "-C", "-c", file)
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir, "MIBS=")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var code *exec.ExitError
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil && !errors.As(err, &code) {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(said.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err = walk(t, at, Login{Community: "hush"}); err == nil {
			return at
		}
		if time.Now().After(deadline) {
			t.Fatalf("snmpd does not answer: %v", err)
		}
	}
}

func walk(t *testing.T, at string, l Login) ([]Row, error) {
	t.Helper()
	s, err := Open(t.Context(), at, l)
	if err != nil {
		return nil, err
	}
	rows, err := s.Walk(ifDescr)
	return rows, errors.Join(err, s.Close())
}

// A real agent answers each kind of login, and what is wrong with one is said
// without any of its secrets.
func TestAgentOfNetSNMP(t *testing.T) {
	at := startAgent(t)
	for name, c := range map[string]struct {
		login Login
		fails string
	}{
		"community":         {Login{Community: "hush"}, ""},
		"signed, encrypted": {Login{User: "reader", Auth: "sha256", AuthSecret: "authsecret1", Privacy: "aes", PrivacySecret: "privsecret1"}, ""},
		"signed":            {Login{User: "signer", Auth: "sha", AuthSecret: "authsecret2"}, ""},
		"wrong community":   {Login{Community: "wrongsecret"}, "the community is wrong"},
		"wrong secret":      {Login{User: "reader", Auth: "sha256", AuthSecret: "wrongsecret", Privacy: "aes", PrivacySecret: "privsecret1"}, "those that the switch has"},
		"wrong protocol":    {Login{User: "reader", Auth: "sha512", AuthSecret: "wrongsecret", Privacy: "aes", PrivacySecret: "privsecret1"}, "those that the switch has"},
		"nobody":            {Login{User: "nobody", Auth: "sha256", AuthSecret: "wrongsecret"}, "those that the switch has"},
	} {
		rows, err := walk(t, at, c.login)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "secret1") || strings.Contains(err.Error(), "wrongsecret") {
				t.Errorf("%s: %d rows, %v", name, len(rows), err)
			}
			continue
		}
		names := ""
		for _, r := range rows {
			names += fmt.Sprintf(" %s=%s", r.Index, r.Bytes)
		}
		if err != nil || !strings.Contains(names, "1=lo") {
			t.Errorf("%s:%s, %v", name, names, err)
		}
	}
	// One who may not read the table is shown an empty one.
	rows, err := walk(t, at, Login{User: "reader", Auth: "sha256", AuthSecret: "authsecret1"})
	if err != nil || len(rows) > 0 {
		t.Errorf("a user who has to encrypt and does not: %d rows, %v", len(rows), err)
	}
}
