package fleet

import (
	"bytes"
	"strings"
	"testing"
)

// A message is refused unless it is, to the byte of head and body, one that the key in it has
// signed: whoever changes one is refused.
func FuzzMessage(f *testing.F) {
	k, err := keysOf(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		f.Fatal(err)
	}
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"facts"}`)
	asked, err := seal(k, forRequest, request{V: 1, Site: "s", Key: k.Public(), Method: "facts", Sum: sumOf(body)}, body)
	if err != nil {
		f.Fatal(err)
	}
	told, err := seal(k, forHost, said{V: 1, Site: "s", Key: k.Public(), Stream: "live", Sum: sumOf(body)}, body)
	if err != nil {
		f.Fatal(err)
	}
	if _, _, err := openRequest(asked); err != nil {
		f.Fatal(err)
	}
	if _, _, err := openSaid(told, "s", k.ID(), "live"); err != nil {
		f.Fatal(err)
	}
	for _, m := range [][]byte{asked, told, asked[:40], nil, {0xff, 0xff}, append(bytes.Clone(asked), 'x')} {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		if r, _, err := openRequest(msg); err == nil && bytes.Equal(r.Key, k.Public()) && !bytes.Equal(msg, asked) {
			t.Errorf("a request that nobody signed: %q", msg)
		}
		if _, _, err := openSaid(msg, "s", k.ID(), "live"); err == nil && !bytes.Equal(msg, told) {
			t.Errorf("words that the host never said: %q", msg)
		}
	})
}

// Subjects are taken apart as they were put together, and a selector chooses what it says.
func FuzzNames(f *testing.F) {
	for _, s := range []string{upSubject("s", "i", "live"), downSubject("s", "i", "facts", true), "all", "nas1,nas2", "role=dtn, rack=4", "a=b,a=c", "...", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if site, id, method, ro, err := parseDown(s); err == nil && downSubject(site, id, method, ro) != s {
			t.Errorf("%q", s)
		}
		if site, id, stream, err := parseUp(s); err == nil && upSubject(site, id, stream) != s {
			t.Errorf("%q", s)
		}
		if sel, err := ParseSelector(s); err == nil && len(sel.names) > 0 && len(sel.label) == 0 {
			if !sel.Has(sel.names[0], nil) || sel.Has(strings.Repeat("x", 64), nil) {
				t.Errorf("%q chooses otherwise", s)
			}
		}
	})
}
