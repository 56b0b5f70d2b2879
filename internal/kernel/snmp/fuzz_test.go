package snmp

import (
	"strings"
	"testing"

	"github.com/gosnmp/gosnmp"
)

// A login is whole or refused, whatever the file holds, and no error holds what it holds.
func FuzzLogin(f *testing.F) {
	f.Add([]byte("community: hush"))
	f.Add([]byte("user: u\nauth: sha256\nauth_secret: 12345678\nprivacy: aes\nprivacy_secret: 12345678"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxLogin {
			return
		}
		l, err := ParseLogin(b)
		if err == nil && (l.Community == "") == (l.User == "") {
			t.Errorf("%q gives a login of neither kind", b)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%v tells of the secret", err)
		}
	})
}

// What a switch answers is decoded by the library alone; a session turns a panic of it into
// an error, as for any answer that it cannot read.
func FuzzReply(f *testing.F) {
	g := &gosnmp.GoSNMP{Version: gosnmp.Version2c, Community: "public"}
	for _, v := range []gosnmp.SnmpPDU{
		{Name: ".1.3.6.1.2.1.2.2.1.4.1", Type: gosnmp.Integer, Value: 1500},
		{Name: ".1.3.6.1.2.1.31.1.1.1.1.1", Type: gosnmp.OctetString, Value: []byte("Ethernet1")},
	} {
		b, err := (&gosnmp.SnmpPacket{Version: gosnmp.Version2c, Community: "public", PDUType: gosnmp.GetResponse, Variables: []gosnmp.SnmpPDU{v}}).MarshalMsg()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return // more than a datagram
		}
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("%x: %v", b, r)
			}
		}()
		p, err := g.SnmpDecodePacket(b)
		if err != nil {
			return
		}
		for _, v := range p.Variables {
			row(v)
		}
	})
}
