package route

import (
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Inode and time of birth are a directory's own within one volume alone: clones and snapshots keep them.
func TestSignsOfSMBAreOfOneVolume(t *testing.T) {
	at := func(source, root string) kernel.MountNode {
		return kernel.MountNode{Root: root, Mount: model.Mount{Type: "cifs", Source: source, Point: "/backup/.snapshot/m"}}
	}
	st := unix.Statx_t{Mask: unix.STATX_BTIME, Ino: 34, Btime: unix.StatxTimestamp{Sec: 5, Nsec: 6}}
	sign := func(m kernel.MountNode, fsid unix.Fsid, dir string) string {
		return smbSign("10.0.0.1", volume(m, fsid), inSnapshot(m, m.Point+dir), &st)
	}
	a, none := unix.Fsid{Val: [2]int32{-1, 7}}, unix.Fsid{}
	pool := sign(at("//nas/Pool", "/"), a, "")
	if pool != "smb 10.0.0.1 ffffffff00000007 34 5.000000006" {
		t.Error(pool)
	}
	if again := sign(at("//10.0.0.1/other/sub", "/sub"), a, "/x"); again != pool {
		t.Errorf("one volume by two shares: %s and %s", pool, again)
	}
	if clone := sign(at("//nas/Pool", "/"), unix.Fsid{Val: [2]int32{-2, 7}}, ""); clone == pool {
		t.Error("another volume has the same sign")
	}
	if x, y := sign(at("//nas/Pool", "/"), none, ""), sign(at("//NAS/pool/sub", "/"), none, ""); x != y || x == sign(at("//nas/clone", "/"), none, "") {
		t.Errorf("without serials the share is not what counts: %s and %s", x, y)
	}
	for name, got := range map[string]string{
		"below the mount": sign(at("//nas/Pool", "/"), a, "/.zfs/snapshot/daily"),
		"bound from it":   sign(at("//nas/Pool", "/~snapshot/daily"), a, "/x"),
		"mounted":         sign(at("//nas/Pool/@GMT-2026.11.28-00.00.00", "/"), a, ""),
	} {
		if got != "" {
			t.Errorf("a snapshot, %s: %s", name, got)
		}
	}
	st.Mask = 0
	if got := sign(at("//nas/Pool", "/"), a, ""); got != "" {
		t.Errorf("without a time of birth: %s", got)
	}
}
