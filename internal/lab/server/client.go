package server

import (
	"fmt"
	"path/filepath"
)

// URL names the share that the server offers.
func (s *Server) URL() string {
	switch s.spec.Kind {
	case NFS:
		return fmt.Sprintf("nfs://%s/%s?version=4", s.addr, shareName)
	case SMB:
		return fmt.Sprintf("smb://%s/%s", s.addr, shareName)
	case ISCSI:
		return fmt.Sprintf("iscsi://%s/%s/1", s.at(iscsiPort), iscsiName)
	}
	return "ssh://root@" + s.addr.String()
}

// Put is the command of a user-space client that copies the local file to name
// on the share (libnfs-utils, smbclient, openssh-client). It is nil for iscsi, which has no
// files. For nfs it always uses NFSv3: nfs-cp of libnfs 4.0 fails over NFSv4 with large files
// and with files that exist already.
func (s *Server) Put(local, name string) []string {
	switch s.spec.Kind {
	case NFS:
		return []string{"nfs-cp", local, s.nfsFile(name, 3)}
	case SMB:
		return s.smbclient(fmt.Sprintf(`put "%s" "%s"`, local, name))
	case SSH:
		return []string{"scp", "-q", "-F", s.path("ssh_config"), local, s.sshFile(name)}
	}
	return nil
}

// Get is Put in the other direction: from the share to the local file.
func (s *Server) Get(name, local string) []string {
	switch s.spec.Kind {
	case NFS:
		return []string{"nfs-cp", s.nfsFile(name, 4), local}
	case SMB:
		return s.smbclient(fmt.Sprintf(`get "%s" "%s"`, name, local))
	case SSH:
		return []string{"scp", "-q", "-F", s.path("ssh_config"), s.sshFile(name), local}
	}
	return nil
}

// nfsFile is the URL of a file, with root as the user: inside a user namespace the client
// would otherwise send the UID that it has outside.
func (s *Server) nfsFile(name string, version int) string {
	return fmt.Sprintf("nfs://%s/%s/%s?version=%d&uid=0&gid=0", s.addr, shareName, name, version)
}

// smbclient is the command that runs a client command with an empty configuration instead of
// the machine's.
func (s *Server) smbclient(command string) []string {
	return []string{"smbclient", "--configfile=/dev/null", "-A", s.Login(), "-c", command, fmt.Sprintf("//%s/%s", s.addr, shareName)}
}

// Login is the file with the credentials of a server of kind smb, as smbclient
// -A and mount.cifs read it.
func (s *Server) Login() string { return s.path("login") }

func (s *Server) sshFile(name string) string {
	return s.addr.String() + ":" + filepath.Join(s.spec.Share, name)
}

// Mount is the command that mounts the share at dir with a kernel's own client:
// nfs and smb only, and only if the kernel has one.
func (s *Server) Mount(dir string) []string {
	switch s.spec.Kind {
	case NFS:
		// The options include all that a mount helper would find out, so that no helper is
		// needed.
		return []string{"mount", "-i", "-t", "nfs", "-o", "vers=4.2,clientaddr=0.0.0.0,proto=tcp,addr=" + s.addr.String(), fmt.Sprintf("%s:/%s", s.addr, shareName), dir}
	case SMB:
		return []string{"mount", "-t", "cifs", "-o", "credentials=" + s.Login(), fmt.Sprintf("//%s/%s", s.addr, shareName), dir}
	}
	return nil
}
