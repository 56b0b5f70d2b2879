package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

const (
	nfsPackages = "nfs-ganesha nfs-ganesha-vfs rpcbind"
	nfsPort     = 2049
	mountPort   = 20048
	portmapPort = 111
	nfsProgram  = 100003 // RFC 7530, 1813
	mountProg   = 100005 // RFC 1813, appendix I
	portmapProg = 100000 // RFC 1833
	shareName   = "share"
)

func (s *Server) planNFS() (plan, error) {
	plugins, err := ganeshaPlugins()
	if err != nil {
		return plan{}, err
	}
	return plan{
		programs: []string{"ganesha.nfsd", "rpcbind"},
		packages: nfsPackages,
		dirs:     []string{"state"},
		files:    map[string]string{"ganesha.conf": s.ganeshaConf(plugins)},
		daemons: [][]string{
			{"rpcbind", "-f", "-h", s.addr.String()},
			{"ganesha.nfsd", "-F", "-f", s.path("ganesha.conf"), "-L", s.path("log", "ganesha.nfsd"), "-p", s.path("run", "ganesha.pid")},
		},
		// It ends if the port mapper does not take its programs.
		first: []string{"portmap", s.at(portmapPort)},
		probe: []string{"nfs", s.at(nfsPort), s.at(portmapPort)},
	}, nil
}

// ganeshaPlugins finds the directory of the file system modules (FSAL); distributions differ
// in its place.
func ganeshaPlugins() (string, error) {
	for _, pattern := range []string{"/usr/lib/*/ganesha/libfsalvfs.so", "/usr/lib64/ganesha/libfsalvfs.so", "/usr/lib/ganesha/libfsalvfs.so"} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return filepath.Dir(found[0]), nil
		}
	}
	return "", fmt.Errorf("nfs-ganesha's VFS module is missing: %w", missing(nfsPackages))
}

// ganeshaConf follows ganesha-core-config(8) and ganesha-export-config(8).
func (s *Server) ganeshaConf(plugins string) string {
	core := []string{
		"Bind_addr = " + s.addr.String(), fmt.Sprintf("NFS_Port = %d", nfsPort), fmt.Sprintf("MNT_Port = %d", mountPort),
		"Protocols = 3, 4", "Enable_NLM = false", "Enable_RQUOTA = false", "Enable_UDP = false",
		"Mount_Path_Pseudo = true", fmt.Sprintf("Plugins_Dir = %q", plugins),
	}
	export := []string{
		"Export_Id = 1", fmt.Sprintf("Path = %q", s.spec.Share), fmt.Sprintf("Pseudo = %q", "/"+shareName),
		"Access_Type = RW", "Squash = None", "SecType = sys", "Protocols = 3, 4", "Transports = TCP",
		"FSAL { Name = VFS; }",
	}
	v4 := []string{"Graceless = true", "RecoveryBackend = fs", fmt.Sprintf("RecoveryRoot = %q", s.path("state")), "Only_Numeric_Owners = true"}
	return block("NFS_CORE_PARAM", core) + block("NFS_KRB5", []string{"Active_krb5 = false", fmt.Sprintf("KeytabPath = %q", s.path("none"))}) + block("NFSv4", v4) + block("EXPORT", export)
}

func block(name string, lines []string) string {
	var b strings.Builder
	b.WriteString(name + " {\n")
	for _, l := range lines {
		end := ";"
		if strings.HasSuffix(l, "}") {
			end = ""
		}
		b.WriteString("\t" + l + end + "\n")
	}
	return b.String() + "}\n"
}

// nfsExchange calls the null procedure of NFSv4 and v3, and asks the port mapper at args[0]
// for NFSv3 and its mount protocol, which an NFSv3 client needs.
func nfsExchange(c net.Conn, args []string) error {
	for _, version := range []uint32{4, 3} {
		if err := nfsNull(c, version); err != nil {
			return err
		}
	}
	if len(args) == 0 {
		return nil
	}
	if _, err := netip.ParseAddrPort(args[0]); err != nil {
		return err
	}
	for _, program := range []uint32{nfsProgram, mountProg} {
		if err := tryOnce(args[0], func(c net.Conn, _ []string) error { return isMapped(c, program) }, nil); err != nil {
			return fmt.Errorf("port mapper: %w", err)
		}
	}
	return nil
}

func nfsNull(c net.Conn, version uint32) error {
	if _, err := rpcCall(c, nfsProgram, version, 0, nil); err != nil {
		return fmt.Errorf("NFSv%d: %w", version, err)
	}
	return nil
}

// isMapped asks for the TCP port of version 3 of program (RFC 1833, PMAPPROC_GETPORT).
func isMapped(c net.Conn, program uint32) error {
	const version, getport, tcp = 2, 3, 6
	res, err := rpcCall(c, portmapProg, version, getport, xdr(program, 3, tcp, 0))
	if err != nil {
		return err
	}
	if len(res) < 4 || binary.BigEndian.Uint32(res) == 0 {
		return fmt.Errorf("program %d is not registered", program)
	}
	return nil
}

func xdr(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

const rpcXID = 0x6c696e65

// rpcCall makes one call without credentials over TCP (RFC 5531, sections 9
// and 11) and returns its results.
func rpcCall(c net.Conn, program, version, procedure uint32, args []byte) ([]byte, error) {
	const call, rpcVersion, authNone, lastFragment = 0, 2, 0, 1 << 31
	msg := append(xdr(rpcXID, call, rpcVersion, program, version, procedure, authNone, 0, authNone, 0), args...)
	if _, err := c.Write(append(xdr(lastFragment|uint32(len(msg))), msg...)); err != nil {
		return nil, err
	}
	var mark [4]byte
	if _, err := io.ReadFull(c, mark[:]); err != nil {
		return nil, err
	}
	const longest = 4096
	n := binary.BigEndian.Uint32(mark[:]) &^ lastFragment
	if n > longest {
		return nil, fmt.Errorf("an answer of %d bytes to a small call", n)
	}
	reply := make([]byte, n)
	if _, err := io.ReadFull(c, reply); err != nil {
		return nil, err
	}
	return rpcResult(reply)
}

// rpcResult checks that reply is an accepted and successful one.
func rpcResult(reply []byte) ([]byte, error) {
	word := func(i int) uint32 { return binary.BigEndian.Uint32(reply[4*i:]) }
	if len(reply) < 24 || word(0) != rpcXID || word(1) != 1 {
		return nil, fmt.Errorf("not an RPC reply: %d bytes", len(reply))
	}
	if word(2) != 0 {
		return nil, fmt.Errorf("RPC denied: %d", word(3))
	}
	verifier := int64(word(4)) // its length; XDR pads it to words
	at := 20 + (verifier+3)/4*4
	if at+4 > int64(len(reply)) {
		return nil, fmt.Errorf("RPC reply cut short after %d bytes", len(reply))
	}
	if status := binary.BigEndian.Uint32(reply[at:]); status != 0 {
		return nil, fmt.Errorf("RPC not done: accept status %d", status)
	}
	return reply[at+4:], nil
}
