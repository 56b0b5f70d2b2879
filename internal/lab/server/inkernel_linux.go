package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
)

// KernelMain runs the role KernelRole. It returns the exit status.
func KernelMain(ctx context.Context, args []string, stderr io.Writer) int {
	var k kernelSpec
	err := fmt.Errorf("serve from the kernel: want one argument, have %q", args)
	if len(args) == 1 {
		err = json.Unmarshal([]byte(args[0]), &k)
	}
	if err == nil {
		switch k.Kind {
		case NFS:
			err = serveNFS(ctx, k)
		case ISCSI:
			err = serveISCSI(ctx, k)
		default:
			err = fmt.Errorf("serve from the kernel: it does not serve %s", k.Kind)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func needModules(ctx context.Context, names ...string) error {
	for _, n := range names {
		if out, err := kernel.Exec(ctx, "modprobe", n).CombinedOutput(); err != nil {
			return fmt.Errorf("load module %s: %w: %s", n, err, out)
		}
	}
	return nil
}

func mountOnce(kind, dir string) error {
	if err := unix.Mount(kind, dir, kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mount %s: %w", kind, err)
	}
	return nil
}

// order is a line to write into a file of the kernel's interface.
type order struct{ file, text string }

func give(orders []order) error {
	for _, o := range orders {
		if err := os.WriteFile(o.file, []byte(o.text+"\n"), 0); err != nil {
			return fmt.Errorf("tell the kernel %q: %w", o.text, err)
		}
	}
	return nil
}

// Flags of an export (include/uapi/linux/nfsd/export.h).
const (
	exportAsync          = 0x10
	exportNoSubtreeCheck = 0x400
	exportFSID           = 0x2000
)

// serveNFS exports the share as the root of NFS 4.2. It does the work of rpc.nfsd, exportfs
// and rpc.mountd itself: it fills the export caches beforehand (their formats are in
// fs/nfsd/export.c and net/sunrpc/svcauth_unix.c), so that no daemon is needed.
func serveNFS(ctx context.Context, k kernelSpec) error {
	if err := needModules(ctx, "nfsd"); err != nil {
		return err
	}
	const (
		fs       = "/proc/fs/nfsd/"
		caches   = "/proc/net/rpc/"
		never    = "2147483647"
		recovery = "/run/nfs-clients" // without it the grace period cannot be ended early
	)
	if err := mountOnce("nfsd", fs); err != nil {
		return err
	}
	if err := os.MkdirAll(recovery, 0o700); err != nil {
		return err
	}
	var orders []order
	for _, c := range k.Clients {
		orders = append(orders, order{caches + "auth.unix.ip/channel", "nfsd " + c.String() + " " + never + " lab"})
	}
	// A client that mounts sub-directories sees the share as /share of a root
	// that holds nothing else.
	root := filepath.Dir(k.Share)
	orders = append(orders,
		order{caches + "nfsd.export/channel", fmt.Sprintf("lab %s %s %d 65534 65534 0", root, never, exportAsync|exportNoSubtreeCheck|exportFSID)},
		order{caches + "nfsd.fh/channel", `lab 1 \x00000000 ` + never + " " + root},
		order{fs + "max_block_size", "1048576"}, // a machine with little memory would offer 64 KiB
	)
	// Kernels without CONFIG_NFSD_LEGACY_CLIENT_TRACKING have no such file and record no
	// clients on a disk.
	if _, err := os.Stat(fs + "nfsv4recoverydir"); err == nil {
		orders = append(orders, order{fs + "nfsv4recoverydir", recovery})
	}
	orders = append(orders,
		order{fs + "nfsv4leasetime", "10"},
		order{fs + "nfsv4gracetime", "10"},
		order{fs + "versions", "-2 -3 +4 -4.0 +4.1 +4.2"},
		order{fs + "portlist", "tcp " + strconv.Itoa(nfsPort)},
		order{fs + "threads", strconv.Itoa(kernelThreads)},
	)
	if err := give(orders); err != nil {
		return err
	}
	// A kernel that records no clients ends the grace period by itself, after those 10 s at
	// the latest.
	if err := give([]order{{fs + "v4_end_grace", "Y"}}); err != nil && !errors.Is(err, unix.EBUSY) {
		return err
	}
	return nil
}

// serveISCSI creates a target whose LUN is the file of the share (the names in configfs are in
// Documentation/target/tcm_mod_builder.rst and drivers/target/iscsi). Every host that reaches
// the address may write: the network is the lab's.
func serveISCSI(ctx context.Context, k kernelSpec) error {
	if err := needModules(ctx, "configfs", "target_core_mod", "target_core_file", "iscsi_target_mod"); err != nil {
		return err
	}
	if err := mountOnce("configfs", "/sys/kernel/config"); err != nil {
		return err
	}
	st, err := os.Stat(k.Share)
	if err != nil {
		return fmt.Errorf("find unit: %w", err)
	}
	const target = "/sys/kernel/config/target/"
	store := target + "core/fileio_0/unit"
	group := target + "iscsi/" + iscsiName + "/tpgt_1"
	portal := group + "/np/" + k.Addr.String() + ":" + strconv.Itoa(iscsiPort)
	for _, d := range []string{store, group + "/lun/lun_0"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("make target: %w", err)
		}
	}
	if err := give([]order{
		{store + "/control", fmt.Sprintf("fd_dev_name=%s,fd_dev_size=%d,fd_buffered_io=1", k.Share, st.Size())},
		{store + "/enable", "1"},
	}); err != nil {
		return err
	}
	if err := os.Symlink(store, group+"/lun/lun_0/unit"); err != nil {
		return fmt.Errorf("make unit: %w", err)
	}
	if err := os.Mkdir(portal, 0o755); err != nil {
		return fmt.Errorf("make portal: %w", err)
	}
	return give([]order{
		{group + "/attrib/authentication", "0"}, {group + "/attrib/generate_node_acls", "1"},
		{group + "/attrib/cache_dynamic_acls", "1"}, {group + "/attrib/demo_mode_write_protect", "0"},
		{group + "/enable", "1"},
	})
}
