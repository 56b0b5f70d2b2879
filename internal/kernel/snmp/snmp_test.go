package snmp

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gosnmp/gosnmp"
)

func TestLogin(t *testing.T) {
	for text, fails := range map[string]string{
		"community: hush": "",
		"user: u\nauth: sha256\nauth_secret: 12345678\nprivacy: aes\nprivacy_secret: 12345678": "",
		"user: u":                               "",
		"community: hush\nuser: u":              "either",
		"{}":                                    "either",
		"user: u\nauth: md5\nauth_secret: hush": "want auth sha",
		"user: u\nauth: sha":                    "goes with",
		"user: u\nprivacy: aes\nprivacy_secret: hush": "goes with",
		"community: hush\npassword: hush":             "want YAML",
		"community: [hush":                            "want YAML",
	} {
		_, err := ParseLogin([]byte(text))
		if (err != nil) != (fails != "") || err != nil && (!strings.Contains(err.Error(), fails) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%q: %v", text, err)
		}
	}
	file := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(file, []byte("community: hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := ReadLogin(file); err != nil || l.Community != "hush" {
		t.Errorf("%+v, %v", l, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLogin(file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("read what others may read: %v", err)
	}
}

// agent answers one GETBULK after the other with the values of one column.
func agent(t *testing.T, column string, values ...gosnmp.SnmpPDU) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	codec := &gosnmp.GoSNMP{Version: gosnmp.Version2c}
	go func() {
		defer close(done)
		buf := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			p, err := codec.SnmpDecodePacket(buf[:n])
			if err != nil || p.Community != "hush" || len(p.Variables) == 0 {
				continue
			}
			p.PDUType, p.Error, p.ErrorIndex = gosnmp.GetResponse, 0, 0
			if "."+column == "."+strings.TrimPrefix(p.Variables[0].Name, ".") {
				p.Variables = values
			} else {
				p.Variables = []gosnmp.SnmpPDU{{Name: p.Variables[0].Name, Type: gosnmp.EndOfMibView}}
			}
			p.NonRepeaters, p.MaxRepetitions = 0, 0
			b, err := p.MarshalMsg()
			if err != nil {
				continue
			}
			if _, err := conn.WriteTo(b, from); err != nil {
				return
			}
		}
	}()
	return conn.LocalAddr().String()
}

func TestWalk(t *testing.T) {
	const column = "1.3.6.1.2.1.2.2.1.4"
	at := agent(t, column,
		gosnmp.SnmpPDU{Name: "." + column + ".1", Type: gosnmp.Integer, Value: 1500},
		gosnmp.SnmpPDU{Name: "." + column + ".2", Type: gosnmp.OctetString, Value: []byte("Ethernet2")},
		gosnmp.SnmpPDU{Name: "." + column + ".3.7", Type: gosnmp.Counter64, Value: uint64(1) << 63},
		gosnmp.SnmpPDU{Name: ".1.3.6.1.2.1.2.2.1.5.1", Type: gosnmp.Integer, Value: 7},
	)
	s, err := Open(t.Context(), at, Login{Community: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.Walk(column)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if rows[0].Index != "1" || rows[0].Int != 1500 || string(rows[1].Bytes) != "Ethernet2" || rows[2].Index != "3.7" || rows[2].Int != 1<<63-1 {
		t.Errorf("%+v", rows)
	}
	if rows, err := s.Walk("1.3.6.1.2.1.31.1.1.1.1"); err != nil || len(rows) != 0 {
		t.Errorf("a column that is not there: %+v, %v", rows, err)
	}
}

// A switch that does not know the community says nothing: the error names the
// switch, and not the community.
func TestWalkWithAWrongCommunity(t *testing.T) {
	s, err := Open(context.Background(), agent(t, "1.3"), Login{Community: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Walk("1.3.6.1.2.1.2.2.1.4"); err == nil || !strings.Contains(err.Error(), "ask switch 127.0.0.1:") || !strings.Contains(err.Error(), "the community is wrong") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for at, l := range map[string]Login{"127.0.0.1": {}, "127.0.0.1:0": {Community: "hush"}, "127.0.0.1:http": {Community: "hush"}} {
		if s, err := Open(t.Context(), at, l); err == nil {
			t.Errorf("%s: opened", at)
			_ = s.Close()
		}
	}
}
