package tree

import (
	"encoding/binary"
	"testing"
)

type ace struct {
	kind, flags uint32
	who         string
}

func acl(list ...ace) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(list)))
	for _, a := range list {
		b = binary.BigEndian.AppendUint32(b, a.kind)
		b = binary.BigEndian.AppendUint32(b, a.flags)
		b = binary.BigEndian.AppendUint32(b, 0x1601bf)
		b = binary.BigEndian.AppendUint32(b, uint32(len(a.who)))
		b = append(b, a.who...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
	}
	return b
}

func TestAnACLThatSaysNoMoreThanAModeIsTrivial(t *testing.T) {
	usual := []ace{{0, 0, "OWNER@"}, {0, 0x40, "GROUP@"}, {0, 0, "EVERYONE@"}}
	for name, c := range map[string]struct {
		acl  []byte
		want bool
	}{
		"mode": {acl(usual...), true}, "denied": {acl(append(usual, ace{1, 0, "GROUP@"})...), true}, "none": {acl(), true},
		"user": {acl(append(usual, ace{0, 0, "alice@x"})...), false}, "inherited": {acl(ace{0, 3, "OWNER@"}), false},
		"audit": {acl(ace{2, 0, "OWNER@"}), false}, "cut": {acl(usual...)[:30], false}, "long": {append(acl(usual...), 0, 0, 0, 0), false}, "empty": {nil, false},
		"huge": {[]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255}, false},
	} {
		if got := trivialACL(c.acl); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzTrivialACL(f *testing.F) {
	f.Add(acl(ace{0, 0, "OWNER@"}))
	f.Fuzz(func(_ *testing.T, b []byte) { trivialACL(b) })
}
