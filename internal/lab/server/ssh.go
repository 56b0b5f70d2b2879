package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
)

const sshPort = 22

// planSSH runs sshd with keys, a configuration and a user table of its own. The table has root
// and the unprivileged user that sshd switches to, both without a password.
func (s *Server) planSSH() (plan, error) {
	key := func(name string) []string {
		return []string{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", s.path(name)}
	}
	known := fmt.Sprintf(`{ printf '%%s ' '%s'; cat "$0"; } >"$1"`, s.addr)
	return plan{
		programs: []string{"sshd", "ssh-keygen"},
		packages: "openssh-server openssh-client",
		dirs:     []string{"home", "run/sshd"},
		files: map[string]string{
			"sshd_config": s.sshdConf(),
			"ssh_config":  s.sshConf(),
			"passwd":      "root:x:0:0::" + s.path("home") + ":/bin/sh\nsshd:x:65533:65533::/run/sshd:/usr/sbin/nologin\nnobody:x:65534:65534::/:/usr/sbin/nologin\n",
			"group":       "root:x:0:\nsshd:x:65533:\nnogroup:x:65534:\n",
			"shadow":      "root:*:20000::::::\nsshd:*:20000::::::\n",
		},
		covers:  []cover{{"/etc/passwd", "passwd"}, {"/etc/group", "group"}, {"/etc/shadow", "shadow"}},
		before:  [][]string{key("host_key"), key("user_key"), {"sh", "-c", known, s.path("host_key.pub"), s.path("known_hosts")}},
		daemons: [][]string{{s.sshd(), "-D", "-e", "-f", s.path("sshd_config")}},
		probe:   []string{"ssh", s.at(sshPort)},
	}, nil
}

// sshd returns the absolute path of sshd, which it needs to start itself again for each
// connection.
func (s *Server) sshd() string {
	path, _ := program("sshd") // findPrograms refuses if there is none
	return path
}

// sshdConf follows sshd_config(5).
func (s *Server) sshdConf() string {
	return strings.Join([]string{
		"ListenAddress " + s.addr.String(), "HostKey " + s.path("host_key"), "AuthorizedKeysFile " + s.path("user_key.pub"),
		"StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin prohibit-password",
		"PidFile none", "PrintMotd no", "Subsystem sftp internal-sftp",
	}, "\n") + "\n"
}

// sshConf follows ssh_config(5).
func (s *Server) sshConf() string {
	return strings.Join([]string{
		"Host *", "User root", "IdentityFile " + s.path("user_key"), "IdentitiesOnly yes", "IdentityAgent none", "BatchMode yes",
		"UserKnownHostsFile " + s.path("known_hosts"), "GlobalKnownHostsFile /dev/null", "StrictHostKeyChecking yes",
	}, "\n") + "\n"
}

// sshExchange reads the version line (RFC 4253, section 4.2).
func sshExchange(c net.Conn) error {
	line, err := bufio.NewReader(io.LimitReader(c, 255)).ReadString('\n')
	if err != nil {
		return err
	}
	return checkVersion(line)
}

func checkVersion(line string) error {
	if !strings.HasPrefix(line, "SSH-2.0-") {
		return fmt.Errorf("not an SSH server: it says %q", line)
	}
	return nil
}
