package server

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
)

const (
	smbPort = 445
	smbUser = "root" // in smbd's own user database; owns the files
)

func (s *Server) planSMB() (plan, error) {
	password := make([]byte, 16)
	if _, err := rand.Read(password); err != nil {
		return plan{}, fmt.Errorf("choose password: %w", err)
	}
	secret := hex.EncodeToString(password)
	add := `smbpasswd -c "$0" -L -s -a ` + smbUser + ` <"$1"`
	return plan{
		programs: []string{"smbd", "smbpasswd"},
		packages: "samba",
		dirs:     []string{"run/private", "run/state", "run/cache", "run/lock", "run/ncalrpc"},
		files: map[string]string{
			"smb.conf": s.smbConf(),
			"secret":   secret + "\n" + secret + "\n",
			"login":    fmt.Sprintf("username=%s\npassword=%s\n", smbUser, secret),
		},
		before:  [][]string{{"sh", "-c", add, s.path("smb.conf"), s.path("secret")}},
		daemons: [][]string{{"smbd", "--foreground", "--no-process-group", "--configfile=" + s.path("smb.conf"), "--log-basename=" + s.path("log")}},
		probe:   []string{"smb", s.at(smbPort)},
	}, nil
}

// smbConf follows smb.conf(5).
func (s *Server) smbConf() string {
	lines := []string{
		"[global]", "server role = standalone server", "netbios name = LAB", "workgroup = LINERATE",
		"interfaces = " + s.addr.String(), "bind interfaces only = yes", fmt.Sprintf("smb ports = %d", smbPort),
		"disable netbios = yes", "multicast dns register = no", "load printers = no", "printcap name = /dev/null",
		"disable spoolss = yes", "usershare max shares = 0", "server min protocol = SMB2_10", "logging = file",
	}
	// These are below /run, which is the server's own: smbd creates sockets in them, and a
	// socket's path may not be longer than 107 bytes.
	for _, d := range []struct{ param, path string }{
		{"private dir", "/run/private"}, {"state directory", "/run/state"}, {"cache directory", "/run/cache"},
		{"lock directory", "/run/lock"}, {"pid directory", "/run"}, {"ncalrpc dir", "/run/ncalrpc"}, {"log file", s.path("log/smbd.log")},
	} {
		lines = append(lines, d.param+" = "+d.path)
	}
	lines = append(lines, "["+shareName+"]", "path = "+s.spec.Share, "read only = no")
	return strings.Join(lines, "\n") + "\n"
}

// Offsets and values of MS-SMB2, 2.2.1.2 (header), 2.2.3 and 2.2.4 (negotiate).
const (
	smb2Header    = 64
	smb2Dialect   = 0x0210
	smb2IsReply   = 1
	smb2Signature = "\xfeSMB"
)

// smbExchange negotiates an SMB2 dialect.
func smbExchange(c net.Conn) error {
	le := binary.LittleEndian
	h := make([]byte, smb2Header, 128)
	copy(h, smb2Signature)
	le.PutUint16(h[4:], smb2Header)
	le.PutUint16(h[14:], 1) // credits requested
	body := make([]byte, 36)
	le.PutUint16(body, 36)    // the structure's size
	le.PutUint16(body[2:], 1) // one dialect
	le.PutUint16(body[4:], 1) // signing is possible
	msg := le.AppendUint16(append(h, body...), smb2Dialect)
	// Direct TCP: a zero byte and three of length (MS-SMB2, 2.1).
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)); err != nil {
		return err
	}
	reply := make([]byte, 4+smb2Header+8)
	if _, err := io.ReadFull(c, reply); err != nil {
		return err
	}
	return checkNegotiated(reply[4:])
}

func checkNegotiated(reply []byte) error {
	le := binary.LittleEndian
	if len(reply) < smb2Header+8 || string(reply[:4]) != smb2Signature {
		return fmt.Errorf("not an SMB2 message")
	}
	status, command, flags := le.Uint32(reply[8:]), le.Uint16(reply[12:]), le.Uint32(reply[16:])
	if command != 0 || flags&smb2IsReply == 0 || status != 0 {
		return fmt.Errorf("negotiation refused: command %d, status %#x", command, status)
	}
	if d := le.Uint16(reply[smb2Header+4:]); d != smb2Dialect {
		return fmt.Errorf("negotiated dialect %#x, not %#x", d, smb2Dialect)
	}
	return nil
}
