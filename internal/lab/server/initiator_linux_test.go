package server

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
)

// session is an iSCSI initiator that is just enough to read and write blocks.
type session struct {
	c               net.Conn
	cmdSN, expectSN uint32
	tag             uint32
}

// Opcodes and flags of RFC 7143, 11.3, 11.4 and 11.7.
const (
	opCommand, opResponse, opDataIn = 0x01, 0x21, 0x25
	flagFinal, flagRead, flagWrite  = 0x80, 0x40, 0x20
	flagStatus                      = 0x01
)

// command sends one SCSI command to unit 1 with out as immediate data, and
// returns its status and what it read.
func (s *session) command(cdb, out []byte, expect int) (status byte, in []byte, err error) {
	h := make([]byte, iscsiHeader)
	h[0], h[1], h[9] = opCommand, flagFinal|1, 1
	if len(out) > 0 {
		h[1] |= flagWrite
	} else if expect > 0 {
		h[1] |= flagRead
	}
	putLength(h, len(out))
	s.tag++
	for i, v := range []uint32{s.tag, uint32(max(expect, len(out))), s.cmdSN, s.expectSN} {
		binary.BigEndian.PutUint32(h[16+4*i:], v)
	}
	copy(h[32:], cdb)
	s.cmdSN++
	if err := sendPDU(s.c, h, out); err != nil {
		return 0, nil, err
	}
	in = make([]byte, expect)
	for {
		r, data, err := readPDU(s.c)
		if err != nil {
			return 0, nil, err
		}
		op := r[0] & 0x3f
		if op == opDataIn {
			copy(in[binary.BigEndian.Uint32(r[40:]):], data)
		}
		if op == opResponse || op == opDataIn && r[1]&flagStatus != 0 {
			s.expectSN = binary.BigEndian.Uint32(r[24:]) + 1
			return r[3], in, nil
		}
		if op != opDataIn {
			return 0, nil, fmt.Errorf("opcode %#x in answer to a command", op)
		}
	}
}

// iscsiFlip reads a whole unit, prints its hash, and writes it back with all
// bits turned. args are the target, its block size and its size.
func iscsiFlip(c net.Conn, args []string) error {
	reply, err := iscsiLogin(c, args[0])
	if err != nil {
		return err
	}
	block, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	s := session{c: c, expectSN: binary.BigEndian.Uint32(reply[24:]) + 1}
	// Test unit ready: the first command after a login is told of a reset.
	if _, _, err := s.command(make([]byte, 6), nil, 0); err != nil {
		return fmt.Errorf("test unit ready: %w", err)
	}
	const chunk = 8192 // what any target takes with a command
	sum := sha256.New()
	for at := 0; at < size; at += chunk {
		_, in, err := s.blocks(0x28, at/block, chunk/block, nil, chunk)
		if err != nil {
			return err
		}
		sum.Write(in)
		for i := range in {
			in[i] ^= 0xff
		}
		if _, _, err := s.blocks(0x2a, at/block, chunk/block, in, 0); err != nil {
			return err
		}
	}
	fmt.Printf("%x\n", sum.Sum(nil))
	return nil
}

// blocks is READ (10) or WRITE (10) of SBC-3.
func (s *session) blocks(op byte, first, n int, out []byte, expect int) (byte, []byte, error) {
	cdb := make([]byte, 10)
	cdb[0] = op
	binary.BigEndian.PutUint32(cdb[2:], uint32(first))
	binary.BigEndian.PutUint16(cdb[7:], uint16(n))
	status, in, err := s.command(cdb, out, expect)
	if err == nil && status != 0 {
		err = fmt.Errorf("command %#x at block %d: status %d", op, first, status)
	}
	return status, in, err
}
