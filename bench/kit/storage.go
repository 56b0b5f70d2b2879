package kit

import (
	"fmt"
	"path"

	"linerate/internal/lab"
)

// Storage is how a client gets something to read from a server of the lab.
type Storage struct {
	Fill   []string   // run on the server
	Attach [][]string // run on the client, one after the other: a mount, or an iSCSI login
	File   string     // what the client can then read
}

// Attach fills the share of a server at an address with so many MiB, and mounts it
// at dir.
func Attach(s lab.ServerStatus, addr, dir string, mib int) Storage {
	fill, file := path.Join(s.Share, "big"), path.Join(dir, "big")
	mount := append([]string(nil), s.Mount...)
	for i := range mount {
		if mount[i] == "DIR" {
			mount[i] = dir
		}
	}
	attach := [][]string{{"mkdir", "-p", dir}, mount}
	if s.Kind == "iscsi" {
		fill, file = s.Share, "/dev/sda"
		attach = [][]string{
			{"modprobe", "-a", "iscsi_tcp", "sd_mod"},
			{"iscsistart", "-i", "iqn.2026-01.lab.linerate:client1", "-t", "iqn.2026-01.lab.linerate:share", "-g", "1", "-a", addr, "-p", "3260"},
			{"sh", "-c", `for i in $(seq 100); do [ -e /dev/sda ] && exit; sleep 0.1; done; exit 1`},
		}
	}
	dd := []string{"dd", "if=/dev/zero", "of=" + fill, "bs=1M", fmt.Sprint("count=", mib), "conv=notrunc,fsync", "status=none"}
	return Storage{dd, attach, file}
}
