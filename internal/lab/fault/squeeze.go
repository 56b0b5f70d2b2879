package fault

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"linerate/internal/kernel"
)

// SqueezeRole is the hidden subcommand that runs SqueezeMain.
const SqueezeRole = "lab-squeeze"

// How an application is starved of CPU: squeezers spin at a normal or slightly low priority,
// and processes with a connection of the address get the lowest priority. A process that only
// samples the host keeps its weight and is scheduled at once. None of this needs privilege.
const (
	squeezers   = 4
	lastNice    = 19
	squeezeLook = 20 * time.Millisecond // interval at which new connections are searched for
)

// SqueezeMain keeps the CPU of an emulated host busy until ctx ends. Processes with a
// connection of --addr get only the share that squeezers tasks of nice value --nice leave. It
// returns the exit status.
func SqueezeMain(ctx context.Context, args []string, stderr io.Writer) int {
	if err := squeezeMain(ctx, args); err != nil {
		fmt.Fprintln(stderr, fmt.Errorf("squeeze: %w", err))
		return 1
	}
	return 0
}

func squeezeMain(ctx context.Context, args []string) error {
	set := flag.NewFlagSet(SqueezeRole, flag.ContinueOnError)
	set.SetOutput(io.Discard) // the returned error has the message
	addr := set.String("addr", "", "data address of the host")
	nice := set.Int("nice", 5, "of the squeezers")
	if err := set.Parse(args); err != nil {
		return err
	}
	ip, err := netip.ParseAddr(*addr)
	if err != nil {
		return err
	}
	if !ip.Unmap().Is4() {
		return fmt.Errorf("address %s: only connections over IPv4 are looked for", ip)
	}
	ns, err := kernel.NetNamespace("/proc", os.Getpid())
	if err != nil {
		return err
	}
	if err := spin(ctx, *nice); err != nil {
		return err
	}
	tick := time.NewTicker(squeezeLook)
	defer tick.Stop()
	for {
		if err := demoteHolders(ip.Unmap(), ns); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// spin starts the squeezers; they end with ctx.
func spin(ctx context.Context, nice int) error {
	runtime.GOMAXPROCS(squeezers + 2)
	ready := make(chan error, squeezers)
	for range squeezers {
		go func() {
			runtime.LockOSThread()
			ready <- kernel.SetNice(0, nice)
			for ctx.Err() == nil {
			}
		}()
	}
	var err error
	for range squeezers {
		err = errors.Join(err, <-ready)
	}
	return err
}

// demoteHolders gives the lowest priority to every thread of each process in network namespace
// ns that has an established connection of address ip.
func demoteHolders(ip netip.Addr, ns string) error {
	f, err := os.Open("/proc/self/net/tcp")
	if err != nil {
		return fmt.Errorf("list connections: %w", err)
	}
	sockets, err := established(f, ip)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("list connections: %w", err)
	}
	if len(sockets) == 0 {
		return nil
	}
	pids, err := kernel.Processes("/proc")
	if err != nil {
		return err
	}
	for _, pid := range pids {
		// A process may end meanwhile, and its files with it.
		if got, err := kernel.NetNamespace("/proc", pid); err != nil || got != ns || !owns(pid, sockets) {
			continue
		}
		if err := putLast(pid); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// established reads the format of /proc/net/tcp (proc_net_tcp in the kernel's
// documentation) for the sockets of local address ip in state 01.
func established(r io.Reader, ip netip.Addr) (map[string]bool, error) {
	a := ip.As4()
	// The address is printed as one number in the machine's byte order.
	forms := map[string]bool{
		strings.ToUpper(hex.EncodeToString(a[:])):                           true,
		strings.ToUpper(hex.EncodeToString([]byte{a[3], a[2], a[1], a[0]})): true,
	}
	out := map[string]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != "01" {
			continue
		}
		if local, _, _ := strings.Cut(f[1], ":"); forms[local] {
			out["socket:["+f[9]+"]"] = true
		}
	}
	return out, lines.Err()
}

func owns(pid int, sockets map[string]bool) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	open, err := os.ReadDir(dir)
	if err != nil {
		return false // ended, or not readable by this user
	}
	for _, fd := range open {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && sockets[to] {
			return true
		}
	}
	return false
}

func putLast(pid int) error {
	threads, err := kernel.Processes(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return err
	}
	for _, t := range threads {
		// A thread may have ended since it was listed.
		if err := kernel.SetNice(t, lastNice); err != nil && !kernel.IsGone(err) {
			return err
		}
	}
	return nil
}
