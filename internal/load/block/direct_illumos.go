package block

import (
	"os"

	"golang.org/x/sys/unix"
)

// illumos has no flag to open a file with that ZFS follows.
const directFlag, everyFlag = 0, unix.O_DSYNC

// passCache refuses: directio(3C) is for UFS and NFS, and ZFS has its own cache.
func passCache(*os.File) error { return ErrNoDirect }

// Unproven: the page cache is never passed by here.
func (s Spec) Unproven() string { return "" }
