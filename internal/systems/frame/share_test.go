package frame

import (
	"fmt"
	"strings"
	"testing"
)

func TestAShareableAnswerNamesNobody(t *testing.T) {
	frames := []struct{ name, text string }{
		{"nodename", "filer7.example.org"},
		{"links", "ix0: flags=8843<UP> mtu 1500\n\tether a0:36:9f:12:34:56\n\tinet 203.0.113.9 netmask 0xffffff00\n\tinet 10.0.0.8 netmask 0xffffff00\n\tinet6 fe80::a236:9fff:fe12:3456%ix0 prefixlen 64\n\tinet6 2a01:4f8::7 prefixlen 64"},
		{"boot", "kern.boot_id 0x4c8609698ad1a11cdc00cf6eb7d954e1 6E2A3B0C-5B5D-4C9B-9F0E-0A1B2C3D4E5F"},
		{"cpus", "0\ton-line   since 11/24/2026 08:00:01 filer7"},
		{"nfs", "server:/home/anna on /mnt"},
		{"release", "v9.5.0.0"},
		{"pools", "\t  c0t5000C500A1B2C3D4d0  ONLINE       0     0     0\n\t  c0t600144F0C0AC0D0000004D6A5CDB0001d0s0  ONLINE\n\t  c1t5d0  ONLINE"},
	}
	var b strings.Builder
	b.WriteString("Welcome to filer7, anna\nlinerate-frames 1\n")
	for _, f := range frames {
		fmt.Fprintf(&b, "begin %s 0 %d\n%s\n", f.name, len(f.text), f.text)
	}
	fmt.Fprintf(&b, "linerate-frames end %d\n", len(frames))
	got, err := Share([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"filer7", "example.org", "12:34:56", "3456", "203.0.113.9", "2a01", "4c8609", "6E2A", "5000C500", "600144F0", "anna", "server"} {
		if strings.Contains(string(got), secret) {
			t.Errorf("%q stays: %s", secret, got)
		}
	}
	parsed, err := Parse(got)
	if err != nil || len(parsed) != len(frames)-1 {
		t.Fatalf("%d frames, %v: %s", len(parsed), err, got)
	}
	for name, kept := range map[string]string{"links": "inet 10.0.0.8 netmask 0xffffff00", "cpus": "08:00:01", "release": "v9.5.0.0", "pools": "c1t5d0  ONLINE"} {
		if !strings.Contains(parsed[name].Text, kept) {
			t.Errorf("%s lost %q: %s", name, kept, parsed[name].Text)
		}
	}
	if _, err := Share([]byte(b.String()[:200])); err == nil {
		t.Error("an answer that is cut off is shared")
	}
}

// The nodes of a cluster are CLUSTER-1, CLUSTER-2 and so on: one tells the names of all.
func TestAShareableAnswerNamesNoOtherNode(t *testing.T) {
	lines := "acme-1: x: 1\nacme-2: x: 0\nacme-12: x: 0"
	got, err := Share(fmt.Appendf(nil, "linerate-frames 1\nbegin nodename 0 6\nacme-1\nbegin cluster:x 0 %d\n%s\nlinerate-frames end 2\n", len(lines), lines))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(got); strings.Contains(s, "acme") || !strings.Contains(s, "host: x: 1\nhost-2: x: 0\nhost-12: x: 0") {
		t.Errorf("%s", s)
	}
}

// What is not known cannot be taken out.
func TestAnAnswerWithoutTheHostsNameIsNotShared(t *testing.T) {
	for _, nodename := range []string{"", "begin nodename 1 17\nPermission denied\n", "begin nodename 0 0\n\n"} {
		n := 1 + min(len(nodename), 1)
		if got, err := Share(fmt.Appendf(nil, "linerate-frames 1\n%sbegin cluster:x 0 6\nacme-1\nlinerate-frames end %d\n", nodename, n)); err == nil || !strings.Contains(err.Error(), "did not name the host") {
			t.Errorf("%q: %s, %v", nodename, got, err)
		}
	}
}
