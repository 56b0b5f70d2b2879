package server

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// param is a text key of RFC 7143, section 13.
type param struct{ name, value string }

const (
	iscsiPort = 3260
	iscsiName = "iqn.2026-01.lab.linerate:" + shareName
	initiator = "iqn.2026-01.lab.linerate:probe"
	tgtTarget = "1" // tgtd's number of the target
)

func (s *Server) planISCSI() (plan, error) {
	at := s.at(iscsiPort)
	return plan{
		programs: []string{"tgtd", "tgtadm"},
		packages: "tgt",
		daemons:  [][]string{{"tgtd", "-f", "--iscsi", "portal=" + at}},
		probe:    []string{"iscsi", at},
		after:    s.tgtCommands(),
		last:     []string{"iscsi", at, iscsiName},
	}, nil
}

// tgtCommands create the target, as in tgtadm(8). The LUN is added before initiators are
// admitted, so that none sees a target without a LUN.
func (s *Server) tgtCommands() [][]string {
	adm := func(op, mode string, more ...string) []string {
		return append([]string{"tgtadm", "--lld", "iscsi", "--op", op, "--mode", mode, "--tid", tgtTarget}, more...)
	}
	return [][]string{
		adm("new", "target", "--targetname", iscsiName),
		adm("new", "logicalunit", "--lun", "1", "--backing-store", s.spec.Share),
		adm("bind", "target", "--initiator-address", "ALL"),
	}
}

// Fields of RFC 7143, 11.12 and 11.13 (login).
const (
	iscsiHeader     = 48
	opLogin         = 0x43 // immediate
	opLoginReply    = 0x23
	loginTransit    = 0x87 // from operational negotiation to full feature phase
	isidRandom      = 0x80 // the kind of the session's identifier
	longestPDU      = 1 << 16
	iscsiStatusByte = 36
)

// iscsiExchange logs in to the target args[0]. Without an argument it only checks that tgtd
// reads requests: as long as tgtd has no target, it closes the connection after each request.
func iscsiExchange(c net.Conn, args []string) error {
	if len(args) == 0 {
		_, err := iscsiLogin(c, iscsiName)
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	_, err := iscsiLogin(c, args[0])
	return err
}

// iscsiLogin logs in to target up to the full feature phase and returns the header of the last
// reply.
func iscsiLogin(c net.Conn, target string) ([]byte, error) {
	keys := append([]param{{"InitiatorName", initiator}, {"SessionType", "Normal"}, {"TargetName", target}}, usualKeys()...)
	var text []byte
	for _, k := range keys {
		text = append(text, k.name+"="+k.value+"\x00"...)
	}
	const turns = 4 // a target may send its own keys first
	for range turns {
		reply, err := loginTurn(c, text)
		if err != nil || reply[1]&loginTransit == loginTransit {
			return reply, err
		}
		text = nil
	}
	return nil, fmt.Errorf("no end to the login after %d turns", turns)
}

// usualKeys are all operational keys with their default values (RFC 7143, section 13): a
// target that gets them has nothing left to negotiate.
func usualKeys() []param {
	return []param{
		{"HeaderDigest", "None"}, {"DataDigest", "None"}, {"MaxRecvDataSegmentLength", "8192"}, {"MaxConnections", "1"},
		{"InitialR2T", "Yes"}, {"ImmediateData", "Yes"}, {"MaxBurstLength", "262144"}, {"FirstBurstLength", "65536"},
		{"DefaultTime2Wait", "2"}, {"DefaultTime2Retain", "20"}, {"MaxOutstandingR2T", "1"},
		{"DataPDUInOrder", "Yes"}, {"DataSequenceInOrder", "Yes"}, {"ErrorRecoveryLevel", "0"},
	}
}

func loginTurn(c net.Conn, text []byte) ([]byte, error) {
	h := make([]byte, iscsiHeader)
	h[0], h[1] = opLogin, loginTransit
	putLength(h, len(text))
	h[8] = isidRandom
	if err := sendPDU(c, h, text); err != nil {
		return nil, err
	}
	reply, _, err := readPDU(c)
	if err != nil {
		return nil, err
	}
	if reply[0]&0x3f != opLoginReply {
		return nil, fmt.Errorf("answered login with opcode %#x", reply[0])
	}
	if class := reply[iscsiStatusByte]; class != 0 {
		return nil, fmt.Errorf("login refused: status %d.%d", class, reply[iscsiStatusByte+1])
	}
	return reply, nil
}

// putLength sets the data segment's length, three bytes.
func putLength(h []byte, n int) { h[5], h[6], h[7] = byte(n>>16), byte(n>>8), byte(n) }

// sendPDU pads data to whole words, as section 11.1 asks.
func sendPDU(c net.Conn, h, data []byte) error {
	pad := make([]byte, (4-len(data)%4)%4)
	buf := append(append(append([]byte{}, h...), data...), pad...)
	_, err := c.Write(buf)
	return err
}

func readPDU(r io.Reader) (h, data []byte, err error) {
	h = make([]byte, iscsiHeader)
	if _, err := io.ReadFull(r, h); err != nil {
		return nil, nil, err
	}
	n := int(h[5])<<16 | int(h[6])<<8 | int(h[7])
	if n > longestPDU || h[4] != 0 {
		return nil, nil, fmt.Errorf("a PDU of %d bytes and %d extra words", n, h[4])
	}
	data = make([]byte, (n+3)/4*4)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, nil, err
	}
	return h, data[:n], nil
}
