package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Flags of an export (include/uapi/linux/nfsd/export.h).
const (
	exportAsync          = 0x10
	exportNoSubtreeCheck = 0x400
	exportFSID           = 0x2000
)

const (
	exportDir = "/mnt/export"
	// The server ends its grace period at once only if it has a place to
	// remember its clients in.
	recoveryDir = "/run/nfs-clients"
	exportKey   = "/proc/net/rpc/"
	never       = "2147483647"
)

type serveArgs struct {
	Client  string `json:"client"` // address that may mount
	SizeMB  int    `json:"size_mb"`
	Threads int    `json:"threads"`
}

// serveNFS exports one file from a RAM disk by the kernel's NFS 4 server. It does
// itself what rpc.nfsd, exportfs and rpc.mountd would: the export caches are
// filled beforehand (fs/nfsd/export.c, net/sunrpc/svcauth_unix.c have the
// formats), so that no daemon is asked.
func serveNFS(a serveArgs) error {
	if err := ramDisk(exportDir, a.SizeMB+32); err != nil {
		return err
	}
	if err := fill(filepath.Join(exportDir, "big"), a.SizeMB); err != nil {
		return err
	}
	if err := mount("/proc/fs/nfsd", "nfsd", ""); err != nil {
		return err
	}
	if err := os.Mkdir(recoveryDir, 0o700); err != nil {
		return err
	}
	const fs = "/proc/fs/nfsd/"
	for _, w := range []struct{ path, value string }{
		{exportKey + "auth.unix.ip/channel", "nfsd " + a.Client + " " + never + " lab\n"},
		{exportKey + "nfsd.export/channel", fmt.Sprintf("lab %s %s %d 65534 65534 0\n", exportDir, never, exportAsync|exportNoSubtreeCheck|exportFSID)},
		{exportKey + "nfsd.fh/channel", `lab 1 \x00000000 ` + never + " " + exportDir + "\n"},
		{fs + "max_block_size", "1048576\n"}, // a small machine would offer 64 KiB
		{fs + "nfsv4recoverydir", recoveryDir + "\n"},
		{fs + "nfsv4leasetime", "10\n"},
		{fs + "nfsv4gracetime", "10\n"},
		{fs + "versions", "-2 -3 +4 -4.0 +4.1 +4.2\n"},
		{fs + "portlist", "tcp 2049\n"},
		{fs + "threads", fmt.Sprintf("%d\n", a.Threads)},
		{fs + "v4_end_grace", "Y\n"},
	} {
		if err := os.WriteFile(w.path, []byte(w.value), 0); err != nil {
			return fmt.Errorf("tell the NFS server %q: %w", w.value, err)
		}
	}
	return nil
}

// fill makes a file of incompressible-looking blocks.
func fill(path string, mb int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i*7 + i>>8)
	}
	for range mb {
		if _, err := f.Write(block); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

type mountArgs struct {
	Server      string `json:"server"`
	Client      string `json:"client"`
	Point       string `json:"point"`
	ReadAheadKB int    `json:"read_ahead_kb"` // 0 leaves the kernel's own
}

func mountNFS(a mountArgs) error {
	data := fmt.Sprintf("vers=4.2,proto=tcp,addr=%s,clientaddr=%s", a.Server, a.Client)
	if err := unix.Mount(a.Server+":/", a.Point, "nfs4", 0, data); err != nil {
		return fmt.Errorf("mount %s:/ on %s: %w", a.Server, a.Point, err)
	}
	if a.ReadAheadKB == 0 {
		return nil
	}
	return readAhead(a.Point, a.ReadAheadKB)
}

// readAhead sets how much a mount reads ahead of the application.
func readAhead(point string, kb int) error {
	var st unix.Stat_t
	if err := unix.Stat(point, &st); err != nil {
		return fmt.Errorf("find device of %s: %w", point, err)
	}
	file := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev))
	return os.WriteFile(file, []byte(strconv.Itoa(kb)), 0)
}

// remountNFS makes the client open a new connection: what TCP settings a
// condition changed are those of the connection from its first packet.
func remountNFS(a mountArgs) error {
	if err := unix.Unmount(a.Point, 0); err != nil {
		return fmt.Errorf("unmount %s: %w", a.Point, err)
	}
	const servers = "/proc/fs/nfsfs/servers"
	for range 100 { // the kernel lets go of the connection after the mount
		b, err := os.ReadFile(servers)
		if err != nil {
			return err
		}
		if strings.Count(string(b), "\n") <= 1 { // the heading
			return mountNFS(a)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("unmount %s: the client keeps its connection to the server", a.Point)
}
