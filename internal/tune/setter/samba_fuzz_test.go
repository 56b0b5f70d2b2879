package setter

import (
	"context"
	"strings"
	"testing"
)

// confTree is an smb.conf and nothing else.
type confTree struct {
	Tree
	text string
}

func (c *confTree) ReadFile(string) ([]byte, error)      { return []byte(c.text), nil }
func (c *confTree) ReplaceFile(_ string, b []byte) error { c.text = string(b); return nil }
func (c *confTree) ReadDir(string) ([]string, error)     { return nil, nil }
func silent(context.Context, ...string) ([]byte, error)  { return nil, nil }

// Whatever an smb.conf holds, a change that is accepted reads back as it was asked for, and
// restoring the value that was read restores every byte; else the change is refused and
// nothing is written.
func FuzzSamba(f *testing.F) {
	f.Add("[global]\n\tserver multi channel support = yes\n", "unset")
	f.Add("[global]\n"+takenMark+"\tserver multi channel support = no\n\n[homes]\n", "yes")
	f.Add("server multi channel support =\n[global]\nserver multi channel support = no\nserver multi channel support = yes\n", "unset")
	f.Add(addedMark+"\nserver multi channel support = 1\n", "no")
	f.Add(takenMark+"server multi channel support=\n", "0")
	f.Fuzz(func(t *testing.T, conf, value string) {
		at := Place{Setting: "linux.samba.multichannel"}
		tree := &confTree{text: conf}
		s := Samba{Tree: tree, Run: silent}
		was, err := s.Read(t.Context(), at, "")
		if err != nil {
			return
		}
		want, err := s.Canonical(at, value)
		if err != nil {
			return
		}
		if err := s.Write(t.Context(), at, value); err != nil {
			if tree.text != conf {
				t.Fatalf("%q to %s: refused (%v), but it is %q", conf, value, err, tree.text)
			}
			return
		}
		between := tree.text
		if got, err := s.Read(t.Context(), at, ""); err != nil || got != want {
			t.Fatalf("%q to %s: %q, which reads %q (%v)", conf, value, between, got, err)
		}
		if err := s.Write(t.Context(), at, was); err != nil || tree.text != conf {
			t.Fatalf("%q to %s and back to %s: %q, by way of %q (%v)", conf, value, was, tree.text, between, err)
		}
		if strings.Count(between, "\n") > strings.Count(conf, "\n")+2 {
			t.Fatalf("%q to %s adds more than a line and its mark: %q", conf, value, between)
		}
	})
}
