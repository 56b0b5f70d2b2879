package tree

import "encoding/binary"

// trivialACL tells whether an NFSv4 ACL, in the XDR of system.nfs4_acl (RFC 7530, 6.2.1: a
// count, then of each entry type, flags, mask and who), says no more than a mode does: it
// speaks of OWNER@, GROUP@ and EVERYONE@ alone, and hands nothing down. Every file of an
// NFSv4 mount has one; only what a mode does not say can be lost. What cannot be read is
// not trivial.
func trivialACL(b []byte) bool {
	const allow, deny = 0, 1
	const groupFlag = 0x40 // GROUP@ is said to be a group
	if len(b) < 4 {
		return false
	}
	n := binary.BigEndian.Uint32(b)
	b = b[4:]
	for range n {
		if len(b) < 16 {
			return false
		}
		kind, flags, size := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), uint64(binary.BigEndian.Uint32(b[12:]))
		padded := (size + 3) / 4 * 4
		if kind != allow && kind != deny || flags&^groupFlag != 0 || uint64(len(b)-16) < padded {
			return false
		}
		switch string(b[16 : 16+size]) {
		case "OWNER@", "GROUP@", "EVERYONE@":
		default:
			return false
		}
		b = b[16+padded:]
	}
	return len(b) == 0
}
