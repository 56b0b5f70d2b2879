package host

import (
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	for in, want := range map[string]Name{
		"nas1":                    {Reach: SSH, Host: "nas1"},
		"root@nas1":               {Reach: SSH, User: "root", Host: "nas1"},
		"nas1:/export":            {Reach: SSH, Host: "nas1", Path: "/export"},
		"a.b@nas-1.lan:/x/y@z:1":  {Reach: SSH, User: "a.b", Host: "nas-1.lan", Path: "/x/y@z:1"},
		"192.0.2.1":               {Reach: SSH, Host: "192.0.2.1"},
		"[2001:db8::1]":           {Reach: SSH, Host: "2001:db8::1"},
		"me@[2001:db8::1]:/x":     {Reach: SSH, User: "me", Host: "2001:db8::1", Path: "/x"},
		"lab:client1":             {Reach: Lab, Host: "client1"},
		"lab:ten/client1:/export": {Reach: Lab, Lab: "ten", Host: "client1", Path: "/export"},
		"site:nas1":               {Reach: Site, Host: "nas1"},
		"site:ten/nas1:/export":   {Reach: Site, Site: "ten", Host: "nas1", Path: "/export"},
		"/mnt/nas":                {Reach: Local, Path: "/mnt/nas"},
		"/mnt/a@b:c":              {Reach: Local, Path: "/mnt/a@b:c"},
		"./nas":                   {Reach: Local, Path: "./nas"},
		"../nas":                  {Reach: Local, Path: "../nas"},
		".":                       {Reach: Local, Path: "."},
		"_nas":                    {Reach: SSH, Host: "_nas"},
		strings.Repeat("a", 253):  {Reach: SSH, Host: strings.Repeat("a", 253)},
	} {
		got, err := ParseName(in)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", in, got, err, want)
		}
		if err == nil && got.String() != in {
			t.Errorf("%q prints as %q", in, got)
		}
	}
}

func TestParseNameRefuses(t *testing.T) {
	for _, in := range []string{
		"", "-oProxyCommand=touch x", "-l", "root@-oProxyCommand=x", "-l@nas1", "lab:-x", "lab:-a/b", "lab:",
		"site:", "site:-x", "site:a/b/c", "site:a:b", "site:u@a",
		"nas1:export", "lab:a:b", "lab:/x", "lab:a/b/c", "nas 1", "nas1;reboot", "$(reboot)", "`x`", "na's", "nas1\n", "\x1b[2J", "nas1:/a\x00b",
		"a@b@c", "@nas1", "nas1@", "[nas1]", "[192.0.2.1]", "[2001:db8::1", "[2001:db8::1%-x]", "2001:db8::1", "nas\xff", strings.Repeat("a", 5000),
		strings.Repeat("a", 254), strings.Repeat("u", 65) + "@nas1", ".nas1", ".u@nas1", "nas1ä",
	} {
		if n, err := ParseName(in); err == nil {
			t.Errorf("%q accepted as %+v", in, n)
		} else if strings.ContainsAny(err.Error(), "\x00\x1b\n") {
			t.Errorf("%q: the error carries control characters: %v", in, err)
		}
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"root@nas1:/x", "lab:a/b:/c", "site:a/b", "[fe80::1%eth0]:/x", "./x", "-x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		n, err := ParseName(in)
		if err != nil {
			return
		}
		if strings.HasPrefix(n.Host, "-") || strings.HasPrefix(n.User, "-") || strings.ContainsAny(n.Host+n.User+n.Lab+n.Site, " '\"`$;|&<>\\\n/") {
			t.Errorf("%q accepted as %+v", in, n)
		}
		if again, err := ParseName(n.String()); err != nil || again != n {
			t.Errorf("%q reads as %+v, prints as %q, reads as %+v, %v", in, n, n.String(), again, err)
		}
	})
}
